"""The door to the loop: a message in, events out."""

from collections.abc import Callable

from agentkeep.errors import NotFoundError
from agentkeep.loop import closing, driver, lease
from agentkeep.loop.accept import Held, accept, is_orphan, see, take_up
from agentkeep.loop.events import Event, MessageCommitted, RunStarted
from agentkeep.loop.following import Told, follow
from agentkeep.loop.request import TurnRequest
from agentkeep.loop.turn import Turn, load
from agentkeep.store import runs
from agentkeep.store.database import StoreUnavailableError
from agentkeep.store.entities import Run
from agentkeep.unforeseen import log_unforeseen


def run(request: TurnRequest, emit: Callable[[Event], None]) -> None:
    """Runs one turn and emits what happens: RunStarted, a MessageCommitted for each message, RunFinished.

    A request that was made before is not run again: its run is read along or, if its driver died, gone on with; what
    that run has said so far is emitted too. Raises what refuses the request (busy, unknown, conflicting key) and what
    keeps it from its end (the store is down, the lease was lost); failures of the run itself are in RunFinished.
    """
    told = Told(emit)
    while True:
        accepted = accept(request)
        told(RunStarted(accepted.run.id))
        if isinstance(accepted, Held):
            _drive(accepted, request.deadline, told)
            return
        if follow(accepted.run, request.deadline, told) is None:
            return


def _drive(held: Held, deadline: float | None, emit: Callable[[Event], None]) -> None:
    turn = _load(held)
    for message in turn.committed:
        emit(MessageCommitted(message))
    driver.drive(turn, deadline, emit)


def _load(held: Held) -> Turn:
    try:
        return load(held.agent, held.state, held.run)
    except StoreUnavailableError:
        lease.let_go(held.state)
        raise
    except Exception:  # whatever broke, the conversation is left free
        closing.close(held.state, held.run, closing.UnforeseenError(held.run.id))
        raise


def resume_interrupted() -> int:
    """Goes on with the tenant's runs whose driver is dead; gives their number. One machine does this when it starts."""
    return sum(1 for run_id in runs.active_run_ids() if _resume(runs.get(run_id)))


def _resume(interrupted: Run) -> bool:
    try:
        seen = see(interrupted.agent_id, interrupted.conversation)
        if not is_orphan(seen.state, interrupted):
            return False
        taken = take_up(seen.agent, seen.state, interrupted)
        if isinstance(taken, Held):
            _drive(taken, None, _nobody_listens)
        return isinstance(taken, Held)
    except NotFoundError:
        closing.cancel(interrupted)
    except Exception as error:  # the border of one run: the others are gone on with
        log_unforeseen(error, f"going on with {interrupted.id}")
    return False


def _nobody_listens(event: Event) -> None:
    """Where the events of a run go that has no caller; its messages are in the history."""
