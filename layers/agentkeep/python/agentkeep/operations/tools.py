"""Tools: the builtin ones, listed and looked up."""

from agentkeep.api.requests.tools import CountTools, ListTools
from agentkeep.errors import NotFoundError
from agentkeep.store.pages import take_of
from agentkeep.tools.definition import BuiltinTool
from agentkeep.tools.registry import BUILTIN, builtin_by_id


def retrieve(tool_id: str) -> BuiltinTool:
    """The tool. Raises NotFoundError."""
    tool = builtin_by_id(tool_id)
    if tool is None:
        raise NotFoundError("Tool", tool_id)
    return tool


def everything() -> list[BuiltinTool]:
    """All tools; what add-base-tools answers, since the base tools are always there."""
    return sorted(BUILTIN.values(), key=lambda tool: tool.id)


def page(query: ListTools) -> list[BuiltinTool]:
    """One page of tools."""
    found = [tool for tool in everything() if _fits(tool, query)]
    return take_of(found, query.page(), lambda tool: tool.id, lambda cursor: retrieve(cursor).id)


def count(query: CountTools) -> int:
    """How many tools there are."""
    if query.exclude_letta_tools:
        return 0
    return sum(1 for tool in everything() if _fits(tool, query))


def _fits(tool: BuiltinTool, query: ListTools | CountTools) -> bool:
    if (query.name is not None and tool.name != query.name) or (query.names and tool.name not in query.names):
        return False
    if query.tool_ids and tool.id not in query.tool_ids:
        return False
    if query.search and query.search.lower() not in tool.name.lower():
        return False
    if query.tool_types and tool.tool_type not in query.tool_types:
        return False
    return tool.tool_type not in query.exclude_tool_types
