"""Blocks: create, read, change, undo, delete; their history and the agents that carry them."""

from agentkeep import clock
from agentkeep.api.requests.blocks import BlockHistory, CountBlocks, CreateBlock, ListBlocks, UndoBlock, UpdateBlock
from agentkeep.errors import BadRequestError
from agentkeep.operations import new_agent
from agentkeep.operations.revising import revise
from agentkeep.store import agents as agent_store
from agentkeep.store import blocks as block_store
from agentkeep.store import database
from agentkeep.store.blocks import Cause, touched
from agentkeep.store.entities import Block, BlockVersion
from agentkeep.store.pages import MOST_AT_ONCE, chunks
from agentkeep.tenancy.context import current_caller


class NothingToUndoError(BadRequestError):
    """The block is as it was made."""

    def __init__(self, block_id: str) -> None:
        super().__init__(f"{block_id} has only its first version: there is nothing to undo.")


def create(request: CreateBlock) -> Block:
    """A new block, version 1."""
    block = new_agent.new_block(request, clock.now())
    database.transact_all(block_store.create_writes(block, current_caller.get().principal), "last")
    return block


def retrieve(block_id: str) -> Block:
    """The block. Raises NotFoundError."""
    return block_store.get(block_id)


def update(block_id: str, request: UpdateBlock) -> Block:
    """The block with what the request gives; a change made meanwhile by others to other fields stays."""
    return revise(lambda: _write(block_store.get(block_id), "update", **request.given()))


def _write(block: Block, cause: Cause, **changes: object) -> Block:
    caller = current_caller.get().principal
    new = Block.model_validate(touched(block, clock.now(), caller, **changes).model_dump())
    if new.label != block.label:
        _refuse_taken_label(new)
    database.transact_all(block_store.update_writes(block, new, caller, cause), "first")
    return new


def _refuse_taken_label(renamed: Block) -> None:
    """Raises RepeatedLabelError if an agent that carries the block has another one with its new label."""
    for agents in chunks(agent_store.carrying(renamed.id), MOST_AT_ONCE):
        for agent in agent_store.get_many(agents).values():
            others = block_store.get_many(other for other in agent.block_ids if other != renamed.id)
            new_agent.refuse_repeated_labels([*others.values(), renamed])


def undo(block_id: str, request: UndoBlock) -> Block:
    """The block as it was at a version, the one before the current unless named, as a new version of its own."""

    def attempt() -> Block:
        block = block_store.get(block_id)
        if request.version is None and block.version == 1:
            raise NothingToUndoError(block_id)
        earlier = block_store.version(block_id, request.version or block.version - 1)
        restored = earlier.model_dump(include={"value", "label", "description", "limit"})
        return _write(block, "undo", **restored)

    return revise(attempt)


def history(block_id: str, query: BlockHistory) -> list[BlockVersion]:
    """The versions of a block, newest first."""
    block_store.get(block_id)
    return block_store.history(block_id, query.limit, query.before_version)


def page(query: ListBlocks) -> list[Block]:
    """One page of blocks."""
    return block_store.page(query.filters(), query.page())


def count(query: CountBlocks) -> int:
    """How many blocks the list with the same filters has."""
    return block_store.count(query.filters())


def delete(block_id: str) -> None:
    """Deletes a block and takes it off the agents that carry it; it is gone for all of them at once."""
    revise(lambda: database.transact_all(block_store.delete_writes(block_store.get(block_id)), "first"))
    for agent_id in agent_store.carrying(block_id):
        revise(lambda agent_id=agent_id: _take_off(agent_id, block_id))  # type: ignore[misc]


def _take_off(agent_id: str, block_id: str) -> None:
    agent = agent_store.get_many([agent_id]).get(agent_id)
    if agent is None or block_id not in agent.block_ids:
        return
    kept = [other for other in agent.block_ids if other != block_id]
    new = agent_store.revised(agent, current_caller.get().principal, block_ids=kept)
    database.transact_all(agent_store.update_writes(agent, new), "first")
