"""Who writes the summary and from what: modes, prompts, models, bounds, and what happens when nobody can."""

from typing import Any

import pytest

from agentkeep.models import (
    ContextWindowExceededError,
    ModelAnswer,
    ModelAuthenticationError,
    ModelError,
    ModelRequest,
    UnknownModelError,
)
from agentkeep.models.errors import InsufficientCreditsError, ModelTimeoutError, ProviderUnavailableError
from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.system import Answer, System
from tests.doubles.windows import PADDING, full_agent, is_for_a_summary, overflow, shown_to, window_of


def compact(system: System, agent: str, **settings: Any) -> Answer:
    body = {"compaction_settings": settings} if settings else {}
    return system.call("messages", "POST", f"/v1/agents/{agent}/summarize", body)


def kept(system: System, agent: str) -> list[str]:
    """What is in the window behind the summary, by the first words."""
    first, *rest = window_of(system, agent)
    assert first["content"][0]["text"].startswith("[Note from the system")
    return [" ".join(each["content"][0]["text"].split()[:2]) for each in rest]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("all", []),
        ("sliding_window", ["Heard 4.", "Story 5.", "Heard 5.", "Story 6.", "Heard 6."]),
        ("self_compact_all", []),
        ("self_compact_sliding_window", ["Heard 4.", "Story 5.", "Heard 5.", "Story 6.", "Heard 6."]),
    ],
)
def test_what_stays_by_mode(system: System, model: ScriptedModel, mode: str, expected: list[str]) -> None:
    agent = full_agent(system, model, compaction_settings={"mode": mode, "sliding_window_percentage": 0.5})
    model.script = [says("Six stories.")]

    answer = compact(system, agent)

    after = len(expected) + 2
    assert answer.body == {"summary": "Six stories.", "num_messages_before": 13, "num_messages_after": after}
    assert kept(system, agent) == expected


def test_a_summarizer_gets_a_transcript_and_no_tools(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)
    model.script = [says("Two stories.")]

    compact(system, agent, mode="all")

    (request,) = model.requests
    assert request.handle == "demo/memory"
    assert [message.role for message in request.messages] == ["system", "user"]
    assert request.messages[0].text.startswith("You condense the older part of a conversation")
    assert f"user] Story 1.{PADDING}" in request.messages[1].text
    assert "assistant] Heard 2." in request.messages[1].text
    assert (list(request.tools), request.tool_choice) == ([], None)


def test_an_agent_that_summarizes_by_itself_sees_its_own_context(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)
    model.script = [says("Two stories.")]

    compact(system, agent, mode="self_compact_all")

    (request,) = model.requests
    assert request.messages[0].text.count("Be brief.") == 1
    assert shown_to(request) == ["Story 1.", "Heard 1.", "Story 2.", "Heard 2.", "Your context"]
    assert [tool.name for tool in request.tools] == ["conversation_search"]
    assert request.tool_choice == "none"


def test_a_prompt_and_a_model_of_ones_own(system: System, model: ScriptedModel) -> None:
    own = {"prompt": "Say it in one word.", "model": "openai/gpt-4o-mini", "model_settings": {"temperature": 0.1}}
    agent = full_agent(system, model, turns=2, compaction_settings=own)
    model.script = [says("Stories.")]

    compact(system, agent)

    (request,) = model.requests
    assert (request.handle, request.messages[0].text) == ("openai/gpt-4o-mini", "Say it in one word.")
    assert request.settings == {"temperature": 0.1}


def test_settings_of_the_request_come_before_those_of_the_agent(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2, compaction_settings={"mode": "all", "prompt": "Briefly."})
    model.script = [says("Two stories.")]

    answer = compact(system, agent, prompt="At length.")

    assert model.requests[0].messages[0].text == "At length."
    assert answer.body["num_messages_after"] == 2
    state = system.call("agents", "GET", f"/v1/agents/{agent}").body
    assert state["compaction_settings"]["prompt"] == "Briefly."


def test_an_acknowledgement_stands_before_the_transcript(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)

    compact(system, agent, prompt_acknowledgement=True)

    assert [message.role for message in model.requests[0].messages] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize("handle", ["letta/auto", "openai/gpt-99"])
def test_a_summarizer_that_is_not_there_is_the_agents_model(system: System, model: ScriptedModel, handle: str) -> None:
    agent = full_agent(system, model, turns=2, compaction_settings={"model": handle})

    def answer(request: ModelRequest) -> ModelAnswer:
        if request.handle != "demo/memory":
            raise UnknownModelError(request.handle, ["demo/memory"])
        return says("Two stories.")

    model.script = [answer, answer]

    assert compact(system, agent).body["summary"] == "Two stories."


@pytest.mark.parametrize(("clip", "length"), [(100, 100), (None, 3_200), (50_000, 3_200)])
def test_a_summary_is_clipped(system: System, model: ScriptedModel, clip: int | None, length: int) -> None:
    """By `clip_chars`, and in any case to a fifth of the window, which has 4,000 tokens of four characters."""
    agent = full_agent(system, model, turns=2, compaction_settings={"clip_chars": clip})
    model.script = [says("x" * 60_000)]

    summary = compact(system, agent).body["summary"]

    assert (len(summary), summary[-4:]) == (length, " ...")


def test_a_transcript_too_long_for_the_summarizer_is_shortened(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model)
    refusal = ContextWindowExceededError("Too long.")
    model.script = [refusal, says("Six stories.")]

    answer = compact(system, agent, mode="all")

    first, second = (len(request.messages[-1].text) for request in model.requests)
    assert answer.body["summary"] == "Six stories."
    assert second < first / 2
    assert "Heard 1." in model.requests[1].messages[-1].text


def test_an_agent_that_calls_a_tool_instead_leaves_it_to_the_summarizer(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)
    model.script = [calls("conversation_search", {"query": "x"}), says("Two stories.")]

    assert compact(system, agent, mode="self_compact_all").body["summary"] == "Two stories."
    assert [is_for_a_summary(request) for request in model.requests] == [True, True]
    assert model.requests[1].tools == ()


@pytest.mark.parametrize("failure", [ModelTimeoutError("Slow."), ProviderUnavailableError("Down.")])
def test_without_any_summary_the_oldest_go_and_the_agent_is_told(
    system: System, model: ScriptedModel, failure: ModelError, caplog: pytest.LogCaptureFixture
) -> None:
    agent = full_agent(system, model)
    model.script = [failure] * 5

    answer = compact(system, agent)

    assert answer.status == 200
    assert answer.body["num_messages_after"] < answer.body["num_messages_before"]
    assert f"writing one failed ({failure.code})" in answer.body["summary"]
    assert "- Story 5. lorem" in answer.body["summary"]
    assert "was cut without a summary" in caplog.text
    assert len(model.requests) == 1
    model.script = [says("I see.")]
    assert system.send(agent, "Hello?").status == 200
    assert "There is no summary of these messages" in model.requests[-1].messages[1].text


@pytest.mark.parametrize("failure", [InsufficientCreditsError("Empty."), ModelAuthenticationError("Wrong key.")])
def test_while_the_agents_model_answers_nobody_no_message_goes(
    system: System, model: ScriptedModel, failure: ModelError
) -> None:
    agent = full_agent(system, model)
    model.script = [failure]

    answer = compact(system, agent)

    assert (answer.status, answer.body["error"]["message"]) == (failure.status, failure.message)
    assert len(window_of(system, agent)) == 12
    model.script = [overflow(), failure]
    assert system.send(agent, "Hello?").status == failure.status
    assert len(window_of(system, agent)) == 12


def test_a_lost_summary_carries_the_one_before(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model)
    model.script = [says("The user is called Priya.")]
    compact(system, agent, mode="all")
    model.script = [says("Yes.")]
    system.send(agent, "More.")
    model.script = [ModelTimeoutError("Slow.")]

    summary = compact(system, agent, mode="all").body["summary"]

    assert "The summary of what came before them:\nThe user is called Priya." in summary
    assert "- More." in summary


@pytest.mark.parametrize(
    "settings",
    [{"mode": "some"}, {"sliding_window_percentage": 2}, {"clip_chars": 0}, {"clip_chars": "long"}, {"prompt": 1}],
)
def test_settings_that_mean_nothing_are_refused(system: System, model: ScriptedModel, settings: Any) -> None:
    agent = full_agent(system, model, turns=1)

    answer = compact(system, agent, **settings)

    assert answer.status == 422
    assert next(iter(settings)) in answer.body["detail"]
    assert system.call("agents", "PATCH", f"/v1/agents/{agent}", {"compaction_settings": settings}).status == 422
