"""Recall search for the conversation_search tool: the words of an agent's history, read from the store.

Until the search index is there, this reads the newest messages of the agent's conversations: bounded, and exact within
that bound.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from agentkeep.memory.recall import ConversationQuery, Hit, matches
from agentkeep.store import conversations, messages
from agentkeep.store.content import Message
from agentkeep.store.pages import PageRequest

READ_AT_MOST: Final = 5_000
"""Messages read for one search."""


def searcher(agent_id: str, conversation_id: str, run_id: str) -> Callable[[ConversationQuery], Sequence[Hit]]:
    """A search over what an agent said and heard, in all its conversations, before the run that asks."""

    def search(query: ConversationQuery) -> Sequence[Hit]:
        found = _newest_of_conversation(conversation_id)
        if conversation_id != agent_id or conversations.has_named(agent_id):
            found += [message for message in _newest_of_agent(agent_id) if message.conversation != conversation_id]
        earlier = [message for message in found if message.run_id != run_id]
        return matches(sorted(earlier, key=lambda message: message.created_at), query)

    return search


def _newest_of_conversation(conversation_id: str) -> list[Message]:
    return list(islice(messages.newest(conversation_id), READ_AT_MOST))


def _newest_of_agent(agent_id: str) -> list[Message]:
    return messages.page_of_agent(agent_id, PageRequest(limit=READ_AT_MOST), keep=lambda message: True)
