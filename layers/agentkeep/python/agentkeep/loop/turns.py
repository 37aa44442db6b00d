"""The door to the loop: a message in, events out."""

from collections.abc import Callable
from contextlib import suppress

from agentkeep.errors import NotFoundError
from agentkeep.loop import closing, driver
from agentkeep.loop.accept import Held, accept, see, take_up
from agentkeep.loop.events import Event, RunStarted
from agentkeep.loop.following import follow
from agentkeep.loop.request import TurnRequest
from agentkeep.loop.turn import Turn, load
from agentkeep.store import runs


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


def resume_interrupted() -> int:
    """Goes on with the tenant's runs whose driver is dead; gives their number. One machine does this when it starts."""
    resumed = 0
    for run_id in runs.active_run_ids():
        with suppress(NotFoundError):
            run = runs.get(run_id)
            taken = take_up(see(run.agent_id, run.conversation), run)
            if taken is not None:
                driver.drive(_load(taken), None, _nobody_listens)
                resumed += 1
    return resumed


def _nobody_listens(event: Event) -> None:
    """Where the events of a run go that has no caller; its messages are in the history."""
