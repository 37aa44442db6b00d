"""What can go wrong with a model call, as clients are told it: one class for each way of failing.

The HTTP statuses and error types are those that letta-client and Letta Code tell apart.
"""

from collections.abc import Sequence
from typing import ClassVar

from agentkeep.errors import AgentKeepError
from agentkeep.store.entities import StopReason


class ModelError(AgentKeepError):
    """A model call that brought no usable answer.

    `status` is the HTTP status that clients get, `error_type` the `type` in the answer's `error`, `detail` what the
    provider itself said, and `stop_reason` the one of the run. `retries` is how often such a call is tried again
    before the error is raised; `retry_after` is the wait in seconds that the provider asked for.
    """

    status = 502
    code = "llm_error"
    stop_reason: ClassVar[StopReason] = "llm_api_error"
    retries: ClassVar[int] = 0

    def __init__(self, message: str, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, detail=detail)
        self.detail = detail
        self.retry_after = retry_after

    @property
    def error_type(self) -> str:
        """The stable name of this kind of failure."""
        return self.code


class ModelBadRequestError(ModelError):
    """The provider found the request invalid."""

    status = 400
    code = "llm_bad_request"


class ContextWindowExceededError(ModelBadRequestError):
    """The conversation is longer than the model's context window."""

    code = "context_window_exceeded"


class ModelAuthenticationError(ModelError):
    """No key for the provider, or one that it does not accept."""

    status = 401
    code = "llm_authentication"


class InsufficientCreditsError(ModelError):
    """The account at the provider has no credit or quota left. Waiting does not help."""

    status = 402
    code = "llm_insufficient_credits"
    stop_reason: ClassVar[StopReason] = "insufficient_credits"


class ModelPermissionError(ModelError):
    """The key may not use this model."""

    status = 403
    code = "llm_permission_denied"


class ModelNotFoundError(ModelError):
    """The provider does not know the model."""

    status = 404
    code = "llm_not_found"


class ModelUnprocessableError(ModelError):
    """The provider understood the request and cannot process it."""

    status = 422
    code = "llm_unprocessable_entity"


class ModelRateLimitError(ModelError):
    """Too many requests or tokens for the provider just now."""

    status = 429
    code = "llm_rate_limit"
    retries = 2


class ProviderFailedError(ModelError):
    """The provider failed while it worked on the request."""

    status = 500
    retries = 2


class ProviderUnavailableError(ModelError):
    """The provider is overloaded, cannot be reached, or cut the connection."""

    status = 503
    retries = 2


class ModelTimeoutError(ModelError):
    """The provider did not answer in the time the call had."""

    status = 504
    code = "llm_timeout"
    retries = 2


class InvalidAnswerError(ModelError):
    """The provider answered with something that is no model answer."""

    stop_reason: ClassVar[StopReason] = "invalid_llm_response"


class EmptyAnswerError(InvalidAnswerError):
    """An answer without text and without tool calls. Letta Code retries on the words 'empty content in'."""

    retries = 1

    def __init__(self, handle: str) -> None:
        super().__init__(
            f"There was empty content in the answer of {handle}, twice in a row. Send the message again,"
            " or choose another model."
        )


class OutputLimitError(InvalidAnswerError):
    """The model used up its output limit before it wrote any text or tool call."""

    stop_reason: ClassVar[StopReason] = "max_tokens_exceeded"

    def __init__(self, handle: str, completion_tokens: int) -> None:
        super().__init__(
            f"There was empty content in the answer of {handle}: its output limit was used up after"
            f" {completion_tokens} tokens, before any text. Raise max_output_tokens or lower the reasoning effort."
        )


class UnknownModelError(AgentKeepError):
    """No such model: the handle's provider is not set up here, or lists its models without this one."""

    status = 404
    code = "NOT_FOUND"
    SHOWN: ClassVar[int] = 60

    def __init__(self, handle: str, handles: Sequence[str]) -> None:
        shown = ", ".join(handles[: self.SHOWN])
        more = f" and {len(handles) - self.SHOWN} more" if len(handles) > self.SHOWN else ""
        super().__init__(
            f"Handle {handle} not found, must be one of [{shown}]{more}."
            " Models of a provider appear once its key is set, such as OPENAI_API_KEY or ANTHROPIC_API_KEY, or once it"
            " is made by POST /v1/providers; those of a deleted one are back when it is made again under its name.",
            handles=list(handles),
        )
