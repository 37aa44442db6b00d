"""What follows from a model's answer and from its tools' returns. Pure: no store, no model, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentkeep.loop.rules.solver import Solver
from agentkeep.memory.opening import SPEAKS_BY_TOOL
from agentkeep.models import ModelAnswer
from agentkeep.store.content import Part, ReasoningPart, TextPart, ToolCall, ToolReturn
from agentkeep.store.entities import RunStatus, StopReason
from agentkeep.text import clean
from agentkeep.tools.working import SEND_MESSAGE

_FAILURES = frozenset({
    "error", "llm_api_error", "invalid_llm_response", "invalid_tool_call", "no_tool_call", "insufficient_credits",
    "context_window_overflow_in_system_prompt",
})  # fmt: skip
_NO_RULES: Final = Solver()
_REMINDERS: Final = 2
"""How often a model is told that the rules ask for a call, before an answer without one ends the turn."""


@dataclass(frozen=True)
class AfterAnswer:
    """The calls to run, or why the turn stops, or what the model is told before it is asked again."""

    calls: Sequence[ToolCall]
    stop: StopReason | None
    reminder: str | None = None


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


def after_answer(
    answer: ModelAnswer, *, parallel: bool, rules: Solver = _NO_RULES, unheeded: int = 0, last: bool = False
) -> AfterAnswer:
    """A call continues the turn, text ends it, unless the rules ask for a call first: then the model is reminded.

    Without parallel tool calls only the first of several is kept. `unheeded` is how many answers without a call came
    just before; `last` says that no step is left after this one.
    """
    if answer.tool_calls:
        return AfterAnswer(answer.tool_calls if parallel else answer.tool_calls[:1], None)
    if not rules.missing and not rules.owed:
        return AfterAnswer((), "max_tokens_exceeded" if answer.finish == "length" else "end_turn")
    if last:
        return AfterAnswer((), "max_steps")
    if not rules.valid or (not rules.missing and unheeded >= _REMINDERS):
        return AfterAnswer((), "no_tool_call")
    return AfterAnswer((), None, _reminder(rules))


def _reminder(rules: Solver) -> str:
    if not rules.missing:
        return f"Words alone are not enough here. Call one of these tools now: {', '.join(rules.owed)}."
    wanted = f"Your turn cannot end yet: these tools still have to be called in it: {', '.join(rules.missing)}."
    return f"{wanted} What may be called now: {', '.join(rules.valid)}."


def after_returns(
    returns: Sequence[ToolReturn], *, agent_type: str, steps: int, max_steps: int, rules: Solver = _NO_RULES
) -> StopReason | None:
    """Whether the turn goes on after its tools returned; `rules` are those that hold now.

    A tool of an exit_loop rule ends it, unless required ones are missing. A legacy agent that has only spoken is done.
    """
    if any(each.refused_by == "prefilled_arguments" for each in returns):
        return "invalid_tool_call"
    if not rules.missing:
        if agent_type in SPEAKS_BY_TOOL and all(map(_spoke, returns)) and not rules.continues(SEND_MESSAGE.name):
            return "end_turn"
        if any(each.refused_by is None and rules.ends(each.name) for each in returns):
            return "tool_rule"
    return "max_steps" if steps >= max_steps else None


def _spoke(returned: ToolReturn) -> bool:
    return returned.name == SEND_MESSAGE.name and returned.refused_by is None


def status_of(stop: StopReason) -> RunStatus:
    """The status of a run that stopped for this reason."""
    if stop == "cancelled":
        return "cancelled"
    return "failed" if stop in _FAILURES else "completed"
