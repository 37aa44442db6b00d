"""What hangs on an agent: its blocks by label, its tools."""

from collections.abc import Callable, Sequence

from agentkeep.api.requests.blocks import ListAgentBlocks, UpdateBlock
from agentkeep.errors import BlockLabelNotFoundError, NotFoundError
from agentkeep.operations import blocks as block_operations
from agentkeep.operations import new_agent
from agentkeep.operations import tools as tool_operations
from agentkeep.operations.revising import revise
from agentkeep.store import agents as agent_store
from agentkeep.store import blocks as block_store
from agentkeep.store import database
from agentkeep.store.database import Write
from agentkeep.store.entities import Agent, Block
from agentkeep.store.pages import PageRequest, take_of
from agentkeep.tenancy.context import current_caller
from agentkeep.tools.definition import BuiltinTool
from agentkeep.tools.registry import builtin_by_id


def blocks(agent_id: str) -> list[Block]:
    """All blocks of an agent, in their order."""
    return list(block_store.get_many(agent_store.get(agent_id).block_ids).values())


def page_of_blocks(agent_id: str, query: ListAgentBlocks) -> list[Block]:
    """One page of an agent's blocks by creation."""
    return take_of(blocks(agent_id), query.page(), lambda found: found.id, block_store.place)


def block(agent_id: str, label: str) -> Block:
    """The agent's block with a label. Raises BlockLabelNotFoundError."""
    for found in blocks(agent_id):
        if found.label == label:
            return found
    raise BlockLabelNotFoundError(label, agent_id)


def update_block(agent_id: str, label: str, request: UpdateBlock) -> Block:
    """The agent's block with a label, with what the request gives."""
    return block_operations.update(block(agent_id, label).id, request)


def attach_block(agent_id: str, block_id: str) -> Agent:
    """Puts a block on an agent; one that is there already stays once."""

    def change(agent: Agent) -> list[str]:
        carried = block_store.get_many(other for other in agent.block_ids if other != block_id)
        new_agent.refuse_repeated_labels([*carried.values(), block_store.get(block_id)])
        return [*agent.block_ids, block_id]

    return _change(agent_id, "block_ids", change, block_store.there_check(block_id))


def detach_block(agent_id: str, block_id: str) -> Agent:
    """Takes a block off an agent; the block itself stays. Raises NotFoundError for one it does not carry."""
    return _change(agent_id, "block_ids", lambda agent: _without(agent.block_ids, block_id, "Block"))


def attach_tool(agent_id: str, tool_id: str) -> Agent:
    """Gives an agent a tool; one it has already stays once."""
    new_agent.existing_tools([tool_id])
    return _change(agent_id, "tool_ids", lambda agent: [*agent.tool_ids, tool_id])


def detach_tool(agent_id: str, tool_id: str) -> Agent:
    """Takes a tool from an agent. Raises NotFoundError for one it does not have."""
    return _change(agent_id, "tool_ids", lambda agent: _without(agent.tool_ids, tool_id, "Tool"))


def _without(identifiers: Sequence[str], identifier: str, kind: str) -> list[str]:
    if identifier not in identifiers:
        raise NotFoundError(kind, identifier)
    return [other for other in identifiers if other != identifier]


def _change(agent_id: str, field: str, change: Callable[[Agent], Sequence[str]], *checks: Write) -> Agent:
    def attempt() -> Agent:
        old = agent_store.get(agent_id)
        wanted = list(dict.fromkeys(change(old)))
        if wanted == getattr(old, field):
            return old
        new = agent_store.revised(old, current_caller.get().principal, **{field: wanted})
        database.transact_all([*checks, *agent_store.update_writes(old, new)], "first")
        return new

    return revise(attempt)


def page_of_tools(agent_id: str, request: PageRequest) -> list[BuiltinTool]:
    """One page of an agent's tools."""
    found = (builtin_by_id(tool_id) for tool_id in agent_store.get(agent_id).tool_ids)
    tools = [tool for tool in found if tool is not None]
    return take_of(tools, request, lambda tool: tool.id, lambda cursor: tool_operations.retrieve(cursor).id)
