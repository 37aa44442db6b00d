"""How a conversation comes to be: its state, its system message, what stands behind it before anybody has spoken."""

from collections.abc import Sequence
from datetime import datetime

from agentkeep import clock, ids
from agentkeep.loop.turn import compiled
from agentkeep.memory.opening import Draft, initial_messages
from agentkeep.memory.render import fingerprint
from agentkeep.store import conversations, messages
from agentkeep.store.content import Message
from agentkeep.store.conversations import State
from agentkeep.store.database import Write
from agentkeep.store.entities import Agent, Block, Conversation, Segment, Window


def open_conversation(
    conversation: Conversation, agent: Agent, blocks: Sequence[Block], drafts: Sequence[Draft] | None
) -> tuple[State, list[Write]]:
    """A new conversation with its compiled system message, and the writes that make it."""
    now = clock.now()
    opening = placed(initial_messages(agent, drafts, now), agent, conversation.id, 1, now)
    window = Window(segments=[Segment(conversation=conversation.id, first=1)], compiled_from=fingerprint(agent, blocks))
    state = State(conversation, window=window, next_seq=len(opening) + 1)
    system = compiled(agent, blocks, state, system_message(conversation, now), now)
    writes = [write for message in (system, *opening) for write in messages.put_writes(message)]
    return state, [*writes, *conversations.create_writes(state)]


def system_message(conversation: Conversation, now: datetime) -> Message:
    """The message at sequence 0, still empty."""
    return Message(
        id=conversation.system_message_id,
        agent_id=conversation.agent_id,
        conversation=conversation.id,
        role="system",
        created_at=now,
    )


def placed(drafts: Sequence[Draft], agent: Agent, conversation_id: str, first: int, now: datetime) -> list[Message]:
    """The drafts as messages of a conversation, from the sequence number `first` on."""
    return [
        Message(
            id=ids.new("message"),
            agent_id=agent.id,
            conversation=conversation_id,
            seq=first + offset,
            created_at=now,
            **draft.model_dump(include={"role", "content", "tool_calls", "tool_returns"}),
        )
        for offset, draft in enumerate(drafts)
    ]
