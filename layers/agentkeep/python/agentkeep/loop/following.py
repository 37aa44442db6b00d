"""Reading along with a run that another process drives, or that has ended: the same events, from the history."""

import time
from collections.abc import Callable
from typing import Final

from agentkeep.errors import AgentKeepError, ConversationBusyError
from agentkeep.loop.accept import is_orphan
from agentkeep.loop.events import Event, MessageCommitted, RunFinished, RunStarted
from agentkeep.store import conversations, messages, runs
from agentkeep.store.entities import Run

_POLL_SECONDS: Final = 0.25
_RESERVED_SECONDS: Final = 10.0
"""What is kept of an invocation's time for ending the answer."""


class RunFailedError(AgentKeepError):
    """The run that this request started has failed: what its first answer said, said again.

    It has the attributes by which answers know a model's failure, since most are: the status, and `type`, `message` and
    `detail` as the run recorded them.
    """

    code = "RUN_FAILED"

    def __init__(self, run: Run) -> None:
        error = run.error or {}
        super().__init__(str(error.get("message") or f"{run.id} failed."), run_id=run.id)
        self.status = int(error.get("status") or 500)  # type: ignore[misc]
        self.error_type = str(error.get("type") or "internal_error")
        self.detail = str(error.get("detail") or "")
        self.retry_after: float | None = None


class Told:
    """Passes events on, each start and each message once, however often a run is taken up on the way."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._run_id: str | None = None
        self._seq = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            if event.run_id == self._run_id:
                return
            self._run_id = event.run_id
        elif isinstance(event, MessageCommitted):
            if event.message.seq <= self._seq:
                return
            self._seq = event.message.seq
        self._emit(event)


def follow(run: Run, deadline: float | None, emit: Callable[[Event], None]) -> Run | None:
    """Emits the messages of a run as they are committed, until it ends. None once it is over.

    Gives the run back when its holder has died, so that the caller can take it up. Raises ConversationBusyError when
    the run goes on for longer than `deadline` lets this request wait (`time.monotonic()`).
    """
    emitted = (run.first_seq or 0) - 1
    while True:
        run = runs.get(run.id)
        emitted = _emit(run, emitted, emit)
        if run.status not in ("created", "running"):
            emit(RunFinished(run, RunFailedError(run) if run.error else None))
            return None
        if is_orphan(conversations.get(run.conversation), run):
            return run
        if deadline is not None and time.monotonic() > deadline - _RESERVED_SECONDS:
            raise ConversationBusyError(run.id)
        time.sleep(_POLL_SECONDS)


def _emit(run: Run, emitted: int, emit: Callable[[Event], None]) -> int:
    if run.first_seq is None or run.last_seq is None:
        return emitted
    first = max(emitted + 1, run.first_seq)
    for message in messages.between(run.conversation, first, run.last_seq):
        emit(MessageCommitted(message))
    return max(emitted, run.last_seq)
