"""A provider's refusal, read into one of our errors. Pure."""

import email.utils
import re
from collections.abc import Mapping
from typing import Any, Final

from agentkeep import clock
from agentkeep.models import errors
from agentkeep.models.errors import ModelError

_CONTEXT_OVERFLOW = re.compile(
    r"context[ _]length|context window|context size|context limit|prompt is too long|input is too long"
    r"|maximum.{0,20}tokens.{0,40}requested",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient_funds|billing_error|credit balance|exceeded your current quota"
)
_MAX_DETAIL: Final = 2_000
_KINDS: Final[Mapping[int, tuple[type[ModelError], str]]] = {
    400: (errors.ModelBadRequestError, "rejected the request as invalid"),
    401: (errors.ModelAuthenticationError, "did not accept its key; check the key and its address"),
    402: (errors.InsufficientCreditsError, "has no credit left for this account; add credit there"),
    403: (errors.ModelPermissionError, "does not allow this key to use the model"),
    404: (errors.ModelNotFoundError, "does not know this model"),
    408: (errors.ModelTimeoutError, "did not answer in time"),
    409: (errors.ProviderUnavailableError, "is busy; try again shortly"),
    422: (errors.ModelUnprocessableError, "could not process the request"),
    429: (errors.ModelRateLimitError, "limits the rate of requests; wait before the next one"),
    500: (errors.ProviderFailedError, "failed while working on the request"),
    502: (errors.ProviderUnavailableError, "is not reachable behind its own gateway"),
    503: (errors.ProviderUnavailableError, "is overloaded"),
    504: (errors.ModelTimeoutError, "did not answer in time"),
    529: (errors.ProviderUnavailableError, "is overloaded"),
}


def from_response(provider: str, status: int, body: object, headers: Mapping[str, str]) -> ModelError:
    """The error for an HTTP status of a provider with its body, decoded where it was JSON."""
    detail, codes = _what_it_said(body)
    kind, reason = _kind(status, f"{codes} {detail}")
    return kind(f"The model provider '{provider}' {reason}.", f"{status}: {detail}"[:_MAX_DETAIL], _wait(headers))


def timed_out(provider: str, seconds: float) -> ModelError:
    """The error for a provider that let the time of the call run out."""
    return errors.ModelTimeoutError(f"The model provider '{provider}' did not answer within {seconds:.0f} seconds.")


def unreachable(provider: str, reason: str) -> ModelError:
    """The error for a connection that could not be made, or broke before the whole answer was there."""
    return errors.ProviderUnavailableError(f"The connection to the model provider '{provider}' failed.", reason)


def unreadable(provider: str, reason: str) -> ModelError:
    """The error for an answer of status 200 that is no model answer."""
    return errors.InvalidAnswerError(f"The model provider '{provider}' sent an answer that cannot be used.", reason)


def _kind(status: int, said: str) -> tuple[type[ModelError], str]:
    if status == 413 or (status in (400, 422) and _CONTEXT_OVERFLOW.search(said)):
        return errors.ContextWindowExceededError, "found the conversation longer than the model's context window"
    if status < 500 and _NO_CREDIT.search(said):
        return _KINDS[402]
    return _KINDS.get(status) or _KINDS[500 if status >= 500 else 400]


def _what_it_said(body: object) -> tuple[str, str]:
    """The provider's sentence, and its codes: `message`, `type`, `code`, at OpenAI and Anthropic under `error`."""
    said: Any = body
    if isinstance(said, dict) and isinstance(said.get("error"), dict | str):
        said = said["error"]
    if not isinstance(said, dict):
        return str(said or ""), ""
    codes = f"{said.get('code') or ''} {said.get('type') or ''}"
    return str(said.get("message") or said.get("detail") or said), codes


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after` (a number or a date; RFC 9110, section 10.2.3)."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = headers.get("retry-after")
        if not value or value.replace(".", "", 1).isdigit():
            return float(value) if value else None
        return max(0.0, (email.utils.parsedate_to_datetime(value) - clock.now()).total_seconds())
    except (ValueError, TypeError):
        return None
