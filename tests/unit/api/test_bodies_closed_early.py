"""A client that leaves before or while its answer is read: the turn goes on to its end, and no thread outlives it."""

import threading
import time
from collections.abc import Callable

import pytest

from agentkeep.api.blocking import blocking
from agentkeep.api.sse import sse
from agentkeep.api.stream import Emit, StreamedResponse, Timing, Work
from agentkeep.loop.events import RunStarted

SOON = Timing(head_after=0.02, beat_every=0.02)
both = pytest.mark.parametrize("answer", [blocking, sse])


def _answered(answer: Callable[..., StreamedResponse], done: list[str]) -> StreamedResponse:
    def work(emit: Emit) -> None:
        emit(RunStarted("run-1"))
        time.sleep(0.15)
        done.append("the turn")

    prepared: Work = work
    return answer(prepared, lambda message: [], SOON)


@both
@pytest.mark.parametrize("read", [0, 1, 2])
def test_closing_a_body_waits_for_the_turn(answer: Callable[..., StreamedResponse], read: int) -> None:
    done: list[str] = []
    before = set(threading.enumerate())
    response = _answered(answer, done)
    for _ in range(read):
        next(response.body)

    response.body.close()  # type: ignore[attr-defined]

    assert done == ["the turn"]
    assert set(threading.enumerate()) <= before
