"""Agents: create, read, list, change, delete."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agentkeep.api.render.agents import EVERYTHING, AgentParts
from agentkeep.api.requests.agents import CountAgents, CreateAgent, ListAgents, ListBlockAgents, ListTags, UpdateAgent
from agentkeep.ids import new as new_id
from agentkeep.operations import new_agent
from agentkeep.operations.agent_details import details, details_of_many
from agentkeep.operations.context_window import window_writes
from agentkeep.operations.new_agent import Blueprint
from agentkeep.operations.opening import open_conversation
from agentkeep.operations.revising import revise
from agentkeep.store import agents as agent_store
from agentkeep.store import blocks as block_store
from agentkeep.store import conversations, database, making
from agentkeep.store.database import Write
from agentkeep.store.entities import Agent, Conversation
from agentkeep.tenancy.context import current_caller
from agentkeep.tenancy.secrets import seal

_PLAIN = (
    "name", "description", "system", "tags", "tool_rules", "metadata", "embedding", "compaction_settings",
    "response_format", "enable_sleeptime", "message_buffer_autoclear", "timezone", "max_files_open",
    "per_file_view_window_char_limit", "hidden", "project_id", "template_id", "base_template_id",
)  # fmt: skip


def create(request: CreateAgent) -> AgentParts:
    """A new agent with its blocks and its default conversation; nothing of it is seen until all of it is there."""
    plan = new_agent.blueprint(request)
    agent = plan.agent
    conversation = Conversation(
        id=agent.id,
        agent_id=agent.id,
        system_message_id=new_id("message"),
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )
    _, opening = open_conversation(conversation, agent, plan.blocks, plan.opening)
    secrets = _sealed(request.given("secrets", "tool_exec_environment_variables"))
    kept = [agent_store.secrets_write(agent.id, secrets)] if secrets else []
    edges = agent_store.edge_writes(agent.id, agent.block_ids)
    _store(plan, [*edges, *opening, *kept, *agent_store.create_writes(agent)])
    return details(agent, EVERYTHING)


def _store(plan: Blueprint, rest: Sequence[Write]) -> None:
    """Writes new blocks and the rest of a new agent: at once, or behind a marker if one transaction cannot hold it."""
    at_once = [*_block_writes(plan), *rest]
    if database.fits_one_transaction(at_once):
        return database.transact(at_once)
    begin, end = making.begin_write(plan.agent.id), making.end_write(plan.agent.id)
    return database.transact_all([begin, *_block_writes(plan, with_agent=plan.agent.id), *rest, end], "last")


def _block_writes(plan: Blueprint, with_agent: str | None = None) -> Iterator[Write]:
    author = current_caller.get().principal
    for block in plan.new_blocks:
        yield from block_store.create_writes(block, author, with_agent)


def _sealed(given: dict[str, dict[str, str]]) -> dict[str, str]:
    values = {**given.get("tool_exec_environment_variables", {}), **given.get("secrets", {})}
    return {name: seal(value) for name, value in values.items()}


def retrieve(agent_id: str, include: frozenset[str]) -> AgentParts:
    """The agent, with what `include` asks for."""
    return details(agent_store.get(agent_id), include)


def everything_of(agent_id: str) -> AgentParts:
    """The agent as the answers of changing operations show it."""
    return retrieve(agent_id, EVERYTHING)


def page(query: ListAgents) -> list[AgentParts]:
    """One page of agents."""
    return details_of_many(agent_store.page(query.filters(), query.page(), query.ordering), query.included())


def page_of_block(block_id: str, query: ListBlockAgents) -> list[AgentParts]:
    """One page of the agents that carry a block."""
    block_store.get(block_id)
    return details_of_many(agent_store.page_of_block(block_id, query.page()), query.included())


def count(query: CountAgents) -> int:
    """How many agents the list with the same filters has."""
    return agent_store.count(query.filters())


def tags(query: ListTags) -> list[str]:
    """One page of the tags that agents carry, in alphabetical order."""
    return agent_store.tag_names(query.page(), query.containing)


def update(agent_id: str, request: UpdateAgent) -> AgentParts:
    """The agent with what the request gives."""
    new_agent.refuse_unknown(request.given())

    def attempt() -> Agent:
        old = agent_store.get(agent_id)
        new = _updated(old, request)
        window = [] if request.message_ids is None else window_writes(agent_id, request.message_ids)
        secrets = request.given("secrets", "tool_exec_environment_variables")
        kept = [agent_store.secrets_write(agent_id, _sealed(secrets))] if secrets else []
        database.transact_all([*window, *kept, *agent_store.update_writes(old, new)], "first")
        return new

    agent = revise(attempt)
    _record_run(agent_id, request)
    return details(agent, EVERYTHING)


def _updated(old: Agent, request: UpdateAgent) -> Agent:
    changes: dict[str, Any] = request.given(*_PLAIN)
    if request.block_ids is not None:
        new_agent.refuse_repeated_labels(new_agent.existing_blocks(request.block_ids))
        changes["block_ids"] = list(dict.fromkeys(request.block_ids))
    if request.tool_ids is not None:
        changes["tool_ids"] = new_agent.existing_tools(request.tool_ids)
    if request.embedding is None and request.embedding_config:
        changes["embedding"] = new_agent.handle_of(request.embedding_config)
    changes |= _model_changes(old, request)
    return agent_store.revised(old, current_caller.get().principal, **changes)


def _model_changes(old: Agent, request: UpdateAgent) -> dict[str, Any]:
    """The model keeps the context window it was given, as long as the window fits it."""
    handle = request.model or new_agent.handle_of(request.llm_config)
    changes: dict[str, Any] = {"model_settings": new_agent.settings(request, old.model_settings or {})}
    if handle is None and request.context_window_limit is None:
        return changes
    model = new_agent.chosen_model(handle or old.model)
    limit = request.context_window_limit or (None if request.llm_config else old.context_window)
    return changes | {"model": model.handle, "context_window": new_agent.window(limit, request.llm_config, model)}


def _record_run(agent_id: str, request: UpdateAgent) -> None:
    given = request.given("last_run_completion", "last_run_duration_ms", "last_stop_reason")
    if given:
        known = agent_store.activities([agent_id]).get(agent_id, agent_store.Activity())
        agent_store.record_activity(agent_id, agent_store.Activity.model_validate(known.model_dump() | given))


def delete(agent_id: str) -> None:
    """Deletes an agent with its default conversation. Blocks stay: others may carry them."""

    def attempt() -> None:
        agent = agent_store.get(agent_id)
        state = conversations.get(agent_id)
        writes: Iterable[database.Write] = [
            *conversations.delete_writes(state),
            *agent_store.delete_writes(agent),
        ]
        database.transact_all(writes, "first")

    revise(attempt)
