"""Tools: the builtin ones, listed and looked up."""

from typing import Any

from agentkeep.api.render.tools import builtin_tool
from agentkeep.api.replies import Reply
from agentkeep.api.requests.tools import CountTools, ListTools
from agentkeep.api.resolver import Event, Resolver
from agentkeep.operations import tools

Json = dict[str, Any]

app = Resolver()


@app.get("/v1/tools", permission="tool:read")
def list_tools() -> list[Json]:
    return [builtin_tool(tool) for tool in tools.page(app.query(ListTools))]


@app.get("/v1/tools/count", permission="tool:read")
def count_tools() -> int:
    return tools.count(app.query(CountTools))


@app.post("/v1/tools/add-base-tools", permission="tool:write")
def add_base_tools() -> list[Json]:
    return [builtin_tool(tool) for tool in tools.everything()]


@app.get("/v1/tools/<tool_id>", permission="tool:read")
def retrieve_tool(tool_id: str) -> Json:
    return builtin_tool(tools.retrieve(tool_id))


def lambda_handler(event: Event, context: Any) -> Reply:
    """Answers a proxy event of API Gateway."""
    return app.resolve(event, context)
