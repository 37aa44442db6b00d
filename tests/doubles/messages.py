"""Messages for tests, in one line each."""

import itertools
from datetime import UTC, datetime
from typing import Any

from agentkeep.store.content import Message, Part, TextPart, ToolCall, ToolReturn

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
_numbers = itertools.count(1)


def message(role: Any, *content: str | Part, **fields: Any) -> Message:
    """A message of agent-1; texts become text parts."""
    parts = [TextPart(text=part) if isinstance(part, str) else part for part in content]
    identifier = f"message-{next(_numbers)}"
    return Message(
        id=identifier, agent_id="agent-1", conversation="agent-1", role=role, content=parts, created_at=AT, **fields
    )


def called(*calls: tuple[str, str, str], text: str = "", **fields: Any) -> Message:
    """An assistant message with calls: (id, tool name, arguments)."""
    made = [ToolCall(id=identifier, name=name, arguments=arguments) for identifier, name, arguments in calls]
    return message("assistant", *([text] if text else []), tool_calls=made, **fields)


def returned(*returns: tuple[str, str], status: Any = "success") -> Message:
    """A tool message: (call id, content)."""
    made = [ToolReturn(tool_call_id=i, name="tool", status=status, content=content) for i, content in returns]
    return message("tool", tool_returns=made)
