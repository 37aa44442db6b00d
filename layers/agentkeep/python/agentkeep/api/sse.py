"""A turn as server-sent events: whole messages as they are committed, with signs of life between them.

Every frame carries `run_id` and `seq_id`. The first is a ping, number 1; a ping in a silence repeats the last number,
since it is no event of the run. The end is always told: stop reason, usage, an `error` event if it failed, `[DONE]`.
"""

from collections.abc import Generator, Iterator
from typing import Any, Final

from agentkeep.api.answers import dumps
from agentkeep.api.outcome import Outcome, Show
from agentkeep.api.render import frames
from agentkeep.api.stream import StreamedResponse, Timing, Work, WorkedBody, Worker
from agentkeep.errors import AgentKeepError
from agentkeep.unforeseen import log_unforeseen

_HEADERS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_DONE: Final = b"data: [DONE]\n\n"


def sse(work: Work, show: Show, timing: Timing | None = None) -> StreamedResponse:
    """Runs a turn and streams it. Raises what refuses it before its run starts; the stream tells later failures."""
    timing = timing or Timing()
    worker, outcome = Worker(work), Outcome(show)
    if first := worker.next(by=timing.head_after):
        outcome.add(first)
    if outcome.error is not None and outcome.run_id is None:
        worker.join()
        raise outcome.error
    return StreamedResponse(200, dict(_HEADERS), WorkedBody(worker, _stream(worker, outcome, timing)))


def _stream(worker: Worker, outcome: Outcome, timing: Timing) -> Generator[bytes, None, None]:
    numbered = _Numbered(outcome)
    try:
        yield numbered.new(frames.ping(outcome.run_id))
        while not outcome.over:
            event = worker.next(by=min(worker.age + timing.beat_every, timing.end_after))
            if event is not None:
                for message in outcome.add(event):
                    yield numbered.new(message)
            elif worker.age >= timing.end_after:
                outcome.give_up()
            else:
                yield numbered.same(frames.ping(outcome.run_id))
        yield from _end(outcome, numbered)
    finally:
        worker.join()


def _end(outcome: Outcome, numbered: "_Numbered") -> Iterator[bytes]:
    yield numbered.new(frames.stop_reason(outcome.reason))
    yield numbered.new(frames.usage_statistics(outcome.usage))
    if outcome.error is not None:
        if not isinstance(outcome.error, AgentKeepError):
            log_unforeseen(outcome.error, outcome.run_id or "a turn")
        yield b"event: error\n" + numbered.new(frames.error_message(outcome.error, outcome.run_id))
    yield _DONE


class _Numbered:
    """Frames of one stream, counted from 1."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._last = 0

    def new(self, frame: dict[str, Any]) -> bytes:
        self._last += 1
        return self.same(frame)

    def same(self, frame: dict[str, Any]) -> bytes:
        run_id = frame.get("run_id") or self._outcome.run_id
        return f"data: {dumps(frame | {'run_id': run_id, 'seq_id': self._last})}\n\n".encode()
