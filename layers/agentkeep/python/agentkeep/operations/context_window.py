"""The context window from outside a turn: what it holds, resetting and choosing it, compiling the system message."""

from collections.abc import Sequence
from typing import Final

from agentkeep import clock
from agentkeep.api.render.context import ContextParts
from agentkeep.errors import BadRequestError, ConversationBusyError
from agentkeep.loop import lease
from agentkeep.loop.accept import close_dead, see
from agentkeep.loop.turn import compiled, recompiled, tool_schemas
from agentkeep.memory.opening import initial_messages
from agentkeep.memory.render import Facts, core_memory, fingerprint, memory_metadata
from agentkeep.models import estimate_tokens
from agentkeep.operations.opening import placed
from agentkeep.operations.revising import revise
from agentkeep.store import blocks as block_store
from agentkeep.store import conversations, database, messages
from agentkeep.store.content import Message
from agentkeep.store.conversations import State
from agentkeep.store.database import Write
from agentkeep.store.entities import Agent, Block, Segment, Window
from agentkeep.store.windows import stretches

MAX_SEGMENTS: Final = 100
"""Stretches of history in a window; each is one query of every turn."""


class ScatteredWindowError(BadRequestError):
    """The messages of a window lie in too many places of the history."""

    def __init__(self, stretches: int) -> None:
        super().__init__(
            f"message_ids: these messages make {stretches} separate stretches of the history; {MAX_SEGMENTS} fit."
            " Send messages that follow each other."
        )


def overview(agent_id: str, conversation: str | None) -> ContextParts:
    """Everything the next model call of a conversation, the agent's default one unless named, would be made from."""
    conversation_id = agent_id if conversation in (None, "default") else str(conversation)
    seen = see(agent_id, conversation_id)
    blocks = list(block_store.get_many(seen.agent.block_ids).values())
    earlier = seen.state.next_seq - 1
    window = messages.window(seen.state.window)
    return ContextParts(
        size=seen.state.conversation.context_window or seen.agent.context_window or 0,
        system=seen.agent.system,
        core_memory=core_memory(blocks),
        metadata=memory_metadata(seen.agent, Facts(clock.now(), conversation_id, earlier)),
        messages=[_current_system(seen.agent, blocks, seen.state, seen.system), *window],
        tools=tool_schemas(seen.agent),
        recall=earlier,
        counted=_counted(seen.state, window),
    )


def _counted(state: State, window: Sequence[Message]) -> int | None:
    """The tokens of the newest prompt as its provider counted it, and the estimated ones of what was said since."""
    if state.window.tokens is None:
        return None
    return state.window.tokens + estimate_tokens([each for each in window if each.seq >= state.window.counted_to])


def _current_system(agent: Agent, blocks: Sequence[Block], state: State, system: Message) -> Message:
    if fingerprint(agent, blocks) == state.window.compiled_from:
        return system
    return compiled(agent, blocks, state, system, clock.now())


def recompile(agent_id: str, conversation_id: str, *, dry_run: bool, update_timestamp: bool) -> str:
    """The compiled system message; stored unless `dry_run` or a turn runs, which compiles by itself.

    Without `update_timestamp` a system message that is up to date stays as it is, byte for byte.
    """

    def attempt() -> str:
        seen = see(agent_id, conversation_id)
        blocks = list(block_store.get_many(seen.agent.block_ids).values())
        system = _current_system(seen.agent, blocks, seen.state, seen.system)
        if update_timestamp:
            system = compiled(seen.agent, blocks, seen.state, seen.system, clock.now())
        if not dry_run and not lease.is_held(seen.state) and system is not seen.system:
            window = recompiled(seen.state.window, fingerprint(seen.agent, blocks), seen.system, system)
            reset = conversations.reset_write(seen.state, window, seen.state.next_seq)
            database.transact([reset, messages.replace_write(system)])
        return system.text

    return revise(attempt)


def reset(agent_id: str, *, with_initial_messages: bool) -> None:
    """Empties the context window of an agent's default conversation; the history stays and can be listed."""

    def attempt() -> None:
        seen = see(agent_id, agent_id)
        state = idle(seen.state)
        now = clock.now()
        drafts = initial_messages(seen.agent, None, now) if with_initial_messages else []
        opening = placed(drafts, seen.agent, agent_id, state.next_seq, now)
        segments = [Segment(conversation=agent_id, first=state.next_seq)]
        database.transact(_window_writes(state, segments, opening))

    revise(attempt)


def window_writes(agent_id: str, message_ids: Sequence[str]) -> list[Write]:
    """The writes that make exactly these messages the window of an agent's default conversation; new ones follow them.

    Raises NotFoundError for a message that is not the agent's, ConversationBusyError while a turn runs.
    """
    state = idle(conversations.get(agent_id))
    chosen = [identifier for identifier in message_ids if identifier != state.conversation.system_message_id]
    places = [(conversation, seq) for conversation, seq in messages.locate_many(chosen, agent_id) if seq > 0]
    segments = list(stretches(places))
    if len(segments) > MAX_SEGMENTS:
        raise ScatteredWindowError(len(segments))
    return _window_writes(state, [*segments, Segment(conversation=agent_id, first=state.next_seq)], [])


def idle(state: State) -> State:
    """The conversation with nobody running in it; a dead run is closed. Raises ConversationBusyError."""
    if lease.is_held(state):
        raise ConversationBusyError(state.run_id)
    if state.run_id:
        close_dead(state, state.run_id)
        return idle(conversations.get(state.conversation.id))
    return state


def _window_writes(state: State, segments: Sequence[Segment], opening: Sequence[Message]) -> list[Write]:
    window = Window(segments=list(segments), compiled_from=state.window.compiled_from)
    reset_window = conversations.reset_write(state, window, state.next_seq + len(opening))
    return [reset_window, *(write for message in opening for write in messages.put_writes(message))]
