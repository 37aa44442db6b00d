"""The same message again: by otid, by Idempotency-Key, by the client's own retries; and what is not the same."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from agentkeep.models import ModelAnswer, ModelRequest
from agentkeep.models.errors import ModelRateLimitError
from tests.doubles.faults import Torn
from tests.doubles.ledger import Ledger
from tests.doubles.models import says
from tests.doubles.scenes import TWO_STEPS
from tests.doubles.system import Answer, System
from tests.functions.turn_stage import Stage, opened

RETRY = {"x-stainless-retry-count": "1"}


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage


@pytest.fixture
def agent(stage: Stage) -> str:
    return stage.scene.new_agent(stage.system)


Send = Callable[[Stage, str, str], Answer]


def _by_otid(stage: Stage, agent: str, text: str) -> Answer:
    return stage.send(agent, text, "otid-1")


def _by_key(stage: Stage, agent: str, text: str) -> Answer:
    return stage.send(agent, text, **{"idempotency-key": "key-1"})


def _by_retry(stage: Stage, agent: str, text: str) -> Answer:
    return stage.send(agent, text, **RETRY)


EVERY_WAY = pytest.mark.parametrize("send", [_by_otid, _by_key, _by_retry])
KEYED = pytest.mark.parametrize("send", [_by_otid, _by_key])


@EVERY_WAY
def test_a_repetition_of_a_finished_turn_gets_the_same_answer(stage: Stage, agent: str, send: Send) -> None:
    first = send(stage, agent, stage.scene.text)
    asked = len(stage.model.requests)

    again = send(stage, agent, stage.scene.text)

    assert (again.status, again.body) == (200, first.body)
    assert len(stage.model.requests) == asked
    assert stage.contents(agent).runs[1:] == ["completed end_turn 3 steps 330 tokens"]


@EVERY_WAY
def test_a_repetition_of_a_running_turn_waits_for_it_and_gets_the_same_messages(
    stage: Stage, agent: str, send: Send
) -> None:
    attached: list[Answer] = []
    attaching: list[threading.Thread] = []

    def think(request: ModelRequest) -> ModelAnswer:
        if not attaching:
            attaching.append(threading.Thread(target=lambda: attached.append(send(stage, agent, stage.scene.text))))
            attaching[0].start()
            attaching[0].join(0.1)
        return stage.scene.think(request)

    stage.model.think = think

    first = send(stage, agent, stage.scene.text)
    attaching[0].join()

    assert [answer.body for answer in attached] == [first.body]
    assert len(stage.contents(agent).runs) == 1 + 1


def test_a_repetition_that_asks_for_a_stream_gets_the_messages_as_events(stage: Stage, agent: str) -> None:
    first = _by_otid(stage, agent, stage.scene.text)
    body = {"messages": [{"role": "user", "content": stage.scene.text, "otid": "otid-1"}], "streaming": True}

    again = stage.system.call("messages", "POST", f"/v1/agents/{agent}/messages", body)

    kinds = ("tool_call_message", "tool_return_message", "assistant_message")
    frames = [frame for frame in again.body if frame["message_type"] in kinds]
    assert [frame["id"] for frame in frames] == [message["id"] for message in first.body["messages"]]


@KEYED
def test_a_key_with_other_content_is_refused(stage: Stage, agent: str, send: Send) -> None:
    send(stage, agent, stage.scene.text)

    refused = send(stage, agent, "Something else.")

    assert (refused.status, refused.body["detail"]["code"]) == (409, "IDEMPOTENCY_CONFLICT")
    assert refused.headers["x-should-retry"] == "false"
    assert "user: Something else." not in stage.contents(agent).history


@KEYED
def test_a_key_is_forgotten_after_a_day_and_not_before(stage: Stage, agent: str, send: Send) -> None:
    first = send(stage, agent, stage.scene.text)
    stage.pass_time(24 * 3600 - 60)
    assert send(stage, agent, stage.scene.text).body == first.body

    stage.pass_time(61)

    later = send(stage, agent, stage.scene.text)
    assert later.status == 200
    assert later.body["messages"][0]["run_id"] != first.body["messages"][0]["run_id"]


def test_a_key_is_one_conversations_own(stage: Stage, agent: str) -> None:
    named = stage.system.call("conversations", "POST", "/v1/conversations", {"agent_id": agent}).body["id"]

    runs = [stage.send(to, "Hello.", "otid-1").body["messages"][0]["run_id"] for to in (agent, named)]

    assert len(set(runs)) == 2


def test_the_same_words_again_are_a_new_message(stage: Stage, agent: str) -> None:
    for _ in range(3):
        assert stage.send(agent, "Go on.").status == 200

    assert stage.contents(agent).history[2:] == ["user: Go on.", "assistant: Acknowledged."] * 3


def test_a_retry_of_something_older_than_ten_minutes_is_a_new_message(stage: Stage, agent: str) -> None:
    stage.send(agent, "Go on.")
    stage.pass_time(601)

    stage.send(agent, "Go on.", **RETRY)

    assert stage.contents(agent).history[2:] == ["user: Go on.", "assistant: Acknowledged."] * 2


def test_a_retry_with_other_content_is_a_new_message(stage: Stage, agent: str) -> None:
    stage.send(agent, "Go on.")

    stage.send(agent, "Go back.", **RETRY)

    assert stage.contents(agent).history[4:] == ["user: Go back.", "assistant: Acknowledged."]


def test_a_first_try_is_no_retry(stage: Stage, agent: str) -> None:
    stage.send(agent, "Go on.")

    stage.send(agent, "Go on.", **{"x-stainless-retry-count": "0"})

    assert stage.contents(agent).history[2:] == ["user: Go on.", "assistant: Acknowledged."] * 2


@EVERY_WAY
def test_a_run_that_failed_before_it_said_anything_can_be_started_anew(stage: Stage, agent: str, send: Send) -> None:
    def fails(request: ModelRequest) -> ModelAnswer:
        raise ModelRateLimitError("Slow down.")

    stage.model.think = fails
    assert send(stage, agent, "Hello.").status == 429

    stage.model.think = stage.scene.think

    assert send(stage, agent, "Hello.").status == 200
    assert stage.contents(agent).history[2:] == ["user: Hello.", "assistant: Acknowledged."]


@EVERY_WAY
def test_a_run_that_failed_later_answers_its_repetition_as_it_answered_first(
    stage: Stage, agent: str, send: Send
) -> None:
    def fails_second(request: ModelRequest) -> ModelAnswer:
        if request.messages[-1].role == "tool":
            raise ModelRateLimitError("Slow down.", detail="429: said so")
        return stage.scene.think(request)

    stage.model.think = fails_second
    first = send(stage, agent, stage.scene.text)
    stage.model.think = stage.scene.think

    again = send(stage, agent, stage.scene.text)

    assert (first.status, first.body["error"]["type"]) == (429, "llm_rate_limit")
    assert (again.status, again.body, again.headers["x-should-retry"]) == (429, first.body, "false")


def test_a_repetition_attaches_even_when_its_read_was_torn_by_the_first(stage: Stage, agent: str) -> None:
    """A batch reads item by item: the claim may be looked for before the first request wrote it, the lease after."""
    answers: list[Answer] = []
    first = threading.Thread(target=lambda: answers.append(stage.send(agent, stage.scene.text, "otid-1")))
    thinking = threading.Event()

    def think(request: ModelRequest) -> ModelAnswer:
        thinking.set()
        time.sleep(0.05)
        return stage.scene.think(request)

    def start_first() -> None:
        first.start()
        assert thinking.wait(10)

    stage.model.think = think
    stage.system.engine.faults = Torn(stage.system.engine, start_first)  # type: ignore[assignment]

    second = stage.send(agent, stage.scene.text, "otid-1")

    first.join()
    assert second.status == 200
    assert [answer.body for answer in answers] == [second.body]


def test_a_request_without_a_mark_does_not_attach(stage: Stage, agent: str) -> None:
    refused: list[Answer] = []

    def think(request: ModelRequest) -> ModelAnswer:
        refused.append(stage.send(agent, "Hello."))
        return says("Done.")

    stage.model.think = think
    stage.send(agent, "Hello.")

    assert [answer.status for answer in refused] == [409]


def test_a_waiting_repetition_ends_with_its_invocation(stage: Stage, agent: str) -> None:
    stage.die_at(4, agent, "otid-1")
    stage.monkeypatch.setattr("tests.doubles.system.LambdaContext.get_remaining_time_in_millis", lambda context: 10_300)

    answer = stage.send(agent, stage.scene.text, "otid-1")

    assert (answer.status, answer.body["detail"]["code"]) == (409, "CONVERSATION_BUSY")
    stage.start_again()
    assert stage.send(agent, "And now?").status == 200


def test_a_run_keeps_its_input_until_the_history_has_it(stage: Stage, agent: str) -> None:
    """So that a resumed run has it, and a long one does not store it again with each commit."""
    stage.die_at(2, agent)
    assert Ledger(stage.system).runs[-1].request["inputs"][0]["content"][0]["text"] == TWO_STEPS.text
    stage.start_again()

    stage.send(agent, stage.scene.text, **RETRY)

    assert Ledger(stage.system).runs[-1].request["inputs"] == []
