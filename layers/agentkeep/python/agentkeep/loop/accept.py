"""Accepting a message: it becomes a new run, joins the run it already started, or is refused because another runs."""

import logging
from collections.abc import Mapping
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
from agentkeep.store.database import ConditionFailedError, Item, StoreUnavailableError, TableName, Write
from agentkeep.store.entities import Agent, Run
from agentkeep.store.keys import Key

_log: Final = logging.getLogger(__name__)
_TRIES: Final = 6
_RETRY_WINDOW_MS: Final = 10 * 60 * 1000
MAX_ATTEMPTS: Final = 3

Place = tuple[TableName, Key]


@dataclass(frozen=True)
class Seen:
    """An agent and one of its conversations at about one moment, the system message as it is stored."""

    agent: Agent
    state: State
    system: Message


@dataclass(frozen=True)
class Held:
    """The lease is ours: this run is to be driven."""

    agent: Agent
    state: State
    run: Run


@dataclass(frozen=True)
class Started:
    """The request had already started this run, which runs elsewhere or has ended."""

    run: Run


def see(agent_id: str, conversation: str) -> Seen:
    """Agent, conversation and system message in one read. Raises NotFoundError."""
    system: Place = ("messages", keys.message(conversation, 0))
    agent, state, found = _read(agent_id, conversation, system)
    return Seen(agent, state, unpack(found[system], Message))


def _read(agent_id: str, conversation: str, *further: Place) -> tuple[Agent, State, Mapping[Place, Item]]:
    of_agent: Place = ("entities", keys.entity("agent", agent_id))
    of_conversation: Place = ("entities", keys.entity("conversation", conversation))
    found = database.batch_get([of_agent, of_conversation, *further])
    agent = agents.from_item(found.get(of_agent), agent_id)
    state = conversations.from_item(found.get(of_conversation), conversation)
    if state.conversation.agent_id != agent_id:
        raise NotFoundError("Conversation", conversation)
    return agent, state, found


def accept(request: TurnRequest) -> Held | Started:
    """Takes the conversation for a new run, or finds the run that this request started before.

    Raises ConversationBusyError while another run holds it, IdempotencyConflictError when the key came with other
    content, NotFoundError for an unknown agent or conversation.
    """
    claim: list[Place] = []
    if request.key:
        claim.append(("entities", keys.idempotency(request.conversation, request.key)))
    for _ in range(_TRIES):
        agent, state, found = _read(request.agent_id, request.conversation, *claim)
        claimed = next((runs.claimed(found.get(place)) for place in claim), None)
        accepted = _accept(request, agent, state, claimed)
        if accepted is not None:
            return accepted
    raise ConversationBusyError(state.run_id)


def _accept(request: TurnRequest, agent: Agent, state: State, claim: runs.Claimed | None) -> Held | Started | None:
    """One try; None when the store changed in between and has to be read again."""
    earlier = _earlier_run(request, state, claim)
    if earlier is not None:
        return take_up(agent, state, earlier) if is_orphan(state, earlier) else Started(earlier)
    if lease.is_held(state):
        return Started(_own_run(request, state))
    if state.run_id:
        close_dead(state, state.run_id)
        return None
    return _take(request, agent, state)


def _earlier_run(request: TurnRequest, state: State, claim: runs.Claimed | None) -> Run | None:
    """The run that this very request started; one that failed before it committed anything does not count."""
    if claim is not None:
        if claim.digest != request.digest:
            raise IdempotencyConflictError(str(request.key).partition(":")[2])
        return _counting(runs.get(claim.run_id))
    newest = state.newest
    if not request.retried or newest is None or newest.digest != request.digest:
        return None
    recent = clock.epoch_ms() - newest.started_ms <= _RETRY_WINDOW_MS
    return _counting(runs.get(newest.run_id)) if recent else None


def _counting(run: Run) -> Run | None:
    return None if run.status == "failed" and run.first_seq is None else run


def _own_run(request: TurnRequest, state: State) -> Run:
    """The run that holds the conversation, if it is this request's: a batch may read the claim before it is written.

    Raises ConversationBusyError when it is another's.
    """
    if request.key and state.run_id:
        run = runs.get(state.run_id)
        if closing.claimed_key(run) == request.key and run.digest == request.digest:
            return run
    raise ConversationBusyError(state.run_id)


def is_orphan(state: State, run: Run) -> bool:
    """Whether a run goes on in the store only: its holder is dead, nobody has taken it up or closed it."""
    return run.status in ("created", "running") and state.run_id == run.id and not lease.is_held(state)


def take_up(agent: Agent, state: State, run: Run) -> Held | Started | None:
    """Takes the lease for an orphan; None when others were faster.

    A run that was taken up as often as is sensible is closed instead, and given back as it ended.
    """
    if run.attempts >= MAX_ATTEMPTS:
        return _give_up(state, run)
    _log.info("Taking up %s again.", run.id)
    resumed = run.model_copy(update={"attempts": run.attempts + 1, "status": "running"})
    return _lease(agent, state, resumed, [runs.update_write(resumed)])


def _give_up(state: State, run: Run) -> Started | None:
    try:
        closing.close(state, run, closing.TooManyAttemptsError(run.id, run.attempts))
    except ConditionFailedError:
        return None
    return Started(runs.get(run.id))


def _take(request: TurnRequest, agent: Agent, state: State) -> Held | None:
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
    return _lease(agent, state, run, [runs.create_write(run), *claims])


def _lease(agent: Agent, state: State, run: Run, writes: list[Write]) -> Held | None:
    owner, until = lease.new_owner(), lease.until()
    newest = NewestRun(run_id=run.id, digest=run.digest, started_ms=int(run.created_at.timestamp() * 1000))
    taking = conversations.lease_write(state, owner=owner, until=until, run_id=run.id, newest=newest)
    try:
        database.transact([taking, *writes])
    except ConditionFailedError:
        return None
    except StoreUnavailableError:
        if conversations.get(state.conversation.id).lease_owner != owner:
            raise
    return Held(agent, conversations.taken(state, owner=owner, until=until, run_id=run.id, newest=newest), run)


def close_dead(state: State, run_id: str) -> None:
    """Closes the run of a dead holder; that someone else did so first is as good."""
    try:
        closing.close(state, runs.get(run_id), closing.RunInterruptedError(run_id))
    except ConditionFailedError:
        _log.info("%s was closed by another request.", run_id)
