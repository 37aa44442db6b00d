"""Runs, steps, their usage and their timing."""

from collections.abc import Mapping
from typing import Any, Final

from agentkeep.api.render.times import moment
from agentkeep.store.content import Usage
from agentkeep.store.entities import RESERVED_PROVIDERS, Run, Step

Json = dict[str, Any]

_REQUEST_DEFAULTS: Final = {
    "use_assistant_message": True,
    "assistant_message_tool_name": "send_message",
    "assistant_message_tool_kwarg": "message",
    "include_return_message_types": None,
}


def run(record: Run) -> Json:
    """A run. What failed stands in `metadata.error`, where Letta Code looks for it."""
    metadata: Json = {"run_type": "send_message_streaming" if record.request.get("streaming") else "send_message"}
    if record.error is not None:
        metadata["error"] = _error(record.id, record.error)
    return {
        "id": record.id,
        "status": record.status,
        "created_at": moment(record.created_at),
        "completed_at": moment(record.completed_at),
        "agent_id": record.agent_id,
        "conversation_id": None if record.conversation == record.agent_id else record.conversation,
        "base_template_id": None,
        "background": record.background,
        "metadata": metadata,
        "request_config": {name: record.request.get(name, value) for name, value in _REQUEST_DEFAULTS.items()},
        "stop_reason": record.stop_reason,
        "callback_url": None,
        "callback_sent_at": None,
        "callback_status_code": None,
        "callback_error": None,
        "ttft_ns": record.ttft_ns,
        "total_duration_ns": record.total_duration_ns,
    }


def _error(run_id: str, error: Mapping[str, Any]) -> Json:
    return {
        "message_type": "error_message",
        "run_id": run_id,
        "error_type": error.get("type", "internal_error"),
        "message": error.get("message", ""),
        "detail": error.get("detail", ""),
    }


def usage(record: Usage) -> Json:
    """The tokens of a run."""
    return {
        "completion_tokens": record.completion_tokens,
        "prompt_tokens": record.prompt_tokens,
        "total_tokens": record.total_tokens,
        "prompt_tokens_details": _prompt_details(record),
        "completion_tokens_details": {"reasoning_tokens": record.reasoning_tokens},
    }


def _prompt_details(record: Usage) -> Json:
    return {
        "cached_tokens": record.cached_input_tokens,
        "cache_read_tokens": record.cached_input_tokens,
        "cache_creation_tokens": record.cache_write_tokens,
    }


def run_metrics(record: Run) -> Json:
    """How long a run took, in nanoseconds, and the ids of the tools it called."""
    return {
        "id": record.id,
        "agent_id": record.agent_id,
        "project_id": None,
        "run_start_ns": int(record.created_at.timestamp() * 1_000_000) * 1_000,
        "run_ns": record.total_duration_ns,
        "num_steps": record.steps,
        "tools_used": record.tools_used,
        "template_id": None,
        "base_template_id": None,
    }


def step(record: Step) -> Json:
    """A step: one model call and its tools."""
    error = record.error or {}
    return {
        "id": record.id,
        "origin": None,
        "provider_id": None,
        "run_id": record.run_id,
        "agent_id": record.agent_id,
        "provider_name": record.provider,
        "provider_category": "base" if record.provider in (None, *RESERVED_PROVIDERS) else "byok",
        "model": record.model.partition("/")[2] if record.model and "/" in record.model else record.model,
        "model_handle": record.model,
        "model_endpoint": None,
        "context_window_limit": record.context_window,
        "completion_tokens": record.usage.completion_tokens,
        "prompt_tokens": record.usage.prompt_tokens,
        "total_tokens": record.usage.total_tokens,
        "cached_input_tokens": record.usage.cached_input_tokens,
        "cache_write_tokens": record.usage.cache_write_tokens,
        "reasoning_tokens": record.usage.reasoning_tokens,
        "completion_tokens_details": {"reasoning_tokens": record.usage.reasoning_tokens},
        "prompt_tokens_details": _prompt_details(record.usage),
        "stop_reason": record.stop_reason,
        "tags": record.tags,
        "tid": None,
        "trace_id": None,
        "request_id": None,
        "messages": [],
        "feedback": record.feedback,
        "project_id": None,
        "error_type": error.get("type"),
        "error_data": error or None,
        "status": record.status,
    }


def step_metrics(record: Step) -> Json:
    """How long a step, its model call and its tools took, in nanoseconds."""
    return {
        "id": record.id,
        "provider_id": None,
        "run_id": record.run_id,
        "agent_id": record.agent_id,
        "step_start_ns": int(record.created_at.timestamp() * 1_000_000) * 1_000,
        "llm_request_start_ns": None,
        "llm_request_ns": record.llm_request_ns,
        "tool_execution_ns": record.tool_execution_ns,
        "step_ns": record.step_ns,
        "base_template_id": None,
        "template_id": None,
        "project_id": None,
    }
