"""From an error to the answer that clients know: the only place where the two meet.

Shapes (Letta 0.16.7): `{"detail": str}`; 409 `{"detail": {"code", "message", ...}}`; 422 `{"trace_id", "detail": str}`;
a failing model provider `{"error": {"type", "message", "detail"}}`.
"""

import math
from collections.abc import Mapping
from typing import Final, Protocol, runtime_checkable

from agentkeep.api.answers import Answer
from agentkeep.errors import AgentKeepError
from agentkeep.unforeseen import log_unforeseen

NO_RETRY: Final = {"x-should-retry": "false"}
"""Keeps letta-client from sending again by itself, which it does for 408, 409, 429 and 5xx."""


@runtime_checkable
class ModelFailure(Protocol):
    """`agentkeep.models.errors.ModelError`, known by its shape: functions that call no model do not import models."""

    status: int
    message: str
    error_type: str
    detail: str
    retry_after: float | None


def error_answer(error: Exception, trace_id: str = "") -> Answer:
    """The answer to a request that ended in `error`; one that nobody foresaw is logged and answered 500."""
    if isinstance(error, ModelFailure):
        return Answer(error.status, {"error": error_fields(error)}, NO_RETRY | _retry_after(error.retry_after))
    if not isinstance(error, AgentKeepError):
        log_unforeseen(error, f"request '{trace_id}'")
        return Answer(500, {"detail": f"Something went wrong in AgentKeep. The log has it under '{trace_id}'."})
    if error.status == 409:
        return Answer(409, {"detail": {"code": error.code, "message": error.message, **error.extra}}, NO_RETRY)
    if error.status == 422:
        return Answer(422, {"trace_id": trace_id, "detail": error.message})
    return Answer(error.status, {"detail": error.message}, NO_RETRY if error.status == 501 else {})


def error_fields(error: Exception) -> dict[str, str]:
    """Type, message and detail of an error that is told inside a stream or beside messages."""
    if isinstance(error, ModelFailure):
        return {"type": error.error_type, "message": error.message, "detail": error.detail}
    if isinstance(error, AgentKeepError):
        return {"type": error.code.lower(), "message": error.message, "detail": _known(error.extra)}
    return {"type": "internal_error", "message": "Something went wrong in AgentKeep. The log has it.", "detail": ""}


def _known(extra: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in extra.items() if value is not None)


def _retry_after(seconds: float | None) -> dict[str, str]:
    return {} if seconds is None else {"Retry-After": str(math.ceil(seconds))}
