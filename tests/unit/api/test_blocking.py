"""One JSON answer for a turn, quick or slow, good or bad."""

import json
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from agentkeep.api.blocking import blocking
from agentkeep.api.render.messages import MessageView
from agentkeep.api.stream import Emit, StreamedResponse, Timing, Work
from agentkeep.errors import ConversationBusyError
from agentkeep.loop.events import MessageCommitted, RunFinished, RunStarted
from agentkeep.models.errors import ModelRateLimitError
from tests.unit.api.records import RUN, message, run, tool_return

QUICK = Timing(head_after=5.0, beat_every=5.0, end_after=30.0)
SLOW = Timing(head_after=0.02, beat_every=0.02, end_after=30.0)


def answer(work: Work, timing: Timing = QUICK) -> StreamedResponse:
    return blocking(work, MessageView().show, timing)


def talk(emit: Emit) -> None:
    emit(RunStarted(RUN))
    emit(MessageCommitted(message("user", "Hi.")))
    emit(MessageCommitted(message()))
    emit(MessageCommitted(message("tool", None, tool_returns=[tool_return()])))
    emit(RunFinished(run()))


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def test_a_quick_turn_is_answered_whole() -> None:
    response = answer(talk)

    body = json.loads(b"".join(response.body))
    assert (response.status_code, response.headers) == (200, {"Content-Type": "application/json"})
    assert [each["message_type"] for each in body["messages"]] == ["assistant_message", "tool_return_message"]
    assert body["stop_reason"] == {"message_type": "stop_reason", "stop_reason": "end_turn"}
    assert (body["usage"]["total_tokens"], body["usage"]["context_tokens"]) == (12, 12)
    assert "error" not in body


@pytest.mark.parametrize("error", [ConversationBusyError("run-7"), ModelRateLimitError("Slow."), ZeroDivisionError()])
def test_what_ends_a_turn_early_is_raised(error: Exception) -> None:
    def refuse(emit: Emit) -> None:
        raise error

    with pytest.raises(type(error)):
        answer(refuse)


def test_a_run_that_fails_early_is_raised_too() -> None:
    def fail(emit: Emit) -> None:
        emit(RunStarted(RUN))
        emit(RunFinished(run(status="failed", stop_reason="llm_api_error"), ModelRateLimitError("Slow.")))

    with pytest.raises(ModelRateLimitError):
        answer(fail)


def test_a_slow_turn_is_kept_alive_with_white_space() -> None:
    proceed = threading.Event()

    def slow(emit: Emit) -> None:
        emit(MessageCommitted(message()))
        proceed.wait(5)
        emit(MessageCommitted(message()))
        emit(RunFinished(run()))

    response = answer(slow, SLOW)
    chunks = [next(response.body) for _ in range(3)]
    proceed.set()
    rest = b"".join(response.body)

    assert response.status_code == 200
    assert chunks == [b" ", b" ", b" "]
    assert len(json.loads(rest)["messages"]) == 2


def test_messages_do_not_hold_the_white_space_back() -> None:
    proceed = threading.Event()

    def busy(emit: Emit) -> None:
        while not proceed.wait(0.005):
            emit(MessageCommitted(message()))
        emit(RunFinished(run()))

    body = answer(busy, SLOW).body
    chunks = [next(body) for _ in range(3)]
    proceed.set()

    assert chunks == [b" ", b" ", b" "]
    assert json.loads(b"".join(body))["messages"]


def test_a_late_failure_is_a_200_with_what_was_said_and_the_error() -> None:
    released = threading.Event()

    def fail_late(emit: Emit) -> None:
        emit(RunStarted(RUN))
        emit(MessageCommitted(message()))
        released.wait(5)
        emit(RunFinished(run(status="failed", stop_reason="llm_api_error"), ModelRateLimitError("Slow.", "said so")))

    response = answer(fail_late, SLOW)
    released.set()
    body = json.loads(b"".join(response.body))

    assert response.status_code == 200
    assert [each["content"] for each in body["messages"]] == ["Hello."]
    assert body["stop_reason"]["stop_reason"] == "llm_api_error"
    assert body["error"] == {"type": "llm_rate_limit", "message": "Slow.", "detail": "said so", "run_id": RUN}


def test_a_late_mistake_of_ours_is_told_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    released, text = threading.Event(), "secret-text"

    def break_late(emit: Emit) -> None:
        released.wait(5)
        raise KeyError(text)

    response = answer(break_late, SLOW)
    released.set()
    body = json.loads(b"".join(response.body))

    assert (body["error"]["type"], body["stop_reason"]["stop_reason"]) == ("internal_error", "error")
    assert "KeyError" in caplog.text
    assert text not in caplog.text + json.dumps(body)


def test_a_body_that_has_to_end_names_the_run_and_its_state() -> None:
    proceed = threading.Event()

    def endless(emit: Emit) -> None:
        emit(RunStarted(RUN))
        emit(MessageCommitted(message()))
        proceed.wait(5)
        emit(RunFinished(run()))

    text = b""
    for chunk in answer(endless, Timing(head_after=0.01, beat_every=0.02, end_after=0.08)).body:
        text += chunk
        if chunk.strip():
            proceed.set()
    read = json.loads(text)

    assert len(read["messages"]) == 1
    assert read["error"]["type"] == "still_running"
    assert f"GET /v1/runs/{RUN}" in read["error"]["message"]
    assert "status=running" in read["error"]["detail"]


def test_a_client_that_leaves_does_not_end_the_turn() -> None:
    released, ended = threading.Event(), threading.Event()

    def slow(emit: Emit) -> None:
        released.wait(5)
        emit(RunFinished(run()))
        ended.set()

    body = answer(slow, SLOW).body
    next(body)
    released.set()
    body.close()  # type: ignore[attr-defined]

    assert ended.is_set()


def test_the_turn_runs_in_the_context_of_its_request() -> None:
    tenant: ContextVar[str] = ContextVar("tenant")
    tenant.set("acme0001")
    seen: list[str] = []

    def look(emit: Emit) -> None:
        seen.append(tenant.get())
        talk(emit)

    answer(look)

    assert seen == ["acme0001"]


def test_a_driver_that_forgets_to_say_how_it_ended_is_noticed() -> None:
    with pytest.raises(RuntimeError):
        answer(lambda emit: emit(RunStarted(RUN)))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_code_that_asks_the_process_to_exit_ends_its_turn_only() -> None:
    with pytest.raises(RuntimeError, match="ended from within"):
        answer(lambda emit: sys.exit(3))


def test_the_hold_of_the_head_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Timing().head_after == 20.0
    monkeypatch.setenv("AGENTKEEP_HEARTBEAT_AFTER_SECONDS", "0.5")
    assert Timing().head_after == 0.5
