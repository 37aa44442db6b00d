"""What follows from a model's answer and from tool returns."""

import pytest
from hypothesis import given, strategies

from agentkeep.loop.decisions import after_answer, after_returns, status_of, storable
from agentkeep.models import ModelAnswer
from agentkeep.store.content import ReasoningPart, TextPart, ToolCall, Usage
from agentkeep.store.entities import RunStatus, StopReason

FIRST = ToolCall(id="call_1", name="memory_insert", arguments="{}")
SECOND = ToolCall(id="call_2", name="memory_replace", arguments="{}")
SPEECH = ToolCall(id="call_3", name="send_message", arguments="{}")


def answer(*calls: ToolCall, text: str = "", finish: str = "stop") -> ModelAnswer:
    content = [TextPart(text=text)] if text else []
    return ModelAnswer(content, list(calls), finish, Usage(), "openai", "gpt")  # type: ignore[arg-type]


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
    assert after_returns([FIRST], agent_type="letta_v1_agent", steps=steps, max_steps=5) == stop


@pytest.mark.parametrize(
    ("calls", "agent_type", "stop"),
    [
        ([SPEECH], "memgpt_v2_agent", "end_turn"),
        ([FIRST, SPEECH], "memgpt_v2_agent", None),
        ([SPEECH], "letta_v1_agent", None),
    ],
)
def test_an_agent_that_speaks_by_tool_is_done_when_it_has_only_spoken(
    calls: list[ToolCall], agent_type: str, stop: StopReason | None
) -> None:
    assert after_returns(calls, agent_type=agent_type, steps=1, max_steps=5) == stop


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
