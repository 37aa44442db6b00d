"""Errors that speak: each carries its HTTP status, a stable code and one full sentence that names the remedy."""

from collections.abc import Mapping
from typing import Any, ClassVar


class AgentKeepError(Exception):
    """Base of every error a caller may see. `extra` goes into the answer beside code and message."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.extra: Mapping[str, Any] = extra


class BadRequestError(AgentKeepError):
    """The request asks for something that cannot be done."""

    status = 400
    code = "BAD_REQUEST"


class InvalidRequestError(AgentKeepError):
    """The request's body or parameters do not fit; `field` says which."""

    status = 422
    code = "INVALID_REQUEST"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}", field=field)


class UnauthorizedError(AgentKeepError):
    """No key, or one that is not known, revoked or expired."""

    status = 401
    code = "UNAUTHORIZED"


class ForbiddenError(AgentKeepError):
    """The key's role does not hold the permission that the route asks for."""

    status = 403
    code = "FORBIDDEN"

    def __init__(self, permission: str, role: str) -> None:
        super().__init__(
            f"This key has the role '{role}', which does not include '{permission}'.", permission=permission
        )


class NotFoundError(AgentKeepError):
    """No such entity for this tenant: never made, deleted, or another tenant's."""

    status = 404
    code = "NOT_FOUND"

    def __init__(self, kind: str, identifier: str, known_by: str = "id") -> None:
        super().__init__(f"{kind} not found with {known_by}='{identifier}'")


class BlockLabelNotFoundError(NotFoundError):
    """The agent carries no block with this label."""

    def __init__(self, label: str, agent_id: str) -> None:
        super().__init__(f"Block of {agent_id}", label, "label")


class BlockVersionNotFoundError(NotFoundError):
    """The block has no such version: not written yet, or never."""

    def __init__(self, block_id: str, version: int) -> None:
        super().__init__(f"Version of {block_id}", str(version), "number")


class ConflictError(AgentKeepError):
    """The entity is in a state in which this cannot be done now."""

    status = 409
    code = "CONFLICT"


class ConversationBusyError(ConflictError):
    """Another run holds the conversation. Clients look for this text and for `run_id=` in it."""

    code = "CONVERSATION_BUSY"

    def __init__(self, run_id: str | None) -> None:
        super().__init__(
            "CONFLICT: Cannot send a new message: Another request is currently being processed for this conversation"
            f" (run_id={run_id}). Wait for it to finish, or send to another conversation of the agent.",
            run_id=run_id,
        )


class IdempotencyConflictError(ConflictError):
    """The same otid or Idempotency-Key came with other content."""

    code = "IDEMPOTENCY_CONFLICT"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The idempotency key '{key}' was already used in this conversation with other content."
            " Send a new otid or Idempotency-Key for a new message."
        )


class TooLargeError(AgentKeepError):
    """The body is larger than the deployment takes."""

    status = 413
    code = "TOO_LARGE"


class SettingError(AgentKeepError):
    """An environment variable holds what it cannot hold."""

    code = "SETTING"

    def __init__(self, variable: str, value: str, accepted: str) -> None:
        super().__init__(f"{variable} is '{value}'; it takes {accepted}.", variable=variable)


class NotBuiltError(AgentKeepError):
    """A route of the API that this version does not serve yet."""

    status = 501
    code = "NOT_BUILT"

    def __init__(self, operation: str) -> None:
        super().__init__(f"'{operation}' is not available in this version of AgentKeep.", operation=operation)
