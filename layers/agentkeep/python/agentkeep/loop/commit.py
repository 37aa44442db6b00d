"""Commits of a turn: one transaction each, conditional on the fence, settled when the answer to it got lost.

A commit does not ask whether the agent is still there. Deleting an agent moves the fence of its default conversation,
which ends a turn there; a turn of a named conversation comes to its end, in a history that nobody reaches any more.
A condition check on the agent's item would take no round trip, but transactions that touch one item conflict, checks
included (DynamoDB developer guide, "Transaction conflict handling"): the conversations of an agent, which share no item
that each turn writes, would make one another fail. An effect that does change the agent finds it gone and stops.
"""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
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
from agentkeep.tools.registry import BUILTIN

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
            "ttft_ns": elapsed_ns(turn.run, now) if turn.run.ttft_ns is None else turn.run.ttft_ns,
            "tools_used": list(dict.fromkeys([*turn.run.tools_used, *_tool_ids(placed)])),
            "request": {**turn.run.request, "inputs": []},
            **(finished_fields(turn.run, now) if stop else {}),
        }
    )
    state = replace(turn.state, next_seq=turn.state.next_seq + len(placed), last_message_at=now)
    if stop:
        state = replace(state, last_run_completion=now)
    return replace(turn, state=state, run=run)


def finished_fields(run: Run, now: datetime) -> dict[str, object]:
    """What a run records when it ends."""
    return {"completed_at": now, "total_duration_ns": elapsed_ns(run, now)}


def elapsed_ns(run: Run, now: datetime) -> int:
    """How long ago a run was accepted, to the microsecond."""
    return (now - run.created_at) // timedelta(microseconds=1) * 1000


def _tool_ids(messages: Sequence[Message]) -> Iterator[str]:
    for call in (call for message in messages for call in message.tool_calls):
        if tool := BUILTIN.get(call.name):
            yield tool.id


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
