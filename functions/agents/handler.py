"""Agents: create, read, list, change, delete; their memory, tools and context window."""

from typing import Any

from agentkeep.api.render.agents import agent_state, whole_agent
from agentkeep.api.render.blocks import block
from agentkeep.api.render.context import context_window as context_overview
from agentkeep.api.render.tools import builtin_tool
from agentkeep.api.replies import Reply
from agentkeep.api.requests.agents import (
    ContextQuery,
    CountAgents,
    CreateAgent,
    IncludeQuery,
    ListAgents,
    ListTags,
    RecompileQuery,
    ResetMessages,
    UpdateAgent,
)
from agentkeep.api.requests.blocks import ListAgentBlocks, UpdateBlock
from agentkeep.api.requests.tools import ListAgentTools
from agentkeep.api.resolver import Event, Resolver
from agentkeep.operations import agents, attachments, context_window

Json = dict[str, Any]

app = Resolver()


@app.get("/v1/agents", permission="agent:read")
def list_agents() -> list[Json]:
    query = app.query(ListAgents)
    return [agent_state(parts, query.included()) for parts in agents.page(query)]


@app.post("/v1/agents", permission="agent:write")
def create_agent() -> Json:
    return whole_agent(agents.create(app.body(CreateAgent)))


@app.get("/v1/agents/count", permission="agent:read")
def count_agents() -> int:
    return agents.count(app.query(CountAgents))


@app.get("/v1/agents/<agent_id>", permission="agent:read")
def retrieve_agent(agent_id: str) -> Json:
    include = app.query(IncludeQuery).included()
    return agent_state(agents.retrieve(agent_id, include), include)


@app.patch("/v1/agents/<agent_id>", permission="agent:write")
def update_agent(agent_id: str) -> Json:
    return whole_agent(agents.update(agent_id, app.body(UpdateAgent)))


@app.delete("/v1/agents/<agent_id>", permission="agent:delete")
def delete_agent(agent_id: str) -> Json:
    agents.delete(agent_id)
    return {"message": f"Agent id={agent_id} successfully deleted"}


@app.get("/v1/agents/<agent_id>/context", permission="agent:read")
def retrieve_context(agent_id: str) -> Json:
    return context_overview(context_window.overview(agent_id, app.query(ContextQuery).conversation_id))


@app.post("/v1/agents/<agent_id>/recompile", permission="agent:write")
def recompile_agent(agent_id: str) -> str:
    query = app.query(RecompileQuery)
    return context_window.recompile(agent_id, agent_id, dry_run=query.dry_run, update_timestamp=query.update_timestamp)


@app.post("/v1/agents/<agent_id>/system-prompt/recompile", permission="agent:write")
def recompile_system_prompt(agent_id: str) -> str:
    return recompile_agent(agent_id)


@app.patch("/v1/agents/<agent_id>/reset-messages", permission="agent:write")
def reset_messages(agent_id: str) -> Json:
    context_window.reset(agent_id, with_initial_messages=app.body(ResetMessages).add_default_initial_messages)
    return whole_agent(agents.everything_of(agent_id))


@app.get("/v1/agents/<agent_id>/core-memory", permission="agent:read")
def retrieve_memory(agent_id: str) -> Json:
    memory: Json = agent_state(agents.everything_of(agent_id))["memory"]
    return memory


@app.get("/v1/agents/<agent_id>/core-memory/blocks", permission="agent:read")
def list_agent_blocks(agent_id: str) -> list[Json]:
    return [block(found) for found in attachments.page_of_blocks(agent_id, app.query(ListAgentBlocks))]


@app.patch("/v1/agents/<agent_id>/core-memory/blocks/attach/<block_id>", permission="agent:write")
def attach_block(agent_id: str, block_id: str) -> Json:
    attachments.attach_block(agent_id, block_id)
    return whole_agent(agents.everything_of(agent_id))


@app.patch("/v1/agents/<agent_id>/core-memory/blocks/detach/<block_id>", permission="agent:write")
def detach_block(agent_id: str, block_id: str) -> Json:
    attachments.detach_block(agent_id, block_id)
    return whole_agent(agents.everything_of(agent_id))


@app.get("/v1/agents/<agent_id>/core-memory/blocks/<block_label>", permission="agent:read")
def retrieve_agent_block(agent_id: str, block_label: str) -> Json:
    return block(attachments.block(agent_id, block_label))


@app.patch("/v1/agents/<agent_id>/core-memory/blocks/<block_label>", permission="agent:write")
def update_agent_block(agent_id: str, block_label: str) -> Json:
    return block(attachments.update_block(agent_id, block_label, app.body(UpdateBlock)))


@app.get("/v1/agents/<agent_id>/tools", permission="agent:read")
def list_agent_tools(agent_id: str) -> list[Json]:
    return [builtin_tool(tool) for tool in attachments.page_of_tools(agent_id, app.query(ListAgentTools).page())]


@app.patch("/v1/agents/<agent_id>/tools/attach/<tool_id>", permission="agent:write")
def attach_tool(agent_id: str, tool_id: str) -> Json:
    attachments.attach_tool(agent_id, tool_id)
    return whole_agent(agents.everything_of(agent_id))


@app.patch("/v1/agents/<agent_id>/tools/detach/<tool_id>", permission="agent:write")
def detach_tool(agent_id: str, tool_id: str) -> Json:
    attachments.detach_tool(agent_id, tool_id)
    return whole_agent(agents.everything_of(agent_id))


@app.get("/v1/tags", permission="agent:read")
def list_tags() -> list[str]:
    return agents.tags(app.query(ListTags))


def lambda_handler(event: Event, context: Any) -> Reply:
    """Answers a proxy event of API Gateway."""
    return app.resolve(event, context)
