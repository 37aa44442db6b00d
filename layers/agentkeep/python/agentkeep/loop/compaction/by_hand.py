"""Compacting a conversation because its user asks for it: under its lease, like a turn, and without a run."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from agentkeep import clock, ids
from agentkeep.errors import ConversationBusyError
from agentkeep.loop import lease
from agentkeep.loop.accept import Seen
from agentkeep.loop.compaction.compacting import compact, planned
from agentkeep.loop.compaction.settings import CompactionSettings, settings_of
from agentkeep.loop.compaction.transcript import summary_of
from agentkeep.loop.events import Event, WindowCompacted
from agentkeep.loop.lease import LeaseLostError, Renewal
from agentkeep.loop.turn import load
from agentkeep.store import conversations, database
from agentkeep.store.conversations import State
from agentkeep.store.database import ConditionFailedError, StoreUnavailableError
from agentkeep.store.entities import Run

_log: Final = logging.getLogger(__name__)
_RESERVED_SECONDS: Final = 30.0


def compact_window(
    seen: Seen, settings: Mapping[str, Any] | None, deadline: float, emit: Callable[[Event], None]
) -> None:
    """Compacts an idle conversation and emits WindowCompacted at the end; what is short already stays as it is.

    `settings` are the request's, before the agent's own. `deadline` is a `time.monotonic()`. Raises
    ConversationBusyError when a turn or another compaction holds the conversation.
    """
    state = _held(seen.state)
    try:
        with Renewal(state.conversation.id, state.fence):
            _compact(replace(seen, state=state), settings_of(seen.agent.compaction_settings, settings), deadline, emit)
    except LeaseLostError:
        conversations.get(state.conversation.id)
        raise ConversationBusyError(None) from None
    except Exception:  # whatever broke, the conversation is left free
        _let_go(state)
        raise


def _held(state: State) -> State:
    owner, until = lease.new_owner(), lease.until()
    try:
        database.transact([conversations.hold_write(state, owner=owner, until=until)])
    except ConditionFailedError:
        raise ConversationBusyError(conversations.get(state.conversation.id).run_id) from None
    return replace(state, fence=state.fence + 1, lease_owner=owner, lease_until=until)


def _compact(seen: Seen, settings: CompactionSettings, deadline: float, emit: Callable[[Event], None]) -> None:
    turn = load(seen.agent, seen.state, _no_run(seen))
    plan = planned(turn, settings)
    before = 1 + len(turn.window)
    if not plan.gone:
        database.write(conversations.turn_write(seen.state, seen.state, until=0))
        standing = next((summary_of(message) for message in turn.window if message.compaction), "")
        emit(WindowCompacted(standing, before, before))
        return
    seconds = deadline - time.monotonic() - _RESERVED_SECONDS
    message = compact(turn, plan, settings, "manual", seconds, emit, end=True)
    emit(WindowCompacted(summary_of(message), before, 1 + len(turn.window)))


def _no_run(seen: Seen) -> Run:
    """What a turn is made with. It is never stored: a compaction answers nobody's message."""
    conversation = seen.state.conversation
    return Run(id=ids.new("run"), agent_id=seen.agent.id, conversation=conversation.id, created_at=clock.now())


def _let_go(state: State) -> None:
    try:
        database.write(conversations.turn_write(state, state, until=0))
    except (ConditionFailedError, StoreUnavailableError):
        _log.info("The lease on %s is not ours any more, or has to run out.", state.conversation.id)
