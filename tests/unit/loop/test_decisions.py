"""What follows from a model's answer and from tool returns."""

from typing import Any

import pytest
from hypothesis import given, strategies

from agentkeep.loop.decisions import after_answer, after_returns, status_of, storable
from agentkeep.loop.rules.kinds import ContinueLoop, ExitLoop, MaxCountPerStep, RequiredBeforeExit, Rule, RunFirst
from agentkeep.loop.rules.solver import Called, Solver
from agentkeep.models import ModelAnswer
from agentkeep.store.content import ReasoningPart, RefusedBy, TextPart, ToolCall, ToolReturn, Usage
from agentkeep.store.entities import RunStatus, StopReason

FIRST = ToolCall(id="call_1", name="memory_insert", arguments="{}")
SECOND = ToolCall(id="call_2", name="memory_replace", arguments="{}")
SPEECH = ToolCall(id="call_3", name="send_message", arguments="{}")


def answer(*calls: ToolCall, text: str = "", finish: str = "stop") -> ModelAnswer:
    content = [TextPart(text=text)] if text else []
    return ModelAnswer(content, list(calls), finish, Usage(), "openai", "gpt")  # type: ignore[arg-type]


def returned(call: ToolCall, refused_by: RefusedBy | None = None) -> ToolReturn:
    return ToolReturn(tool_call_id=call.id, name=call.name, refused_by=refused_by)


def test_text_ends_the_turn() -> None:
    decision = after_answer(answer(text="Hello."), parallel=False)

    assert (list(decision.calls), decision.stop) == ([], "end_turn")


def test_text_that_was_cut_ends_the_turn_for_that_reason() -> None:
    assert after_answer(answer(text="Hel", finish="length"), parallel=False).stop == "max_tokens_exceeded"


def test_a_call_goes_on_even_beside_text() -> None:
    decision = after_answer(answer(FIRST, text="Let me note that."), parallel=False)

    assert (list(decision.calls), decision.stop) == ([FIRST], None)


@pytest.mark.parametrize(("parallel", "kept"), [(True, [FIRST, SECOND]), (False, [FIRST])])
def test_of_several_calls_the_first_is_kept_unless_they_may_be_parallel(parallel: bool, kept: list[ToolCall]) -> None:
    assert list(after_answer(answer(FIRST, SECOND), parallel=parallel).calls) == kept


@pytest.mark.parametrize(("steps", "stop"), [(1, None), (4, None), (5, "max_steps"), (6, "max_steps")])
def test_a_turn_goes_on_until_its_steps_are_used_up(steps: int, stop: StopReason | None) -> None:
    assert after_returns([returned(FIRST)], agent_type="letta_v1_agent", steps=steps, max_steps=5) == stop


@pytest.mark.parametrize(
    ("returns", "agent_type", "stop"),
    [
        ([returned(SPEECH)], "memgpt_v2_agent", "end_turn"),
        ([returned(FIRST), returned(SPEECH)], "memgpt_v2_agent", None),
        ([returned(SPEECH)], "letta_v1_agent", None),
        ([returned(SPEECH, refused_by="arguments")], "memgpt_v2_agent", None),
    ],
)
def test_an_agent_that_speaks_by_tool_is_done_when_it_has_only_spoken(
    returns: list[ToolReturn], agent_type: str, stop: StopReason | None
) -> None:
    assert after_returns(returns, agent_type=agent_type, steps=1, max_steps=5) == stop


EXIT = ExitLoop(tool_name="memory_insert")
REQUIRED = RequiredBeforeExit(tool_name="memory_replace")
TOOLS = ("memory_insert", "memory_replace", "send_message")


def stop_after(*rules: Rule, called: list[str], returns: list[ToolReturn], agent_type: str = "letta_v1_agent") -> Any:
    """Why a turn stops in which these were called, the newest with these returns."""
    now = Solver(rules, TOOLS, [Called(name) for name in called])
    return after_returns(returns, agent_type=agent_type, steps=1, max_steps=5, rules=now)


def test_an_exit_tool_ends_the_turn() -> None:
    assert stop_after(EXIT, called=["memory_insert"], returns=[returned(FIRST)]) == "tool_rule"
    assert stop_after(EXIT, called=["memory_replace"], returns=[returned(SECOND)]) is None


def test_an_exit_tool_that_did_not_run_ends_nothing() -> None:
    assert stop_after(EXIT, called=[], returns=[returned(FIRST, refused_by="tool_rules")]) is None


def test_an_exit_tool_ends_the_turn_even_in_its_last_step() -> None:
    now = Solver([EXIT], TOOLS, [Called("memory_insert")])

    stop = after_returns([returned(FIRST)], agent_type="letta_v1_agent", steps=5, max_steps=5, rules=now)

    assert stop == "tool_rule"


def test_nothing_ends_the_turn_while_required_tools_are_missing() -> None:
    insert, speech = [returned(FIRST)], [returned(SPEECH)]

    assert stop_after(EXIT, REQUIRED, called=["memory_insert"], returns=insert) is None
    assert stop_after(EXIT, REQUIRED, called=["memory_replace", "memory_insert"], returns=insert) == "tool_rule"
    assert stop_after(REQUIRED, called=["send_message"], returns=speech, agent_type="memgpt_agent") is None


def test_a_rule_can_let_an_agent_that_speaks_by_tool_go_on() -> None:
    goes_on = ContinueLoop(tool_name="send_message")

    assert stop_after(goes_on, called=["send_message"], returns=[returned(SPEECH)], agent_type="memgpt_agent") is None


def test_arguments_of_a_rule_that_do_not_fit_end_the_turn() -> None:
    assert stop_after(EXIT, called=[], returns=[returned(FIRST, refused_by="prefilled_arguments")]) == (
        "invalid_tool_call"
    )


def test_text_is_answered_by_a_reminder_while_required_tools_are_missing() -> None:
    decision = after_answer(answer(text="Done."), parallel=False, rules=Solver([REQUIRED], TOOLS))

    assert (list(decision.calls), decision.stop) == ([], None)
    assert decision.reminder == (
        "Your turn cannot end yet: these tools still have to be called in it: memory_replace."
        " What may be called now: memory_insert, memory_replace, send_message."
    )


def test_text_is_answered_by_a_reminder_where_a_call_is_due() -> None:
    first = Solver([RunFirst(tool_name="memory_insert")], TOOLS)

    decision = after_answer(answer(text="Hello."), parallel=False, rules=first)

    assert decision.reminder == "Words alone are not enough here. Call one of these tools now: memory_insert."


@pytest.mark.parametrize(("unheeded", "stop"), [(0, None), (1, None), (2, "no_tool_call"), (3, "no_tool_call")])
def test_a_model_that_never_makes_the_call_that_is_due_is_given_up(unheeded: int, stop: StopReason | None) -> None:
    first = Solver([RunFirst(tool_name="memory_insert")], TOOLS)

    assert after_answer(answer(text="Hello."), parallel=False, rules=first, unheeded=unheeded).stop == stop


def test_a_model_is_reminded_of_required_tools_until_its_steps_are_used_up() -> None:
    rules = Solver([REQUIRED], TOOLS)

    assert after_answer(answer(text="Done."), parallel=False, rules=rules, unheeded=40).stop is None
    assert after_answer(answer(text="Done."), parallel=False, rules=rules, unheeded=40, last=True).stop == "max_steps"


def test_a_turn_in_which_a_required_tool_cannot_be_called_any_more_ends_at_once() -> None:
    never = MaxCountPerStep(tool_name="memory_replace", max_count_limit=0)

    decision = after_answer(answer(text="Done."), parallel=False, rules=Solver([REQUIRED, never], ["memory_replace"]))

    assert decision.stop == "no_tool_call"


def test_text_ends_the_turn_where_rules_leave_no_tool_and_none_is_required() -> None:
    never = MaxCountPerStep(tool_name="memory_replace", max_count_limit=0)

    assert (
        after_answer(answer(text="Hi."), parallel=False, rules=Solver([never], ["memory_replace"])).stop == "end_turn"
    )


@pytest.mark.parametrize(
    ("stop", "status"),
    [
        ("end_turn", "completed"),
        ("max_steps", "completed"),
        ("max_tokens_exceeded", "completed"),
        ("cancelled", "cancelled"),
        ("llm_api_error", "failed"),
        ("insufficient_credits", "failed"),
        ("error", "failed"),
    ],
)
def test_a_stop_reason_says_how_the_run_ended(stop: StopReason, status: RunStatus) -> None:
    assert status_of(stop) == status


@given(strategies.text(strategies.characters() | strategies.characters(categories=["Cs"])))
def test_whatever_a_model_writes_can_be_stored(text: str) -> None:
    call = ToolCall(id="call_1", name="memory_insert", arguments=text)

    mended = storable(answer(call, text=text))

    (part,) = mended.content or [TextPart(text="")]
    assert isinstance(part, TextPart)
    for written in (part.text, mended.tool_calls[0].arguments):
        assert "\0" not in written.encode().decode()


def test_reasoning_keeps_its_signature_only_as_it_was_signed() -> None:
    whole = ReasoningPart(reasoning="I think.", signature="s1")
    broken = ReasoningPart(reasoning="I \ud83d think.", signature="s2")
    given_answer = ModelAnswer([whole, broken], [], "stop", Usage(), "anthropic", "claude")

    kept, mended = storable(given_answer).content

    assert kept == whole
    assert mended == ReasoningPart(reasoning="I \ufffd think.", signature=None)
