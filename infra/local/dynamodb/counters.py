"""Exact counts of what callers asked of the engine, for tests that hold a turn to its number of round trips."""

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Counts:
    """Calls by operation name; items read: asked for, or evaluated by a query; items written: put, updated, deleted."""

    calls: dict[str, int] = field(default_factory=dict)
    items_read: int = 0
    items_written: int = 0

    @property
    def total_calls(self) -> int:
        """Round trips of all operations together."""
        return sum(self.calls.values())


class Counters:
    """Counts under a lock; `counts` is a snapshot, `reset` starts again from zero."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._read = 0
        self._written = 0

    def add(self, *, call: str | None = None, read: int = 0, written: int = 0) -> None:
        """Adds one call of an operation, or items."""
        with self._lock:
            if call is not None:
                self._calls[call] += 1
            self._read += read
            self._written += written

    @property
    def counts(self) -> Counts:
        """What was counted since the last reset."""
        with self._lock:
            return Counts(dict(self._calls), self._read, self._written)

    def reset(self) -> Counts:
        """Starts again from zero and returns what was counted until now."""
        with self._lock:
            before = Counts(dict(self._calls), self._read, self._written)
            self._calls.clear()
            self._read = self._written = 0
            return before
