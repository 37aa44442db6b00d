"""The returns of tool calls: one per call, success or error, never longer than the tool's limit."""

from collections.abc import Iterable

from agentkeep.store.content import RefusedBy, ToolCall, ToolReturn
from agentkeep.text import clean


def success(call: ToolCall, text: str, limit: int) -> ToolReturn:
    """The answer to `call`, at most `limit` characters of it."""
    return ToolReturn(tool_call_id=call.id, name=call.name, content=shorten(clean(text), limit))


def failure(call: ToolCall, text: str, refused_by: RefusedBy | None = None) -> ToolReturn:
    """An error as the answer to `call`; `text` tells the model what to do instead. `refused_by`: it was not run."""
    return ToolReturn(tool_call_id=call.id, name=call.name, status="error", content=clean(text), refused_by=refused_by)


def not_callable(call: ToolCall, names: Iterable[str], reasons: Iterable[str] = ()) -> ToolReturn:
    """The error for a call of a tool that the agent does not have or may not call now.

    It begins as in 0.16.7 so that clients recognise it; `reasons` are sentences.
    """
    begin = f"[ToolConstraintError] Cannot call {call.name}, valid tools include: {list(names)}."
    return failure(call, " ".join([begin, *reasons]), "tool_rules")


def shorten(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and a line that says how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[Cut here: {len(text) - limit} of {len(text)} characters are not shown.]"
