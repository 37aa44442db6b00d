"""Threads for handlers: grown when none is idle, kept for the next call, and never waited for at exit."""

import queue
import threading
from collections.abc import Callable

Task = Callable[[], None]


class Workers:
    """Runs tasks at once, each on a thread of its own while it lasts. A task must not raise.

    Not a ThreadPoolExecutor: the interpreter joins those at exit, and a turn that waits for a model would hold up
    Ctrl-C for minutes. There is no upper bound, because a turn at work must not keep the door from answering.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    def submit(self, task: Task) -> None:
        """Starts `task` on an idle thread, or on a new one."""
        if not self._idle.acquire(blocking=False):
            self._started += 1
            threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()
        self._tasks.put(task)

    def _work(self) -> None:
        while True:
            self._tasks.get()()
            self._idle.release()
