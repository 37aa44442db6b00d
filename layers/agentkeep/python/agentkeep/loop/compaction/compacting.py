"""Compaction within a turn: when it is due, what it commits, and how the turn stands afterwards."""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from agentkeep import clock, ids
from agentkeep.loop import lease
from agentkeep.loop.compaction import prompts
from agentkeep.loop.compaction.cutting import choose
from agentkeep.loop.compaction.settings import CompactionSettings, settings_of
from agentkeep.loop.compaction.summarizing import Summary, summarize
from agentkeep.loop.events import CompactionStarted, Event, MessageCommitted
from agentkeep.loop.lease import LeaseLostError
from agentkeep.loop.turn import Turn, compiled
from agentkeep.memory.recall import SEARCH_TOOL
from agentkeep.models import ContextWindowExceededError, ModelError, estimate_tokens
from agentkeep.store import conversations, database, messages, runs
from agentkeep.store.content import CompactionStats, Message, TextPart, Trigger
from agentkeep.store.conversations import State
from agentkeep.store.database import ConditionFailedError, StoreUnavailableError, Write
from agentkeep.store.entities import StopReason, Window
from agentkeep.store.windows import growing

_log: Final = logging.getLogger(__name__)
_TRIES: Final = 3
_WORTHWHILE_SHARE: Final = 20
"""Less than one part in so many of the context is not worth a summary: what fills the window is not old messages."""
_ASKED_SHARE: Final = 4
"""The input of a running turn stays in the window while it takes at most one part in so many of its room."""
Emit = Callable[[Event], None]


class SystemPromptTooLargeError(ModelError):
    """The system prompt leaves no room for messages; no model is asked until the agent is changed."""

    status = 400
    code = "context_window_overflow_in_system_prompt"
    stop_reason: ClassVar[StopReason] = "context_window_overflow_in_system_prompt"

    def __init__(self, tokens: int, window: int) -> None:
        super().__init__(prompts.SYSTEM_TOO_LARGE.format(tokens=tokens, window=window))


@dataclass(frozen=True)
class Plan:
    """What goes into the summary, the earlier one first, and what stays; the input of a running turn may do both."""

    gone: Sequence[Message]
    kept: Sequence[Message]

    @property
    def leaving(self) -> Sequence[Message]:
        """The messages that will not be seen any more."""
        staying = {message.id for message in self.kept}
        return [message for message in _talk(self.gone) if message.id not in staying]


def before_step(turn: Turn, seconds: float, emit: Emit) -> None:
    """Compacts when the newest prompt, as its provider counted it, was larger than the window; at most once a step.

    What the model wrote, reasoning or not, is not in that count. Raises SystemPromptTooLargeError.
    """
    tokens = turn.state.window.tokens
    if tokens is None or tokens <= turn.context_window:
        return
    _refuse_large_system(turn)
    settings = settings_of(turn.agent.compaction_settings)
    plan = planned(turn, settings)
    if _is_worthwhile(turn, plan, turn.context_window):
        compact(turn, plan, settings, "post_step_context_check", seconds, emit)


def after_overflow(turn: Turn, overflow: ContextWindowExceededError, seconds: float, emit: Emit) -> None:
    """Compacts so that the refused call can be made once more.

    Raises SystemPromptTooLargeError, or the overflow itself where older messages are not what it comes from.
    """
    _refuse_large_system(turn)
    settings = settings_of(turn.agent.compaction_settings)
    plan = planned(turn, settings)
    if not _is_worthwhile(turn, plan):
        raise overflow
    compact(turn, plan, settings, "context_window_exceeded", seconds, emit)


def _refuse_large_system(turn: Turn) -> None:
    """Raises SystemPromptTooLargeError; the end of the run keeps the size, so that the next one asks no model."""
    tokens = estimate_tokens(turn.context[:1])
    if tokens < turn.context_window:
        return
    window = turn.state.window.model_copy(update={"tokens": estimate_tokens(turn.context)})
    turn.state = replace(turn.state, window=window)
    raise SystemPromptTooLargeError(tokens, turn.context_window)


def _is_worthwhile(turn: Turn, plan: Plan, of: int = 0) -> bool:
    """Whether the messages that may go are what makes the context too large, rather than all the rest of it."""
    fixed = _fixed_tokens(turn)
    whole = max(of, fixed + estimate_tokens(turn.window))
    return fixed < turn.context_window and estimate_tokens(plan.leaving) * _WORTHWHILE_SHARE >= whole


def _fixed_tokens(turn: Turn) -> int:
    """What no compaction makes smaller: system prompt, tools, the input that waits for its answer."""
    tools = json.dumps([tool.model_dump(mode="json") for tool in turn.tools])
    return estimate_tokens([turn.context[0], *turn.pending]) + estimate_tokens(tools)


def planned(turn: Turn, settings: CompactionSettings) -> Plan:
    """Cuts the window; nothing goes when there is no message that may.

    What the running turn was asked stays word for word if it is short, whatever lies between it and the cut.
    """
    summaries = [message for message in turn.window if message.compaction]
    talk = _talk(turn.window)
    room = turn.context_window * 4 // 5 - _fixed_tokens(turn)
    keep = int(settings.kept_share * max(0, min(estimate_tokens(talk), room)))
    cut = choose(talk, keep_tokens=keep, running=turn.is_running)
    asked = [each for each in talk[:cut] if each.run_id == turn.run.id and each.role in ("user", "system")]
    if estimate_tokens(asked) > max(room, 0) // _ASKED_SHARE:
        asked = []
    return Plan([*summaries, *talk[:cut]], [*asked, *talk[cut:]]) if cut > len(asked) else Plan((), turn.window)


def _talk(messages: Sequence[Message]) -> list[Message]:
    """The messages without summaries."""
    return [message for message in messages if not message.compaction]


def compact(
    turn: Turn,
    plan: Plan,
    settings: CompactionSettings,
    trigger: Trigger,
    seconds: float,
    emit: Emit,
    *,
    end: bool = False,
) -> Message:
    """Has the summary written and commits it with the new window; `turn` then shows both. `end` releases the lease.

    Raises LeaseLostError when another holder has the conversation, and what `summarize` raises.
    """
    emit(CompactionStarted(turn.run.id, trigger, turn.state.window.tokens, turn.context_window))
    summary = summarize(turn, plan.gone, settings, seconds)
    system = compiled(turn.agent, turn.blocks, turn.state, turn.system, clock.now())
    message = _summary_message(turn, plan, summary, trigger, system)
    _commit(turn, plan, message, system, summary, until=0 if end else lease.until())
    emit(MessageCommitted(message))
    return message


def _summary_message(turn: Turn, plan: Plan, summary: Summary, trigger: Trigger, system: Message) -> Message:
    searchable = any(tool.name == SEARCH_TOOL for tool in turn.tools)
    introduction = prompts.INTRODUCTION.format(count=len(plan.leaving), search=prompts.SEARCH if searchable else "")
    before = [turn.system, *turn.window, *turn.pending]
    content: list[Any] = [TextPart(text=introduction), TextPart(text=summary.text)]
    stats = CompactionStats(
        trigger=trigger,
        context_tokens_before=turn.state.window.tokens or estimate_tokens(before),
        context_tokens_after=None,
        context_window=turn.context_window,
        messages_count_before=1 + len(turn.window),
        messages_count_after=2 + len(plan.kept),
        note=summary.note,
    )
    message = Message(
        id=ids.new("message"),
        agent_id=turn.agent.id,
        conversation=turn.state.conversation.id,
        role="user",
        seq=turn.state.next_seq,
        content=content,
        run_id=turn.run.id if turn.run.first_seq is not None else None,
        model=summary.model,
        compaction=stats,
        created_at=clock.now(),
    )
    stats.context_tokens_after = estimate_tokens([system, message, *plan.kept, *turn.pending])
    return message


def _commit(turn: Turn, plan: Plan, message: Message, system: Message, summary: Summary, until: int) -> None:
    places = [(each.conversation, each.seq) for each in plan.kept]
    segments = growing(places, message.conversation, message.seq)
    window = Window(segments=segments, compiled_from=turn.print_now, summary=message.seq)
    after = replace(turn.state, next_seq=message.seq + 1, window=window)
    run = turn.run.model_copy(update={"last_seq": message.seq}) if message.run_id else turn.run
    writes = [
        conversations.turn_write(turn.state, after, until=until),
        *messages.put_writes(message),
        messages.replace_write(system),
        *([runs.update_write(run)] if message.run_id else []),
        *([runs.compaction_usage_write(message, summary.usage)] if summary.usage else []),
    ]
    _transact(turn.state, turn.run.id, message, writes)
    turn.state, turn.run, turn.system, turn.recompiled = after, run, system, False
    turn.window = [message, *plan.kept]


def _transact(state: State, run_id: str, message: Message, writes: Sequence[Write]) -> None:
    """The one transaction; an unanswered one is settled by looking for the summary, which no other holder writes."""
    token = hashlib.sha256(f"{run_id}/{message.id}/{state.fence}".encode()).hexdigest()[:32]
    for _ in range(_TRIES):
        try:
            return database.transact(writes, token)
        except ConditionFailedError as failure:
            raise LeaseLostError(run_id) from failure
        except StoreUnavailableError:
            if messages.exists(message.id):
                return None
            _log.warning(
                "The compaction of %s was not answered and did not happen; trying again.", message.conversation
            )
    raise StoreUnavailableError("compaction")
