"""Blocks: create, read, list, change, delete; their history and the agents that carry them."""

from typing import Any

from agentkeep.api.render.agents import agent_state
from agentkeep.api.render.blocks import block, block_version
from agentkeep.api.replies import Reply
from agentkeep.api.requests.agents import ListBlockAgents
from agentkeep.api.requests.blocks import BlockHistory, CountBlocks, CreateBlock, ListBlocks, UndoBlock, UpdateBlock
from agentkeep.api.resolver import Event, Resolver
from agentkeep.operations import agents, blocks

Json = dict[str, Any]

app = Resolver()


@app.get("/v1/blocks", permission="block:read")
def list_blocks() -> list[Json]:
    return [block(found) for found in blocks.page(app.query(ListBlocks))]


@app.post("/v1/blocks", permission="block:write")
def create_block() -> Json:
    return block(blocks.create(app.body(CreateBlock)))


@app.get("/v1/blocks/count", permission="block:read")
def count_blocks() -> int:
    return blocks.count(app.query(CountBlocks))


@app.get("/v1/blocks/<block_id>", permission="block:read")
def retrieve_block(block_id: str) -> Json:
    return block(blocks.retrieve(block_id))


@app.patch("/v1/blocks/<block_id>", permission="block:write")
def update_block(block_id: str) -> Json:
    return block(blocks.update(block_id, app.body(UpdateBlock)))


@app.delete("/v1/blocks/<block_id>", permission="block:delete")
def delete_block(block_id: str) -> Json:
    blocks.delete(block_id)
    return {"message": f"Block id={block_id} successfully deleted"}


@app.get("/v1/blocks/<block_id>/agents", permission="block:read")
def list_block_agents(block_id: str) -> list[Json]:
    query = app.query(ListBlockAgents)
    return [agent_state(parts, query.included()) for parts in agents.page_of_block(block_id, query)]


@app.get("/v1/blocks/<block_id>/history", permission="block:read")
def list_block_history(block_id: str) -> list[Json]:
    return [block_version(version) for version in blocks.history(block_id, app.query(BlockHistory))]


@app.post("/v1/blocks/<block_id>/undo", permission="block:write")
def undo_block(block_id: str) -> Json:
    return block(blocks.undo(block_id, app.body(UndoBlock)))


def lambda_handler(event: Event, context: Any) -> Reply:
    """Answers a proxy event of API Gateway."""
    return app.resolve(event, context)
