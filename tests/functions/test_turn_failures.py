"""Turns that cannot end well: a provider that refuses, early or late; a run that kills each process that drives it."""

from collections.abc import Iterator

import pytest

from agentkeep.loop import turns
from agentkeep.models import ModelAnswer, ModelRequest
from agentkeep.models.errors import (
    ContextWindowExceededError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelError,
    ModelRateLimitError,
    OutputLimitError,
    ProviderFailedError,
)
from tests.doubles.faults import Death
from tests.doubles.ledger import Ledger
from tests.doubles.models import says
from tests.doubles.scenes import TWO_STEPS
from tests.doubles.system import System
from tests.functions.turn_stage import Stage, opened, shown

REFUSALS = [
    (ModelBadRequestError("No.", "400: why"), 400, "llm_bad_request"),
    (ModelAuthenticationError("No.", "401: why"), 401, "llm_authentication"),
    (ModelRateLimitError("No.", "429: why"), 429, "llm_rate_limit"),
    (ProviderFailedError("No.", "500: why"), 500, "llm_error"),
    (ContextWindowExceededError("No.", "400: why"), 400, "context_window_exceeded"),
]
refusals = pytest.mark.parametrize(("error", "status", "kind"), REFUSALS, ids=[kind for _, _, kind in REFUSALS])


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage


@pytest.fixture
def agent(stage: Stage) -> str:
    return stage.scene.new_agent(stage.system)


def _fail_at(stage: Stage, step: int, error: ModelError) -> None:
    def think(request: ModelRequest) -> ModelAnswer:
        returned = [message for message in request.messages if message.role == "tool"]
        if len(returned) == step - 1:
            raise error
        return stage.scene.think(request)

    stage.model.think = think


@refusals
def test_a_first_call_that_is_refused_leaves_the_conversation_as_it_was(
    stage: Stage, agent: str, error: ModelError, status: int, kind: str
) -> None:
    before = stage.contents(agent)
    _fail_at(stage, 1, error)

    answer = stage.send(agent, stage.scene.text)

    detail = f"{error.detail}"
    assert (answer.status, answer.body) == (status, {"error": {"type": kind, "message": "No.", "detail": detail}})
    assert answer.headers["x-should-retry"] == "false"
    assert stage.contents(agent) == before
    run = Ledger(stage.system).runs[-1]
    assert (run.status, run.stop_reason, run.steps) == ("failed", "llm_api_error", 0)
    metadata = stage.run(run.id)["metadata"]
    assert (metadata["error"]["error_type"], metadata["error"]["message"]) == (kind, "No.")


@refusals
def test_a_later_call_that_is_refused_keeps_what_was_committed(
    stage: Stage, agent: str, error: ModelError, status: int, kind: str
) -> None:
    _fail_at(stage, 2, error)

    answer = stage.send(agent, stage.scene.text)

    assert (answer.status, answer.body["error"]["type"]) == (status, kind)
    assert stage.contents(agent).history[2:] == [
        f"user: {TWO_STEPS.text}",
        'call: memory_insert {"label": "human", "new_string": "Likes tea."}',
        "success: Unknown.\nLikes tea.",
    ]
    run = Ledger(stage.system).runs[-1]
    assert (run.status, run.stop_reason, run.steps) == ("failed", "llm_api_error", 1)
    assert stage.contents(agent).usage == [110, 110]

    stage.model.think = stage.scene.think
    assert [message["content"] for message in shown(stage.send(agent, "And now?"))] == ["Acknowledged."]


def test_memory_that_changed_before_a_turn_failed_is_what_the_next_turn_shows(stage: Stage, agent: str) -> None:
    path = f"/v1/agents/{agent}/core-memory/blocks/human"
    assert stage.system.call("agents", "PATCH", path, {"value": "Priya, of Lyon."}).status == 200
    _fail_at(stage, 1, ModelRateLimitError("No."))
    assert stage.send(agent, stage.scene.text).status == 429

    stage.model.think = stage.scene.think
    stage.send(agent, "And now?")

    assert "Priya, of Lyon." in stage.model.requests[-1].messages[0].text


def test_a_failure_of_a_stream_is_told_after_what_was_committed(stage: Stage, agent: str) -> None:
    _fail_at(stage, 2, ModelRateLimitError("No.", "429: why"))
    body = {"messages": [{"role": "user", "content": stage.scene.text}], "streaming": True}

    frames = stage.system.call("messages", "POST", f"/v1/agents/{agent}/messages", body).body

    kinds = [frame["message_type"] for frame in frames if frame["message_type"] != "ping"]
    assert kinds == ["tool_call_message", "tool_return_message", "stop_reason", "usage_statistics", "error_message"]
    assert frames[-3]["stop_reason"] == "llm_api_error"
    assert frames[-1]["error_type"] == "llm_rate_limit"


def test_an_answer_that_used_up_its_tokens_before_any_text_is_told_as_such(stage: Stage, agent: str) -> None:
    _fail_at(stage, 1, OutputLimitError("openai/gpt", 4_096))

    stage.send(agent, stage.scene.text)

    run = Ledger(stage.system).runs[-1]
    assert (run.status, run.stop_reason) == ("failed", "max_tokens_exceeded")


def test_a_turn_ends_after_its_steps_are_used_up(stage: Stage, agent: str) -> None:
    body = {"messages": [{"role": "user", "content": stage.scene.text}], "max_steps": 1}

    answer = stage.system.call("messages", "POST", f"/v1/agents/{agent}/messages", body)

    assert [message["message_type"] for message in shown(answer)] == ["tool_call_message", "tool_return_message"]
    assert answer.body["stop_reason"]["stop_reason"] == "max_steps"
    assert stage.send(agent, "And now?").status == 200


@pytest.mark.parametrize("write", [2, 3, 4])
def test_a_run_that_was_taken_up_three_times_fails_and_its_conversation_goes_on(
    stage: Stage, agent: str, write: int
) -> None:
    for of_its_attempt in (write, 2, 2):
        stage.die_at(of_its_attempt, agent, "otid-1")
        stage.start_again()

    answer = stage.send(agent, stage.scene.text, "otid-1")

    assert (answer.status, answer.body["error"]["type"]) == (503, "too_many_attempts")
    assert "was interrupted 3 times and is not tried again" in answer.body["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"
    run = Ledger(stage.system).runs[-1]
    assert (run.status, run.stop_reason, run.attempts) == ("failed", "error", 3)
    assert [message["content"] for message in shown(stage.send(agent, "And now?"))] == ["Acknowledged."]


def test_a_run_whose_model_call_ends_the_process_is_tried_three_times(stage: Stage, agent: str) -> None:
    asked: list[ModelRequest] = []

    def think(request: ModelRequest) -> ModelAnswer:
        asked.append(request)
        raise Death

    stage.model.think = think
    for _ in range(3):
        stage.die(agent, "otid-1")
        stage.start_again()

    assert stage.send(agent, stage.scene.text, "otid-1").body["error"]["type"] == "too_many_attempts"
    assert len(asked) == 3


def test_a_run_closed_by_another_message_says_so_to_its_repetition(stage: Stage, agent: str) -> None:
    stage.die_at(3, agent, "otid-1")
    stage.start_again()
    stage.send(agent, "And now?")

    answer = stage.send(agent, stage.scene.text, "otid-1")

    assert (answer.status, answer.body["error"]["type"]) == (503, "interrupted")
    assert "with a new otid" in answer.body["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"


def test_interrupted_runs_are_gone_on_with_when_the_machine_starts(stage: Stage) -> None:
    whole = stage.scene.new_agent(stage.system)
    stage.send(whole, stage.scene.text)
    agents = [stage.scene.new_agent(stage.system) for _ in range(3)]
    for write, agent in enumerate(agents, start=2):
        stage.die_at(write, agent)
    stage.start_again()

    with stage.system.acting():
        assert turns.resume_interrupted() == 3
        assert turns.resume_interrupted() == 0

    assert [stage.contents(agent) for agent in agents] == [stage.contents(whole)] * 3


def test_one_run_that_cannot_be_gone_on_with_keeps_no_other_from_it(stage: Stage) -> None:
    first, second = (stage.scene.new_agent(stage.system) for _ in range(2))
    for agent in (first, second):
        stage.die_at(3, agent)
    stage.start_again()

    def think(request: ModelRequest) -> ModelAnswer:
        if first in request.messages[0].text:
            raise ZeroDivisionError
        return stage.scene.think(request)

    stage.model.think = think
    with stage.system.acting():
        assert turns.resume_interrupted() == 1

    assert stage.contents(first).runs[-1].startswith("failed error")
    assert stage.contents(second).runs[-1].startswith("completed end_turn")


def test_a_run_whose_agent_was_deleted_meanwhile_is_cancelled_at_the_start(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    stage.die_at(3, agent)
    stage.system.call("agents", "DELETE", f"/v1/agents/{agent}")
    stage.start_again()

    with stage.system.acting():
        assert turns.resume_interrupted() == 0

    assert Ledger(stage.system).runs[-1].status == "cancelled"
    active = stage.system.call("runs", "GET", "/v1/runs", query={"active": "true"}).body
    assert active == []


def test_text_that_no_store_takes_is_mended_not_refused(stage: Stage, agent: str) -> None:
    stage.model.think = lambda request: says("half a pair \ud83d and a \x00")

    answer = stage.send(agent, "Hello.")

    assert [message["content"] for message in shown(answer)] == ["half a pair \ufffd and a "]
    assert stage.contents(agent).history[-1] == "assistant: half a pair \ufffd and a "
