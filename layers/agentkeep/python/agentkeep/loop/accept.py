"""Accepting a message: it becomes a new run, joins the run it already started, or is refused because another runs."""

import logging
from dataclasses import dataclass
from typing import Final

from agentkeep import clock, ids
from agentkeep.errors import ConversationBusyError, IdempotencyConflictError, NotFoundError
from agentkeep.loop import closing, lease
from agentkeep.loop.request import TurnRequest
from agentkeep.store import agents, conversations, database, keys, runs
from agentkeep.store.bodies import unpack
from agentkeep.store.content import Message
from agentkeep.store.conversations import NewestRun, State
from agentkeep.store.database import ConditionFailedError, StoreUnavailableError, Write
from agentkeep.store.entities import Agent, Run

_log: Final = logging.getLogger(__name__)
_TRIES: Final = 6
_RETRY_WINDOW_MS: Final = 10 * 60 * 1000
MAX_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class Seen:
    """What one read shows before a message is accepted."""

    agent: Agent
    state: State
    system: Message
    claim: runs.Claimed | None


@dataclass(frozen=True)
class Held:
    """The lease is ours: this run is to be driven."""

    agent: Agent
    state: State
    system: Message
    run: Run


@dataclass(frozen=True)
class Started:
    """The request had already started this run, which runs elsewhere or has ended."""

    run: Run


def accept(request: TurnRequest) -> Held | Started:
    """Takes the conversation for a new run, or finds the run that this request started before.

    Raises ConversationBusyError while another run holds it, IdempotencyConflictError when the key came with other
    content, NotFoundError for an unknown agent or conversation.
    """
    for _ in range(_TRIES):
        seen = see(request.agent_id, request.conversation, request.key)
        accepted = _accept(request, seen)
        if accepted is not None:
            return accepted
    raise ConversationBusyError(None)


def see(agent_id: str, conversation: str, key: str | None = None) -> Seen:
    """Agent, conversation, system message and idempotency item in one read."""
    wanted: dict[str, tuple[database.TableName, keys.Key]] = {
        "agent": ("entities", keys.entity("agent", agent_id)),
        "conversation": ("entities", keys.entity("conversation", conversation)),
        "system": ("messages", keys.message(conversation, 0)),
    }
    if key:
        wanted["claim"] = ("entities", keys.idempotency(conversation, key))
    found = database.batch_get(wanted.values())
    agent = agents.from_item(found.get(wanted["agent"]), agent_id)
    state = conversations.from_item(found.get(wanted["conversation"]), conversation)
    if state.conversation.agent_id != agent_id:
        raise NotFoundError("Conversation", conversation)
    system = unpack(found[wanted["system"]], Message)
    return Seen(agent, state, system, runs.claimed(found.get(wanted["claim"])) if key else None)


def _accept(request: TurnRequest, seen: Seen) -> Held | Started | None:
    """One try; None when the store changed in between and has to be read again."""
    earlier = _earlier_run(request, seen)
    if earlier is not None:
        return _join(seen, earlier)
    if lease.is_held(seen.state):
        raise ConversationBusyError(seen.state.run_id)
    if seen.state.run_id:
        close_dead(seen.state, seen.state.run_id)
        return None
    return _take(request, seen)


def _earlier_run(request: TurnRequest, seen: Seen) -> Run | None:
    """The run that this very request started; one that failed before it committed anything does not count."""
    if seen.claim is not None:
        if seen.claim.digest != request.digest:
            raise IdempotencyConflictError(str(request.key).partition(":")[2])
        return _counting(runs.get(seen.claim.run_id))
    newest = seen.state.newest
    if not request.retried or newest is None or newest.digest != request.digest:
        return None
    recent = clock.epoch_ms() - newest.started_ms <= _RETRY_WINDOW_MS
    return _counting(runs.get(newest.run_id)) if recent else None


def _counting(run: Run) -> Run | None:
    return None if run.status == "failed" and run.first_seq is None else run


def _join(seen: Seen, run: Run) -> Held | Started | None:
    """A run that ended or is alive is only read; one whose holder is dead is taken up again."""
    return take_up(seen, run) if _is_orphan(seen.state, run) else Started(run)


def _is_orphan(state: State, run: Run) -> bool:
    return run.status in ("created", "running") and state.run_id == run.id and not lease.is_held(state)


def take_up(seen: Seen, run: Run) -> Held | None:
    """Takes the lease for a run whose holder is dead; None when there is nothing to take up, or no more.

    A run that was taken up as often as is sensible is closed instead.
    """
    if not _is_orphan(seen.state, run):
        return None
    if run.attempts >= MAX_ATTEMPTS:
        closing.close(seen.state, run, closing.TooManyAttemptsError(run.id, run.attempts))
        return None
    _log.info("Taking up %s again.", run.id)
    resumed = run.model_copy(update={"attempts": run.attempts + 1, "status": "running"})
    return _lease(seen, resumed, [runs.update_write(resumed)])


def _take(request: TurnRequest, seen: Seen) -> Held | None:
    run = Run(
        id=ids.new("run"),
        agent_id=request.agent_id,
        conversation=request.conversation,
        status="running",
        background=request.background,
        request=request.stored(),
        digest=request.digest,
        otid=next((message.otid for message in request.inputs if message.otid), None),
        created_at=clock.now(),
    )
    claims = [runs.claim_write(request.conversation, request.key, run)] if request.key else []
    return _lease(seen, run, [runs.create_write(run), *claims])


def _lease(seen: Seen, run: Run, writes: list[Write]) -> Held | None:
    owner, until = lease.new_owner(), lease.until()
    newest = NewestRun(run_id=run.id, digest=run.digest, started_ms=int(run.created_at.timestamp() * 1000))
    taking = conversations.lease_write(seen.state, owner=owner, until=until, run_id=run.id, newest=newest)
    try:
        database.transact([taking, *writes])
    except ConditionFailedError:
        return None
    except StoreUnavailableError:
        if conversations.get(seen.state.conversation.id).lease_owner != owner:
            raise
    held = conversations.taken(seen.state, owner=owner, until=until, run_id=run.id, newest=newest)
    return Held(seen.agent, held, seen.system, run)


def close_dead(state: State, run_id: str) -> None:
    """Closes the run of a dead holder; that someone else did so first is as good."""
    try:
        closing.close(state, runs.get(run_id), closing.InterruptedError(run_id))
    except ConditionFailedError:
        _log.info("%s was closed by another request.", run_id)
