"""Requests about tools."""

from typing import Literal

from pydantic import Field

from agentkeep.api.requests.fields import ByCreation, CommaSeparated, Query, limit_field

ToolType = Literal[
    "custom", "letta_core", "letta_memory_core", "letta_multi_agent_core", "letta_sleeptime_core",
    "letta_voice_sleeptime_core", "letta_builtin", "letta_files_core", "external_langchain", "external_composio",
    "external_mcp",
]  # fmt: skip


class _ToolFilterQuery(Query):
    name: str | None = None
    names: CommaSeparated[str] = Field(default_factory=list)
    tool_ids: CommaSeparated[str] = Field(default_factory=list)
    search: str | None = None
    tool_types: CommaSeparated[ToolType] = Field(default_factory=list)
    exclude_tool_types: CommaSeparated[ToolType] = Field(default_factory=list)
    return_only_letta_tools: bool = False


class CountTools(_ToolFilterQuery):
    """The query of the number of tools."""

    exclude_letta_tools: bool = False


class ListTools(ByCreation, _ToolFilterQuery):
    """The query of tools.list."""


class ListAgentTools(ByCreation):
    """The query of agents.tools.list."""

    limit: int = limit_field(10)
