"""Tools."""

from typing import Any

from agentkeep.tools.definition import BuiltinTool

Json = dict[str, Any]


def builtin_tool(tool: BuiltinTool) -> Json:
    """A tool that comes with AgentKeep: it has no source to show and nobody made it."""
    return {
        "id": tool.id,
        "tool_type": tool.tool_type,
        "description": tool.description,
        "source_type": "python",
        "name": tool.name,
        "tags": list(tool.tags),
        "source_code": None,
        "json_schema": tool.json_schema,
        "args_json_schema": None,
        "return_char_limit": tool.return_char_limit,
        "pip_requirements": None,
        "npm_requirements": None,
        "default_requires_approval": None,
        "enable_parallel_execution": tool.parallel,
        "created_by_id": None,
        "last_updated_by_id": None,
        "metadata_": {},
        "project_id": None,
    }
