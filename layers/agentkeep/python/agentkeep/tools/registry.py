"""The registry of builtin tools: by name, by id, by default of an agent type, and as models see them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentkeep.store.content import ToolSchema
from agentkeep.tools.definition import BuiltinTool
from agentkeep.tools.nameable import NAMEABLE
from agentkeep.tools.working import WORKING

BUILTIN: Final[Mapping[str, BuiltinTool]] = MappingProxyType({tool.name: tool for tool in (*WORKING, *NAMEABLE)})
"""Every builtin tool by name."""

_BY_ID: Final = {tool.id: tool for tool in BUILTIN.values()}
_CURRENT: Final = ("conversation_search", "memory_insert", "memory_replace")
_LEGACY: Final = ("send_message", "conversation_search", "core_memory_append", "core_memory_replace")
_SLEEPTIME: Final = ("memory_insert", "memory_replace", "memory_rethink", "memory_finish_edits")
_DEFAULTS: Final[Mapping[str, tuple[str, ...]]] = {
    "letta_v1_agent": _CURRENT,
    "memgpt_v2_agent": ("send_message", *_CURRENT),
    "memgpt_agent": _LEGACY,
    "split_thread_agent": _LEGACY,
    "react_agent": (),
    "workflow_agent": (),
    "sleeptime_agent": _SLEEPTIME,
    "voice_sleeptime_agent": _SLEEPTIME,
    "voice_convo_agent": _CURRENT,
}


def builtin_by_id(tool_id: str) -> BuiltinTool | None:
    """The builtin tool with this id; None if the id is not a builtin tool's."""
    return _BY_ID.get(tool_id)


def defaults(agent_type: str) -> list[str]:
    """Names of the tools that a new agent gets with `include_base_tools`; an unknown type like `letta_v1_agent`."""
    return list(_DEFAULTS.get(agent_type, _CURRENT))


def schema(tool: BuiltinTool) -> ToolSchema:
    """The tool as a model sees it."""
    return ToolSchema.model_validate(tool.json_schema)
