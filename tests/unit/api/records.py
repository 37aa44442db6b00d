"""Stored records to render and to stream."""

from datetime import UTC, datetime
from typing import Any

from agentkeep.store.content import Message, TextPart, ToolCall, ToolReturn, Usage
from agentkeep.store.entities import Run

NOON = datetime(2026, 3, 2, 12, 0, 0, 123456, tzinfo=UTC)
UUID = "019a1b2c-3d4e-4f60-8a7b-0123456789ab"
AGENT, RUN, STEP = f"agent-{UUID}", f"run-{UUID}", f"step-{UUID}"


def message(role: str = "assistant", text: str | None = "Hello.", **fields: Any) -> Message:
    """A message of the agent's default conversation."""
    content = [] if text is None else [TextPart(text=text)]
    defaults: dict[str, Any] = {
        "id": f"message-{UUID}",
        "agent_id": AGENT,
        "conversation": AGENT,
        "role": role,
        "content": content,
        "run_id": RUN,
        "step_id": STEP,
        "created_at": NOON,
    }
    return Message(**(defaults | fields))


def tool_call(name: str = "memory_insert", arguments: str = '{"label":"human"}', number: int = 1) -> ToolCall:
    """A call of a tool."""
    return ToolCall(id=f"call_{number}", name=name, arguments=arguments)


def tool_return(content: Any = "Done.", name: str = "memory_insert", number: int = 1, **fields: Any) -> ToolReturn:
    """What a tool answered."""
    return ToolReturn(tool_call_id=f"call_{number}", name=name, content=content, **fields)


def run(**fields: Any) -> Run:
    """A run that ended well."""
    defaults: dict[str, Any] = {
        "id": RUN,
        "agent_id": AGENT,
        "conversation": AGENT,
        "status": "completed",
        "stop_reason": "end_turn",
        "usage": Usage(prompt_tokens=10, completion_tokens=2, total_tokens=12, step_count=1, context_tokens=12),
        "created_at": NOON,
    }
    return Run(**(defaults | fields))
