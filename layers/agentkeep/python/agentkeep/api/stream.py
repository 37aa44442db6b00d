"""Answers that are sent as they are made, and the worker that makes what goes into them.

A turn runs on a thread of its own, which puts events on a queue, while the invocation sends what it reads there. The
thread is joined before the body ends, whether it was read to its end or closed early: no work outlives an invocation.
"""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Final

from agentkeep.loop.events import Event
from agentkeep.settings import HEARTBEAT_AFTER_SECONDS

Emit = Callable[[Event], None]
Work = Callable[[Emit], None]
"""A turn: it calls `emit` with what happens, and raises what ends it before or instead of a RunFinished."""

BODY_SECONDS: Final = 880.0
"""How long a body stays open. API Gateway ends a streamed answer, and Lambda an invocation, after 900 s."""


@dataclass(frozen=True)
class StreamedResponse:
    """An answer whose body is sent piece by piece. The receiver reads the body to its end or closes it."""

    status_code: int
    headers: dict[str, str]
    body: Iterator[bytes]


@dataclass(frozen=True)
class Timing:
    """When a silent answer shows that it lives, in seconds.

    `head_after`: how long a blocking answer may hold its status back. `beat_every`: the longest silence afterwards.
    `end_after`: when the body ends, finished or not.
    """

    head_after: float = field(default_factory=HEARTBEAT_AFTER_SECONDS.read)
    beat_every: float = 10.0
    end_after: float = BODY_SECONDS


@dataclass(frozen=True)
class Ended:
    """The turn is over: by itself, or by an error."""

    error: Exception | None


class Worker:
    """Runs one turn on a thread, in a copy of the caller's context, and hands out its events."""

    def __init__(self, work: Work) -> None:
        self._events: queue.SimpleQueue[Event | Ended] = queue.SimpleQueue()
        self._started = time.monotonic()
        self._thread = threading.Thread(target=copy_context().run, args=(self._run, work), name="turn", daemon=True)
        self._thread.start()

    def _run(self, work: Work) -> None:
        ended = Ended(RuntimeError("The thread of the turn was ended from within."))
        try:
            work(self._events.put)
            ended = Ended(None)
        except Exception as error:  # the border of the thread: the reader answers or logs it
            ended = Ended(error)
        finally:
            self._events.put(ended)

    @property
    def age(self) -> float:
        """Seconds since the turn began."""
        return time.monotonic() - self._started

    def next(self, by: float) -> Event | Ended | None:
        """What happens next; None when nothing does before the turn is `by` seconds old."""
        try:
            return self._events.get(timeout=max(by - self.age, 0))
        except queue.Empty:
            return None

    def join(self) -> None:
        """Waits for the turn to end, however it ends."""
        self._thread.join()


class WorkedBody:
    """Pieces made of a worker's events. Read to its end or closed, even before it was begun, it joins the worker.

    A generator alone would not: closing one that was not begun runs nothing of it.
    """

    def __init__(self, worker: Worker, pieces: Generator[bytes, None, None]) -> None:
        self._worker = worker
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        """Ends the body early; the work behind it goes on to its end first."""
        self._pieces.close()
        self._worker.join()


class ContextBody:
    """A body made in the context of its request, on whichever thread it is read."""

    def __init__(self, body: Iterator[bytes], context: Context) -> None:
        self._body = body
        self._context = context

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return self._context.run(next, self._body)

    def close(self) -> None:
        """Ends the body early; the work behind it goes on to its end first."""
        close = getattr(self._body, "close", None)
        if close is not None:
            self._context.run(close)
