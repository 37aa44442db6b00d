"""What follows from a model's answer and from its tools' returns. Pure: no store, no model, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentkeep.memory.opening import SPEAKS_BY_TOOL
from agentkeep.models import ModelAnswer
from agentkeep.store.content import Part, ReasoningPart, TextPart, ToolCall
from agentkeep.store.entities import RunStatus, StopReason
from agentkeep.text import clean
from agentkeep.tools.working import SEND_MESSAGE

_FAILURES = frozenset({
    "error", "llm_api_error", "invalid_llm_response", "invalid_tool_call", "no_tool_call", "insufficient_credits",
    "context_window_overflow_in_system_prompt",
})  # fmt: skip


@dataclass(frozen=True)
class AfterAnswer:
    """The calls to run, or why the turn stops."""

    calls: Sequence[ToolCall]
    stop: StopReason | None


def storable(answer: ModelAnswer) -> ModelAnswer:
    """The answer in text that every store and client takes: a provider's JSON may hold NUL and halves of characters.

    Reasoning that had to be changed loses its signature, which would not fit it any more.
    """
    content = [_storable(part) for part in answer.content]
    fields = [{"name": clean(call.name), "arguments": clean(call.arguments)} for call in answer.tool_calls]
    calls = [call.model_copy(update=given) for call, given in zip(answer.tool_calls, fields, strict=True)]
    return replace(answer, content=content, tool_calls=calls)


def _storable(part: Part) -> Part:
    if isinstance(part, TextPart):
        return part.model_copy(update={"text": clean(part.text)})
    if isinstance(part, ReasoningPart) and part.reasoning != clean(part.reasoning):
        return part.model_copy(update={"reasoning": clean(part.reasoning), "signature": None})
    return part


def after_answer(answer: ModelAnswer, *, parallel: bool) -> AfterAnswer:
    """Text ends the turn, a call continues it. Without parallel tool calls only the first of several is kept."""
    if answer.tool_calls:
        return AfterAnswer(answer.tool_calls if parallel else answer.tool_calls[:1], None)
    return AfterAnswer((), "max_tokens_exceeded" if answer.finish == "length" else "end_turn")


def after_returns(calls: Sequence[ToolCall], *, agent_type: str, steps: int, max_steps: int) -> StopReason | None:
    """Whether the turn goes on after its tools returned. A legacy agent that has only spoken is done."""
    if agent_type in SPEAKS_BY_TOOL and all(call.name == SEND_MESSAGE.name for call in calls):
        return "end_turn"
    return "max_steps" if steps >= max_steps else None


def status_of(stop: StopReason) -> RunStatus:
    """The status of a run that stopped for this reason."""
    if stop == "cancelled":
        return "cancelled"
    return "failed" if stop in _FAILURES else "completed"
