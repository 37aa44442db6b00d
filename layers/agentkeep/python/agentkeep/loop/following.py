"""Reading along with a run that another process drives, or that has ended: the same events, from the history."""

import time
from collections.abc import Callable
from typing import Final

from agentkeep.errors import AgentKeepError
from agentkeep.loop import lease
from agentkeep.loop.events import Event, MessageCommitted, RunFinished
from agentkeep.store import conversations, messages, runs
from agentkeep.store.entities import Run

_POLL_SECONDS: Final = 0.25


class RunFailedError(AgentKeepError):
    """The run this request started has failed; `status` is the one its first answer had or would have had."""

    code = "RUN_FAILED"

    def __init__(self, run: Run) -> None:
        error = run.error or {}
        super().__init__(str(error.get("message") or f"{run.id} failed."), run_id=run.id)
        self.status = int(error.get("status") or 500)  # type: ignore[misc]


def follow(run: Run, emit: Callable[[Event], None]) -> Run | None:
    """Emits the messages of a run as they are committed, until it ends. None once it is over.

    Gives the run back when its holder has died, so that the caller can take it up.
    """
    emitted = (run.first_seq or 0) - 1
    while True:
        run = runs.get(run.id)
        emitted = _emit(run, emitted, emit)
        if run.status not in ("created", "running"):
            emit(RunFinished(run, RunFailedError(run) if run.status == "failed" else None))
            return None
        state = conversations.get(run.conversation)
        if state.run_id == run.id and not lease.is_held(state):
            return run
        time.sleep(_POLL_SECONDS)


def _emit(run: Run, emitted: int, emit: Callable[[Event], None]) -> int:
    if run.first_seq is None or run.last_seq is None:
        return emitted
    first = max(emitted + 1, run.first_seq)
    for message in messages.between(run.conversation, first, run.last_seq):
        emit(MessageCommitted(message))
    return max(emitted, run.last_seq)
