"""What tools did to memory, as writes of the commit that carries their returns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentkeep import clock
from agentkeep.loop.recall import searcher
from agentkeep.loop.turn import Turn
from agentkeep.memory.workspace import BlockChange, BlockWorkspace
from agentkeep.store import agents as agent_store
from agentkeep.store import blocks as block_store
from agentkeep.store.content import ToolCall, ToolReturn
from agentkeep.store.database import Write
from agentkeep.store.entities import Agent, Block
from agentkeep.tools.builtin import ToolContext, run_builtin


@dataclass(frozen=True)
class Outcome:
    """The returns of a step's calls, in call order, and what they change."""

    returns: Sequence[ToolReturn]
    writes: Sequence[Write]
    agent: Agent
    blocks: list[Block]


def run_tools(turn: Turn, calls: Sequence[ToolCall]) -> Outcome:
    """Runs builtin calls on a working copy of the turn's blocks. Nothing is stored; it may be done again."""
    now = clock.now()
    workspace = BlockWorkspace(turn.blocks, now=now)
    context = ToolContext(
        workspace=workspace,
        search=searcher(turn.agent.id, turn.state.conversation.id, turn.run.id),
        now=now,
        timezone=turn.agent.timezone,
        tool_names=[tool.name for tool in turn.tools],
    )
    returns = [run_builtin(call, context) for call in calls]
    changes = workspace.changed()
    agent = _carrying(turn.agent, workspace.blocks)
    writes = [write for change in changes for write in _writes(change, turn)]
    if agent.version != turn.agent.version:
        writes += agent_store.update_writes(turn.agent, agent)
    return Outcome(returns, writes, agent, workspace.blocks)


def reload(turn: Turn) -> None:
    """Reads agent and blocks again after another request changed them, so that the edits are made on what is there."""
    turn.agent = agent_store.get(turn.agent.id)
    turn.blocks = list(block_store.get_many(turn.agent.block_ids).values())


def _carrying(agent: Agent, blocks: Sequence[Block]) -> Agent:
    block_ids = [block.id for block in blocks]
    if block_ids == agent.block_ids:
        return agent
    stamp = {"version": agent.version + 1, "updated_at": clock.now()}
    return agent.model_copy(update={"block_ids": block_ids, **stamp})


def _writes(change: BlockChange, turn: Turn) -> Iterator[Write]:
    author = turn.agent.id
    after = change.after.model_copy(update={"last_updated_by_id": author})
    if change.before is None:
        yield from block_store.create_writes(after.model_copy(update={"created_by_id": author}), author)
    elif change.written:
        yield from block_store.update_writes(change.before, after, author, "tool", turn.run.id)
