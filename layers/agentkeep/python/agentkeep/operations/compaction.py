"""Compacting a conversation on request, as an answer that may take as long as its model."""

import time

from agentkeep.api.blocking import held
from agentkeep.api.compacted import CompactionOutcome
from agentkeep.api.requests.compaction import CompactConversation
from agentkeep.api.stream import StreamedResponse
from agentkeep.loop.accept import Seen, see
from agentkeep.loop.compaction.by_hand import compact_window
from agentkeep.operations.context_window import idle
from agentkeep.operations.conversations import resolve


def of_agent(agent_id: str, request: CompactConversation, seconds: float) -> StreamedResponse:
    """Compacts the agent's default conversation. `seconds`: the time that the invocation has left."""
    return _compact(agent_id, agent_id, request, seconds)


def of_conversation(conversation_id: str, request: CompactConversation, seconds: float) -> StreamedResponse:
    """Compacts a conversation; `default` is that of the agent in the body."""
    conversation = resolve(conversation_id, request.agent_id).conversation
    return _compact(conversation.agent_id, conversation.id, request, seconds)


def _compact(agent_id: str, conversation_id: str, request: CompactConversation, seconds: float) -> StreamedResponse:
    deadline = time.monotonic() + seconds
    return held(
        lambda emit: compact_window(_free(agent_id, conversation_id), request.compaction_settings, deadline, emit),
        CompactionOutcome(),
    )


def _free(agent_id: str, conversation_id: str) -> Seen:
    """The conversation, a dead run of it closed. Raises ConversationBusyError while a run is alive."""
    seen = see(agent_id, conversation_id)
    return seen if idle(seen.state) is seen.state else see(agent_id, conversation_id)
