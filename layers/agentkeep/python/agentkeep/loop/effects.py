"""What tools did to memory, as writes of the commit that carries their returns."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentkeep import clock
from agentkeep.loop.recall import searcher
from agentkeep.loop.turn import Turn
from agentkeep.memory.workspace import BlockChange, BlockWorkspace
from agentkeep.store import agents as agent_store
from agentkeep.store import blocks as block_store
from agentkeep.store import database
from agentkeep.store.content import ToolCall, ToolReturn
from agentkeep.store.database import Write
from agentkeep.store.entities import Agent, Block
from agentkeep.tools.builtin import ToolContext, run_builtin
from agentkeep.tools.returns import failure

_MAX_WRITES: Final = 90
"""Of the 100 of a transaction; the rest is for the commit itself."""
_LONGEST_PAUSE_SECONDS: Final = 0.4
TOO_MUCH: Final = (
    "Nothing was changed: these calls together change more memory than one step can store. Make fewer calls at once."
)
CONTENDED: Final = (
    "Nothing was changed: others kept changing the same memory at the same time. See how it is now, then try again."
)


@dataclass(frozen=True)
class Outcome:
    """The returns of a step's calls, in call order, and what they change. Making them took `took_ns`."""

    returns: Sequence[ToolReturn]
    writes: Sequence[Write]
    agent: Agent
    blocks: list[Block]
    took_ns: int = 0


def run_tools(turn: Turn, calls: Sequence[ToolCall]) -> Outcome:
    """Runs builtin calls on a working copy of the turn's blocks. Nothing is stored; it may be done again."""
    started, now = time.perf_counter_ns(), clock.now()
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
    if len(writes) > _MAX_WRITES or not database.fits(writes):
        return refused(turn, calls, TOO_MUCH)
    return Outcome(returns, writes, agent, workspace.blocks, time.perf_counter_ns() - started)


def refused(turn: Turn, calls: Sequence[ToolCall], reason: str) -> Outcome:
    """Returns that say why nothing was done, and no change."""
    return Outcome([failure(call, reason) for call in calls], [], turn.agent, turn.blocks)


def meet_others(turn: Turn, attempt: int) -> None:
    """After another request was faster: reads agent and blocks again, so that the edits are made on what is there.

    The pause grows with each attempt and is random, lest those who met once meet again.
    """
    time.sleep(random.uniform(0, min(_LONGEST_PAUSE_SECONDS, 0.005 * 2**attempt)))
    turn.agent = agent_store.get(turn.agent.id)
    turn.blocks = list(block_store.get_many(turn.agent.block_ids).values())


def _carrying(agent: Agent, blocks: Sequence[Block]) -> Agent:
    block_ids = [block.id for block in blocks]
    if block_ids == agent.block_ids:
        return agent
    return agent_store.revised(agent, agent.id, block_ids=block_ids)


def _writes(change: BlockChange, turn: Turn) -> Iterator[Write]:
    author = turn.agent.id
    after = change.after.model_copy(update={"last_updated_by_id": author})
    if change.before is None:
        yield from block_store.create_writes(after.model_copy(update={"created_by_id": author}), author)
    elif change.written:
        yield from block_store.update_writes(change.before, after, author, "tool", turn.run.id)
