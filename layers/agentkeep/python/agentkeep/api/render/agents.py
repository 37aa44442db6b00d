"""Agents as their state, with what a request asked to have filled in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentkeep.api.answers import MAX_BYTES, dumps, payload_bytes
from agentkeep.api.render.blocks import block
from agentkeep.api.render.models import embedding_config, llm_config, model_settings
from agentkeep.api.render.times import moment
from agentkeep.api.render.tools import builtin_tool
from agentkeep.models.interface import EmbeddingInfo, ModelInfo
from agentkeep.store.agents import Activity
from agentkeep.store.entities import Agent, Block
from agentkeep.tools.definition import BuiltinTool

Json = dict[str, Any]

EVERYTHING: Final = frozenset({"agent.blocks", "agent.tools", "agent.tags"})
"""What the answers of create, update, attach and detach fill in, and other reads only if `include` asks for it."""

_COMPACTION: Final = {
    "model_settings": None,
    "prompt": None,
    "prompt_acknowledgement": False,
    "clip_chars": 50_000,
    "mode": "sliding_window",
    "sliding_window_percentage": 0.3,
}


@dataclass(frozen=True)
class AgentParts:
    """An agent and all that its state shows of other records. `blocks` and `tools` are in the agent's order.

    `message_ids` are those in the context window of the agent's default conversation, the system message first.
    """

    agent: Agent
    model: ModelInfo
    embedding: EmbeddingInfo | None = None
    blocks: Sequence[Block] = ()
    tools: Sequence[BuiltinTool] = ()
    message_ids: Sequence[str] = ()
    activity: Activity = field(default_factory=Activity)
    secrets: Mapping[str, str] = field(default_factory=dict)


def agent_state(parts: AgentParts, include: frozenset[str] = EVERYTHING) -> Json:
    """The state of an agent. What `include` does not name is there and empty."""
    agent = parts.agent
    blocks = [block(each) for each in parts.blocks] if "agent.blocks" in include else []
    return {
        "created_by_id": agent.created_by_id,
        "last_updated_by_id": agent.last_updated_by_id,
        "created_at": moment(agent.created_at),
        "updated_at": moment(agent.updated_at),
        "id": agent.id,
        "name": agent.name,
        "tool_rules": agent.tool_rules,
        "message_ids": list(parts.message_ids),
        "system": agent.system,
        "agent_type": agent.agent_type,
        **_model(parts),
        "response_format": agent.response_format,
        "description": agent.description,
        "metadata": agent.metadata,
        "memory": memory(agent, blocks),
        "blocks": blocks,
        "tools": [builtin_tool(tool) for tool in parts.tools] if "agent.tools" in include else [],
        "tags": agent.tags if "agent.tags" in include else [],
        "tool_exec_environment_variables": _secrets(parts),
        "secrets": _secrets(parts),
        **_not_kept_yet(),
        "project_id": agent.project_id,
        "template_id": agent.template_id,
        "base_template_id": agent.base_template_id,
        "deployment_id": agent.deployment_id,
        "entity_id": agent.entity_id,
        "identity_ids": agent.identity_ids,
        "message_buffer_autoclear": agent.message_buffer_autoclear,
        "enable_sleeptime": agent.enable_sleeptime,
        "last_run_completion": moment(parts.activity.last_run_completion),
        "last_run_duration_ms": parts.activity.last_run_duration_ms,
        "last_stop_reason": parts.activity.last_stop_reason,
        "timezone": agent.timezone,
        "max_files_open": agent.max_files_open,
        "per_file_view_window_char_limit": agent.per_file_view_window_char_limit,
        "hidden": agent.hidden,
    }


def whole_agent(parts: AgentParts) -> Json:
    """The state of an agent that was just changed, everything filled in, unless that is more than an answer holds.

    The change was made, so the answer is no refusal: blocks and tools are empty, as in reads without `include`.
    """
    state = agent_state(parts)
    return state if payload_bytes(dumps(state)) <= MAX_BYTES else agent_state(parts, frozenset())


def memory(agent: Agent, blocks: Sequence[Json]) -> Json:
    """An agent's core memory: its blocks, rendered already."""
    return {
        "agent_type": agent.agent_type,
        "git_enabled": False,
        "blocks": list(blocks),
        "file_blocks": [],
        "prompt_template": "",
    }


def _model(parts: AgentParts) -> Json:
    agent, settings = parts.agent, parts.agent.model_settings or {}
    window = agent.context_window or parts.model.context_window
    return {
        "llm_config": llm_config(parts.model, window, settings),
        "embedding_config": embedding_config(parts.embedding) if parts.embedding else None,
        "model": agent.model,
        "embedding": agent.embedding,
        "model_settings": model_settings(parts.model, settings),
        "compaction_settings": {"model": agent.model, **_COMPACTION, **(agent.compaction_settings or {})},
    }


def _secrets(parts: AgentParts) -> list[Json]:
    return [{"key": name, "value": value, "agent_id": parts.agent.id} for name, value in parts.secrets.items()]


def _not_kept_yet() -> Json:
    """Fields of parts of the API that this version does not serve: empty for every agent."""
    return {
        "sources": [],
        "identities": [],
        "pending_approval": None,
        "multi_agent_group": None,
        "managed_group": None,
    }
