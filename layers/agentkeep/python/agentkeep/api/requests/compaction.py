"""Requests about compaction."""

from agentkeep.api.requests.fields import AgentId, Body
from agentkeep.api.requests.model_settings import CompactionSettings


class CompactConversation(Body):
    """The body of agents.messages.compact and conversations.compact. `agent_id` says whose conversation `default` is.

    What `compaction_settings` give counts before the agent's own.
    """

    compaction_settings: CompactionSettings | None = None
    agent_id: AgentId | None = None
