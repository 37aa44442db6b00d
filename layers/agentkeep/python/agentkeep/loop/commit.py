"""Commits of a turn: one transaction each, conditional on the fence, settled when the answer to it got lost."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from agentkeep import clock
from agentkeep.loop import lease
from agentkeep.loop.decisions import status_of
from agentkeep.loop.lease import LeaseLostError
from agentkeep.loop.turn import Turn
from agentkeep.store import conversations, database, messages, runs
from agentkeep.store.content import Message
from agentkeep.store.database import ConditionFailedError, StoreUnavailableError, Write
from agentkeep.store.entities import Run, Step, StopReason

_log: Final = logging.getLogger(__name__)
_TRIES: Final = 3


def commit(
    turn: Turn, step: Step, new: Sequence[Message], effects: Sequence[Write], phase: str, stop: StopReason | None
) -> Step:
    """Writes `new` messages, the step, and the effects of tools, all or none; with `stop` the run ends with it.

    Raises LeaseLostError when another holder has the conversation, ConditionFailedError when only an effect met
    another version (then nothing was written). Afterwards `turn` stands as the store does.
    """
    placed = turn.place(new)
    last = turn.state.next_seq + len(placed) - 1
    done = step.model_copy(update={"first_seq": step.first_seq or turn.state.next_seq, "last_seq": last})
    after = _after(turn, placed, done, stop)
    writes = [
        conversations.turn_write(turn.state, after.state, until=0 if stop else lease.until()),
        runs.update_write(after.run),
        runs.step_write(done),
        *([messages.replace_write(turn.system)] if turn.recompiled else []),
        *(write for message in placed for write in messages.put_writes(message, len(placed))),
        *([runs.usage_write(done)] if step.first_seq is None else []),
        *effects,
    ]
    _transact(turn, done, writes, _token(turn, step, phase), len(writes) - len(effects))
    turn.state, turn.run, turn.recompiled = after.state, after.run, False
    turn.window.extend(placed)
    turn.pending = []
    return done


def _after(turn: Turn, placed: Sequence[Message], step: Step, stop: StopReason | None) -> Turn:
    now = clock.now()
    first_commit = step.number > turn.run.steps
    run = turn.run.model_copy(
        update={
            "status": status_of(stop) if stop else "running",
            "stop_reason": stop,
            "steps": step.number,
            "first_seq": turn.run.first_seq if turn.run.first_seq is not None else turn.state.next_seq,
            "last_seq": step.last_seq,
            "usage": turn.run.usage.plus(step.usage) if first_commit else turn.run.usage,
            "request": {**turn.run.request, "inputs": []},
            **(finished_fields(turn.run, now) if stop else {}),
        }
    )
    state = replace(turn.state, next_seq=turn.state.next_seq + len(placed), last_message_at=now)
    if stop:
        state = replace(state, last_run_completion=now)
    if stop and turn.agent.message_buffer_autoclear:
        state = replace(state, window=state.window.emptied(state.conversation.id, state.next_seq))
    return replace(turn, state=state, run=run)


def finished_fields(run: Run, now: datetime) -> dict[str, object]:
    """What a run records when it ends."""
    elapsed = int((now - run.created_at).total_seconds() * 1000)
    return {"completed_at": now, "total_duration_ns": elapsed * 1_000_000}


def _transact(turn: Turn, step: Step, writes: Sequence[Write], token: str, own: int) -> None:
    for _ in range(_TRIES):
        try:
            database.transact(writes, token)
            return
        except ConditionFailedError as failure:
            if min(failure.failed) < own:
                raise LeaseLostError(turn.run.id) from failure
            raise
        except StoreUnavailableError:
            if _committed(step):
                return
            _log.warning("A commit of %s was not answered and did not happen; trying again.", turn.run.id)
    raise StoreUnavailableError("commit")


def _committed(step: Step) -> bool:
    """Whether the store holds this attempt: no other holder makes a step with this id and this end."""
    found = runs.find_step(step.id)
    return found is not None and found.last_seq == step.last_seq


def _token(turn: Turn, step: Step, phase: str) -> str:
    text = f"{turn.run.id}/{step.id}/{phase}/{turn.state.fence}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
