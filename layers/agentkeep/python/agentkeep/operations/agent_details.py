"""An agent with what an answer about it shows: blocks, last run, message ids, secrets."""

from collections.abc import Sequence
from dataclasses import replace

from agentkeep.api.render.agents import AgentParts
from agentkeep.errors import NotFoundError
from agentkeep.models import catalog
from agentkeep.models.interface import ModelInfo
from agentkeep.store import agents as agent_store
from agentkeep.store import blocks as block_store
from agentkeep.store import conversations, messages
from agentkeep.store.agents import Activity
from agentkeep.store.entities import Agent
from agentkeep.tenancy.secrets import unseal
from agentkeep.tools.registry import builtin_by_id


def details(agent: Agent, include: frozenset[str]) -> AgentParts:
    """One agent, its message ids among what is read."""
    (parts,) = details_of_many([agent], include)
    return replace(parts, message_ids=message_ids(agent.id))


def details_of_many(agents: Sequence[Agent], include: frozenset[str]) -> list[AgentParts]:
    """Several agents, in their order: one read for all their last runs, one for all their blocks.

    Message ids are left out: reading every agent's window would make a page cost as much as its histories.
    """
    activities = agent_store.activities(agent.id for agent in agents)
    with_blocks = "agent.blocks" in include
    blocks = block_store.get_many(block_id for agent in agents for block_id in agent.block_ids) if with_blocks else {}
    sealed = agent_store.sealed_secrets(agent.id for agent in agents) if "agent.secrets" in include else {}
    return [
        AgentParts(
            agent,
            model_of(agent),
            blocks=[blocks[block_id] for block_id in agent.block_ids if block_id in blocks],
            tools=[tool for tool_id in agent.tool_ids if (tool := builtin_by_id(tool_id))],
            activity=activities.get(agent.id, Activity()),
            secrets={name: unseal(value) for name, value in sealed.get(agent.id, {}).items()},
        )
        for agent in agents
    ]


def model_of(agent: Agent) -> ModelInfo:
    """The agent's model from what is known without asking anybody: an agent can be read while its provider is down."""
    provider, _, name = agent.model.partition("/")
    limits = catalog.limits(agent.model)
    return ModelInfo(
        handle=agent.model,
        name=name,
        provider_type=provider,
        provider_name=provider,
        endpoint="",
        endpoint_type="anthropic" if provider == "anthropic" else "openai",
        context_window=limits.context_window,
        max_output_tokens=limits.max_output_tokens,
        reasoning=catalog.openai_reasons(name) if provider == "openai" else provider == "anthropic",
        display_name=name,
    )


def message_ids(conversation_id: str) -> list[str]:
    """The ids of what is in the context window, system message first."""
    try:
        state = conversations.get(conversation_id)
    except NotFoundError:
        return []
    return [state.conversation.system_message_id, *messages.ids_in_window(state.window)]
