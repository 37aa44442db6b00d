"""The door to the loop: a message in, events out."""

from collections.abc import Callable
from contextlib import suppress

from agentkeep.errors import NotFoundError
from agentkeep.loop import closing, driver, lease
from agentkeep.loop.accept import Held, accept, close_dead
from agentkeep.loop.events import Event, RunStarted
from agentkeep.loop.following import follow
from agentkeep.loop.request import TurnRequest
from agentkeep.loop.turn import Turn, load
from agentkeep.store import conversations, runs


def run(request: TurnRequest, emit: Callable[[Event], None]) -> None:
    """Runs one turn and emits what happens: RunStarted, a MessageCommitted for each message, RunFinished.

    A request that was made before is not run again: its run is read along or, if its driver died, gone on with.
    Raises what refuses the request (busy, unknown, conflicting key); failures of the run itself are in RunFinished.
    """
    while True:
        accepted = accept(request)
        if isinstance(accepted, Held):
            emit(RunStarted(accepted.run.id))
            driver.drive(_load(accepted), request.deadline, emit)
            return
        emit(RunStarted(accepted.run.id))
        if follow(accepted.run, emit) is None:
            return


def _load(held: Held) -> Turn:
    try:
        return load(held.agent, held.state, held.run, held.system)
    except Exception:  # whatever broke, the conversation is left free
        closing.close(held.state, held.run, closing.UnforeseenError(held.run.id))
        raise


def close_interrupted() -> int:
    """Closes the tenant's runs whose driver is dead; gives their number. One machine does this when it starts."""
    closed = 0
    for run_id in runs.active_run_ids():
        with suppress(NotFoundError):
            state = conversations.get(runs.get(run_id).conversation)
            if state.run_id == run_id and not lease.is_held(state):
                close_dead(state, run_id)
                closed += 1
    return closed
