"""From the body of agents.create to what is stored: the agent, its new blocks, the opening of its conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from agentkeep import clock, ids
from agentkeep.api.requests.agents import CreateAgent, UpdateAgent
from agentkeep.api.requests.blocks import CreateBlock
from agentkeep.errors import BadRequestError, NotFoundError
from agentkeep.memory.instructions import default_system
from agentkeep.memory.opening import SPEAKS_BY_TOOL, Draft
from agentkeep.models import ModelInfo, find_model, list_models
from agentkeep.store import blocks as block_store
from agentkeep.store.entities import Agent, Block
from agentkeep.tenancy.context import current_caller
from agentkeep.tools import registry

DEFAULT_CONTEXT_WINDOW: Final = 128_000
"""What an agent of a model with a larger window uses unless told otherwise, as in 0.16.7: longer contexts cost more."""
_NEEDS: Final = {"identity_ids": "Identity", "source_ids": "Source", "folder_ids": "Folder"}


class UnknownToolsError(BadRequestError):
    """Tools named in a request do not exist. Clients look for the words 'tools not found by name'."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"tools not found by name: {list(names)}. GET /v1/tools lists the tools there are.", names=list(names)
        )


class RepeatedLabelError(BadRequestError):
    """An agent's blocks are told apart by their labels."""

    def __init__(self, label: str) -> None:
        super().__init__(f"The agent would have two blocks with the label '{label}'. Rename or leave out one of them.")


@dataclass(frozen=True)
class Blueprint:
    """What agents.create is going to store."""

    agent: Agent
    new_blocks: list[Block]
    blocks: list[Block]
    opening: list[Draft] | None


def blueprint(request: CreateAgent) -> Blueprint:
    """Everything the request asks for, checked. Raises NotFoundError or BadRequestError for what it names wrongly."""
    refuse_unknown(request.model_dump(include=set(_NEEDS)))
    now = clock.now()
    model = chosen_model(request.model or handle_of(request.llm_config))
    attached = existing_blocks(request.block_ids or [])
    new_blocks = [new_block(block, now) for block in request.memory_blocks or []]
    blocks = [*new_blocks, *attached]
    refuse_repeated_labels(blocks)
    agent = _agent(request, model, [block.id for block in blocks], now)
    return Blueprint(agent, new_blocks, blocks, _opening(request))


def _agent(request: CreateAgent, model: ModelInfo, block_ids: list[str], now: datetime) -> Agent:
    identifier = ids.new("agent")
    tool_names = _tool_names(request)
    kept = request.given(
        "description", "metadata", "tags", "compaction_settings", "response_format", "hidden", "enable_sleeptime",
        "message_buffer_autoclear", "timezone", "max_files_open", "per_file_view_window_char_limit", "project_id",
        "template_id", "base_template_id", "embedding",
    )  # fmt: skip
    caller = current_caller.get().principal
    return Agent(
        id=identifier,
        name=request.name or f"Agent {identifier[-8:]}",
        agent_type=request.agent_type,
        system=default_system(request.agent_type) if request.system is None else request.system,
        model=model.handle,
        model_settings=settings(request, {}),
        context_window=window(request.context_window_limit, request.llm_config, model),
        block_ids=block_ids,
        tool_ids=_tool_ids(tool_names, request.tool_ids or []),
        tool_rules=_tool_rules(request, tool_names),
        created_by_id=caller,
        last_updated_by_id=caller,
        created_at=now,
        updated_at=now,
        **{"embedding": handle_of(request.embedding_config), **kept},
    )


def chosen_model(handle: str | None) -> ModelInfo:
    """The model of the handle, or the first that is listed when none is named. Raises UnknownModelError."""
    if handle is not None:
        return find_model(handle)
    return list_models()[0]


def handle_of(config: dict[str, Any] | None) -> str | None:
    """The handle that an older client's llm_config or embedding_config stands for."""
    if not config:
        return None
    if config.get("handle"):
        return str(config["handle"])
    kind = config.get("model_endpoint_type") or config.get("embedding_endpoint_type")
    name = config.get("model") or config.get("embedding_model")
    return f"{kind}/{name}" if kind and name else None


def window(limit: int | None, config: dict[str, Any] | None, model: ModelInfo) -> int:
    """The context window in tokens: as asked for, but never more than the model has."""
    asked = limit or (config or {}).get("context_window")
    return min(int(asked or DEFAULT_CONTEXT_WINDOW), model.context_window)


def settings(request: CreateAgent | UpdateAgent, current: dict[str, Any]) -> dict[str, Any]:
    """The model settings after a request: those it sends, with the older fields that mean the same."""
    merged = {**current, **(request.model_settings or {})}
    config = request.llm_config or {}
    older = {
        "max_output_tokens": request.max_tokens or config.get("max_tokens"),
        "parallel_tool_calls": request.parallel_tool_calls,
        "temperature": config.get("temperature"),
    }
    merged.update({name: value for name, value in older.items() if value is not None and name not in merged})
    if request.parallel_tool_calls is not None:
        merged["parallel_tool_calls"] = request.parallel_tool_calls
    return merged


def existing_blocks(block_ids: Sequence[str]) -> list[Block]:
    """The blocks of the ids, in their order. Raises NotFoundError for the first that does not exist."""
    wanted = list(dict.fromkeys(block_ids))
    found = block_store.get_many(wanted)
    for block_id in wanted:
        if block_id not in found:
            raise NotFoundError("Block", block_id)
    return [found[block_id] for block_id in wanted]


def new_block(request: CreateBlock, now: datetime) -> Block:
    """A block that is to be stored."""
    caller = current_caller.get().principal
    stamp = {"created_by_id": caller, "last_updated_by_id": caller, "created_at": now, "updated_at": now}
    return Block.model_validate({**request.given(), "value": request.value, "id": ids.new("block"), **stamp})


def refuse_repeated_labels(blocks: Sequence[Block]) -> None:
    """Raises RepeatedLabelError if two of an agent's blocks have one label."""
    seen: set[str] = set()
    for block in blocks:
        if block.label in seen:
            raise RepeatedLabelError(block.label)
        seen.add(block.label)


def refuse_unknown(fields: dict[str, Any]) -> None:
    """Raises NotFoundError for a reference to what this version cannot hold yet."""
    for name, kind in _NEEDS.items():
        for identifier in fields.get(name) or []:
            raise NotFoundError(kind, identifier)


def _tool_names(request: CreateAgent) -> list[str]:
    named = request.tools or []
    unknown = [name for name in named if name not in registry.BUILTIN]
    if unknown:
        raise UnknownToolsError(unknown)
    base = registry.defaults(request.agent_type) if request.include_base_tools else []
    return list(dict.fromkeys([*base, *named]))


def _tool_ids(names: Sequence[str], tool_ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*(registry.BUILTIN[name].id for name in names), *existing_tools(tool_ids)]))


def existing_tools(tool_ids: Sequence[str]) -> list[str]:
    """The ids themselves. Raises NotFoundError for the first that is no tool's."""
    for tool_id in tool_ids:
        if registry.builtin_by_id(tool_id) is None:
            raise NotFoundError("Tool", tool_id)
    return list(dict.fromkeys(tool_ids))


def _tool_rules(request: CreateAgent, tool_names: Sequence[str]) -> list[dict[str, Any]]:
    """The rules asked for, and for legacy agents those that end a turn with send_message."""
    given = request.tool_rules or []
    wanted = request.include_base_tool_rules
    if not (request.agent_type in SPEAKS_BY_TOOL if wanted is None else wanted):
        return given
    ruled = {rule["tool_name"] for rule in given}
    kinds = {name: "exit_loop" if name == "send_message" else "continue_loop" for name in tool_names}
    return given + [{"tool_name": name, "type": kind} for name, kind in kinds.items() if name not in ruled]


def _opening(request: CreateAgent) -> list[Draft] | None:
    if request.initial_message_sequence is None:
        return None
    return [Draft(role=message.role, content=message.parts()) for message in request.initial_message_sequence]
