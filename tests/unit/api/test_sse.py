"""A turn as server-sent events, read as clients read them."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from letta_client.types.agents import LettaStreamingResponse
from pydantic import TypeAdapter

from agentkeep.api.render.messages import MessageView
from agentkeep.api.sse import sse
from agentkeep.api.stream import Emit, StreamedResponse, Timing, Work
from agentkeep.errors import ConversationBusyError
from agentkeep.loop.events import MessageCommitted, RunFinished, RunStarted
from agentkeep.models.errors import ModelRateLimitError
from tests.unit.api.records import RUN, message, run, tool_call, tool_return

QUIET = Timing(head_after=5.0, beat_every=5.0, end_after=30.0)


def stream(work: Work, timing: Timing = QUIET) -> StreamedResponse:
    return sse(work, MessageView().show, timing)


def frames(response: StreamedResponse) -> list[tuple[str | None, Any]]:
    """(event, data) of each frame; data is JSON, or text where it is none."""
    read: list[tuple[str | None, Any]] = []
    for block in b"".join(response.body).decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = fields["data"]
        read.append((fields.get("event"), json.loads(data) if data.startswith("{") else data))
    return read


def talk(emit: Emit) -> None:
    emit(RunStarted(RUN))
    emit(MessageCommitted(message("user", "Hi.")))
    emit(MessageCommitted(message(tool_calls=[tool_call()])))
    emit(MessageCommitted(message("tool", None, tool_returns=[tool_return()])))
    emit(MessageCommitted(message(text="Noted.")))
    emit(RunFinished(run()))


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def test_a_turn_streams_from_ping_to_done() -> None:
    response = stream(talk)

    read = frames(response)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/event-stream"
    assert read[-1] == (None, "[DONE]")
    assert [data["message_type"] for _, data in read[:-1]] == [
        "ping",
        "assistant_message",
        "tool_call_message",
        "tool_return_message",
        "assistant_message",
        "stop_reason",
        "usage_statistics",
    ]


def test_every_frame_carries_run_and_number() -> None:
    data = [data for _, data in frames(stream(talk))[:-1]]

    assert {each["run_id"] for each in data} == {RUN}
    assert [each["seq_id"] for each in data] == [1, 2, 3, 4, 5, 6, 7]


def test_every_frame_is_one_that_letta_client_knows() -> None:
    known = TypeAdapter[Any](LettaStreamingResponse)

    for _, data in frames(stream(talk))[:-1]:
        assert known.validate_python(data).message_type == data["message_type"]


def test_what_refuses_a_turn_before_its_run_is_raised() -> None:
    def refuse(emit: Emit) -> None:
        raise ConversationBusyError("run-7")

    with pytest.raises(ConversationBusyError):
        stream(refuse)


def test_a_failed_run_ends_with_its_reason_and_an_error_event() -> None:
    def fail(emit: Emit) -> None:
        emit(RunStarted(RUN))
        failed = run(status="failed", stop_reason="llm_api_error")
        emit(RunFinished(failed, ModelRateLimitError("Slow.", "said so")))

    read = frames(stream(fail))

    assert [event for event, _ in read] == [None, None, None, "error", None]
    assert read[1][1]["stop_reason"] == "llm_api_error"
    assert read[3][1] == {
        "message_type": "error_message",
        "run_id": RUN,
        "error_type": "llm_rate_limit",
        "message": "Slow.",
        "detail": "said so",
        "seq_id": 4,
    }
    assert read[-1][1] == "[DONE]"


def test_a_mistake_of_ours_half_way_still_ends_the_stream() -> None:
    def break_down(emit: Emit) -> None:
        emit(RunStarted(RUN))
        raise ZeroDivisionError

    read = frames(stream(break_down))

    assert (read[-2][0], read[-2][1]["error_type"]) == ("error", "internal_error")
    assert read[-1][1] == "[DONE]"


def test_silence_is_filled_with_pings_that_are_no_events_of_the_run() -> None:
    proceed = threading.Event()

    def slow(emit: Emit) -> None:
        emit(RunStarted(RUN))
        proceed.wait(5)
        emit(MessageCommitted(message()))
        emit(RunFinished(run()))

    response = stream(slow, Timing(head_after=5, beat_every=0.02, end_after=30))
    pings = [json.loads(next(response.body).removeprefix(b"data: ")) for _ in range(3)]
    proceed.set()
    others = [data for _, data in frames(response)[:-1] if data["message_type"] != "ping"]

    assert [(each["message_type"], each["seq_id"]) for each in pings] == [("ping", 1)] * 3
    assert [each["seq_id"] for each in others] == [2, 3, 4]


def test_a_stream_that_has_to_end_says_that_its_run_goes_on() -> None:
    proceed = threading.Event()

    def endless(emit: Emit) -> None:
        emit(RunStarted(RUN))
        proceed.wait(5)
        emit(RunFinished(run()))

    body = stream(endless, Timing(head_after=5, beat_every=1, end_after=0.05)).body
    text = b""
    for chunk in body:
        text += chunk
        if b"[DONE]" in chunk:
            proceed.set()

    assert b'"error_type":"still_running"' in text
    assert text.endswith(b"data: [DONE]\n\n")


def test_a_client_that_leaves_does_not_end_the_turn() -> None:
    released, ended = threading.Event(), threading.Event()

    def slow(emit: Emit) -> None:
        emit(RunStarted(RUN))
        released.wait(5)
        emit(RunFinished(run()))
        ended.set()

    body = stream(slow).body
    first = next(body)
    released.set()
    body.close()  # type: ignore[attr-defined]

    assert b'"message_type":"ping"' in first
    assert ended.is_set()


def test_the_first_event_waits_for_nothing_but_the_run() -> None:
    released = threading.Event()

    def slow(emit: Emit) -> None:
        emit(RunStarted(RUN))
        released.wait(5)
        emit(RunFinished(run()))

    body = stream(slow).body
    first = next(body)
    released.set()

    assert RUN.encode() in first
    assert b"[DONE]" in b"".join(body)
