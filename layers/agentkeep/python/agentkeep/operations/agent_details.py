"""An agent with what an answer about it shows: blocks, last run, message ids, secrets.

Whoever may read an agent sees the names of its secrets. Their values take the permission `secret:read`; without it they
are empty texts, because clients expect a text for each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentkeep.api.render.agents import AgentParts
from agentkeep.errors import NotFoundError
from agentkeep.models import catalog, directory
from agentkeep.models.endpoints import Endpoint
from agentkeep.models.interface import EmbeddingInfo, ModelInfo
from agentkeep.models.listing import known_model
from agentkeep.store import agents as agent_store
from agentkeep.store import blocks as block_store
from agentkeep.store import conversations, messages
from agentkeep.store.agents import Activity
from agentkeep.store.entities import Agent
from agentkeep.tenancy.context import current_caller
from agentkeep.tenancy.roles import permits
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
    own = _own_providers(agents)
    sealed = agent_store.sealed_secrets(agent.id for agent in agents) if "agent.secrets" in include else {}
    return [
        AgentParts(
            agent,
            model_of(agent, own),
            embedding_of(agent),
            blocks=[blocks[block_id] for block_id in agent.block_ids if block_id in blocks],
            tools=[tool for tool_id in agent.tool_ids if (tool := builtin_by_id(tool_id))],
            activity=activities.get(agent.id, Activity()),
            secrets=_readable(sealed.get(agent.id, {})),
        )
        for agent in agents
    ]


def _readable(sealed: Mapping[str, str]) -> dict[str, str]:
    if not permits(current_caller.get().role, "secret:read"):
        return dict.fromkeys(sealed, "")
    return {name: unseal(value) for name, value in sealed.items()}


def _own_providers(agents: Sequence[Agent]) -> dict[str, Endpoint]:
    """The tenant's providers by name, read only if one of the agents has a model of theirs."""
    if not any(directory.is_own(agent.model) for agent in agents):
        return {}
    return {endpoint.provider: endpoint for endpoint in directory.of_tenant()}


def model_of(agent: Agent, own: Mapping[str, Endpoint]) -> ModelInfo:
    """The agent's model from what is known without asking anybody: an agent can be read while its provider is down,
    and after it was deleted."""
    provider, _, name = agent.model.partition("/")
    if provider in own:
        return known_model(own[provider], name)
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
        provider_category="byok" if directory.is_own(agent.model) else "base",
    )


def embedding_of(agent: Agent) -> EmbeddingInfo | None:
    """The agent's embedding model, likewise; None without one, and for one whose dimension nobody knows."""
    provider, _, name = (agent.embedding or "").partition("/")
    dimension = catalog.embedding_dimension(name)
    return None if dimension is None else EmbeddingInfo(agent.embedding or "", name, provider, provider, "", dimension)


def message_ids(conversation_id: str) -> list[str]:
    """The ids of what is in the context window, system message first."""
    try:
        state = conversations.get(conversation_id)
    except NotFoundError:
        return []
    return [state.conversation.system_message_id, *messages.ids_in_window(state.window.segments)]
