"""Finds threads that an invocation leaves behind. In AWS they would be frozen with the environment, so none may be.

Watching patches `threading.Thread.start` for the whole process: it is for tests and trials.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakKeyDictionary

_lock: Final = threading.Lock()
_watched: Final["WeakKeyDictionary[threading.Thread, list[threading.Thread]]"] = WeakKeyDictionary()
_start: Final = threading.Thread.start


def watch_threads() -> None:
    """From now on, `started_here` knows the threads that are started, by whomever they are started in turn."""
    threading.Thread.start = _watching_start  # type: ignore[method-assign,assignment]


@contextmanager
def started_here() -> Iterator[list[threading.Thread]]:
    """Collects the threads started inside, on this thread or on one of those that it started."""
    started: list[threading.Thread] = []
    with _lock:
        _watched[threading.current_thread()] = started
    try:
        yield started
    finally:
        with _lock:
            del _watched[threading.current_thread()]


def _watching_start(thread: threading.Thread) -> None:
    with _lock:
        started = _watched.get(threading.current_thread())
        if started is not None:
            _watched[thread] = started
            started.append(thread)
    _start(thread)
