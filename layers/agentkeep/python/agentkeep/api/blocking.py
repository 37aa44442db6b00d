"""One JSON answer for a whole turn, however long it takes.

Letta's clients read for 60 s and API Gateway for 29 s before they give up on a silent answer. So the head is held until
the outcome is known, but not for long: then it is 200, white space keeps the connection, and the JSON follows.
"""

from collections.abc import Generator
from typing import Final

from agentkeep.api.answers import dumps
from agentkeep.api.outcome import Outcome, Show
from agentkeep.api.stream import StreamedResponse, Timing, Work, WorkedBody, Worker
from agentkeep.errors import AgentKeepError
from agentkeep.unforeseen import log_unforeseen

_HEADERS: Final = {"Content-Type": "application/json"}
_BEAT: Final = b" "


def blocking(work: Work, show: Show, timing: Timing | None = None) -> StreamedResponse:
    """Runs a turn and answers with its messages, stop reason and usage.

    Raises what a turn fails with within `timing.head_after`. One that fails later is a 200 with the messages so far and
    `error`; so is one that is still running after `timing.end_after`.
    """
    timing = timing or Timing()
    worker, outcome = Worker(work), Outcome(show)
    while not outcome.over and (event := worker.next(by=timing.head_after)):
        outcome.add(event)
    if not outcome.over:
        return StreamedResponse(200, dict(_HEADERS), WorkedBody(worker, _beating(worker, outcome, timing)))
    worker.join()
    if outcome.error is not None:
        raise outcome.error
    return StreamedResponse(200, dict(_HEADERS), iter((dumps(outcome.body()).encode(),)))


def _beating(worker: Worker, outcome: Outcome, timing: Timing) -> Generator[bytes, None, None]:
    try:
        yield _BEAT
        next_beat = worker.age + timing.beat_every
        while not outcome.over:
            if event := worker.next(by=min(next_beat, timing.end_after)):
                outcome.add(event)
            elif worker.age >= timing.end_after:
                outcome.give_up()
            if not outcome.over and worker.age >= next_beat:
                yield _BEAT
                next_beat = worker.age + timing.beat_every
        _log(outcome)
        yield dumps(outcome.body()).encode()
    finally:
        worker.join()


def _log(outcome: Outcome) -> None:
    if outcome.error is not None and not isinstance(outcome.error, AgentKeepError):
        log_unforeseen(outcome.error, outcome.run_id or "a turn")
