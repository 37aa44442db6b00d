"""What stands around the messages of an answer: pings, stop reason, usage, errors."""

import uuid
from typing import Any

from agentkeep import clock
from agentkeep.api.errors import error_fields
from agentkeep.api.render.times import message_date
from agentkeep.store.content import Usage
from agentkeep.store.entities import StopReason

Json = dict[str, Any]


def ping(run_id: str | None) -> Json:
    """Shows that a stream lives, and which run it shows."""
    return {
        "id": f"ping-{uuid.uuid4()}",
        "date": message_date(clock.now()),
        "name": None,
        "message_type": "ping",
        "otid": None,
        "sender_id": None,
        "step_id": None,
        "is_err": None,
        "seq_id": None,
        "run_id": run_id,
    }


def stop_reason(reason: StopReason) -> Json:
    """Why a run ended."""
    return {"message_type": "stop_reason", "stop_reason": reason}


def usage_statistics(usage: Usage) -> Json:
    """The tokens of a run, and the size of the newest context."""
    return {
        "message_type": "usage_statistics",
        "completion_tokens": usage.completion_tokens,
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "step_count": usage.step_count,
        "run_ids": None,
        "cached_input_tokens": usage.cached_input_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "context_tokens": usage.context_tokens,
    }


def error_message(error: Exception, run_id: str | None) -> Json:
    """The failure of a run, told inside its stream."""
    fields = error_fields(error)
    return {
        "message_type": "error_message",
        "run_id": run_id or "",
        "error_type": fields["type"],
        "message": fields["message"],
        "detail": fields["detail"],
    }
