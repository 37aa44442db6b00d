"""Agents, blocks, tools, conversations, runs, steps and models as clients see them, read with letta-client's models."""

import json
from dataclasses import replace
from typing import Any

import pytest
from letta_client.types import AgentState, BlockResponse, Conversation, EmbeddingModel, Model, Step, Tool
from letta_client.types.agents import Run
from letta_client.types.runs import UsageRetrieveResponse
from letta_client.types.steps import MetricRetrieveResponse
from pydantic import TypeAdapter

from agentkeep.api.render.agents import EVERYTHING, AgentParts, agent_state
from agentkeep.api.render.blocks import block, block_version
from agentkeep.api.render.context import ContextParts, context_window
from agentkeep.api.render.conversations import conversation
from agentkeep.api.render.models import embedding_model, model
from agentkeep.api.render.runs import run, run_metrics, step, step_metrics, usage
from agentkeep.api.render.tools import builtin_tool
from agentkeep.models.interface import EmbeddingInfo, ModelInfo
from agentkeep.store import entities
from agentkeep.store.agents import Activity
from agentkeep.store.content import Usage
from agentkeep.tools.registry import BUILTIN, defaults, schema
from tests.unit.api import records
from tests.unit.api.records import AGENT, NOON, RUN, STEP, UUID

GPT = ModelInfo(
    handle="openai/gpt-4.1",
    name="gpt-4.1",
    provider_type="openai",
    provider_name="openai",
    endpoint="http://127.0.0.1:1/v1",
    endpoint_type="openai",
    context_window=1_047_576,
    max_output_tokens=32_768,
    reasoning=False,
    display_name="GPT 4.1",
)
DEMO = ModelInfo(
    handle="demo/memory",
    name="memory",
    provider_type="demo",
    provider_name="demo",
    endpoint="builtin",
    endpoint_type="openai",
    context_window=32_000,
    max_output_tokens=1_000,
    reasoning=False,
    display_name="memory",
)
EMBEDDING = EmbeddingInfo(
    "openai/text-embedding-3-small", "text-embedding-3-small", "openai", "openai", "http://x", 1536
)
BLOCK = entities.Block(
    id=f"block-{UUID}",
    label="human",
    value="Name: Bob",
    limit=5000,
    description="about the human",
    tags=["x"],
    name="bob",
    created_at=NOON,
    updated_at=NOON,
)
TOOLS = [BUILTIN[name] for name in defaults("letta_v1_agent")]


def agent(**fields: Any) -> entities.Agent:
    given = {"id": AGENT, "name": "ann", "system": "You remember.", "model": GPT.handle, "tags": ["t1"], **fields}
    return entities.Agent(**{"created_at": NOON, "updated_at": NOON, **given})


def parts(record: entities.Agent | None = None, info: ModelInfo = GPT) -> AgentParts:
    return AgentParts(
        agent=record or agent(),
        model=info,
        embedding=EMBEDDING,
        blocks=[BLOCK],
        tools=TOOLS,
        message_ids=["message-1"],
        activity=Activity(last_run_completion=NOON, last_run_duration_ms=12, last_stop_reason="end_turn"),
    )


def read(kind: Any, shown: Any) -> Any:
    """The answer as letta-client makes it an object, wrong types refused."""
    return TypeAdapter[Any](kind).validate_python(shown)


def test_the_password_of_a_providers_address_is_shown_nowhere() -> None:
    info = replace(GPT, endpoint="http://bob:pass@gpu.test/v1")
    embedding = replace(EMBEDDING, endpoint="http://bob:pass@gpu.test/v1")

    shown = [model(info), embedding_model(embedding), agent_state(replace(parts(info=info), embedding=embedding))]

    assert "pass" not in json.dumps(shown)
    assert [each.get("model_endpoint", each.get("embedding_endpoint")) for each in shown[:2]] == [
        "http://gpu.test/v1"
    ] * 2


def test_an_agent_is_shown_with_all_its_parts() -> None:
    shown = agent_state(parts())
    state = read(AgentState, shown)

    assert (state.name, state.model, state.embedding_config.embedding_dim) == ("ann", "openai/gpt-4.1", 1536)
    assert [each.value for each in state.blocks] == ["Name: Bob"]
    assert state.memory.blocks == state.blocks
    assert [tool.name for tool in state.tools] == ["conversation_search", "memory_insert", "memory_replace"]
    assert (state.tags, state.message_ids) == (["t1"], ["message-1"])
    assert (state.last_run_completion, state.last_run_duration_ms, state.last_stop_reason) == (NOON, 12, "end_turn")
    assert shown["created_at"] == "2026-03-02T12:00:00.123456Z"


@pytest.mark.parametrize(
    ("include", "filled"),
    [
        (frozenset(), []),
        (frozenset({"agent.tags"}), ["tags"]),
        (frozenset({"agent.blocks"}), ["blocks"]),
        (frozenset({"agent.tools", "agent.secrets", "agent.managed_group"}), ["tools"]),
        (EVERYTHING, ["blocks", "tags", "tools"]),
    ],
)
def test_what_include_does_not_name_is_there_and_empty(include: frozenset[str], filled: list[str]) -> None:
    shown = agent_state(parts(), include)

    assert read(AgentState, shown).id == AGENT
    assert [name for name in ("blocks", "tags", "tools") if shown[name]] == filled
    assert bool(shown["memory"]["blocks"]) == ("blocks" in filled)
    assert [shown[name] for name in ("sources", "secrets", "identities", "pending_approval")] == [[], [], [], None]


def test_settings_of_a_model_show_in_both_forms() -> None:
    settings = {
        "provider_type": "openai",
        "temperature": 0.2,
        "max_output_tokens": 99,
        "parallel_tool_calls": True,
        "reasoning": {"reasoning_effort": "low"},
    }
    shown = agent_state(parts(agent(model_settings=settings, context_window=64_000)))

    config = read(AgentState, shown).llm_config
    assert (config.context_window, config.temperature, config.max_tokens) == (64_000, 0.2, 99)
    assert (config.parallel_tool_calls, config.reasoning_effort) == (True, "low")
    assert shown["model_settings"] == {**settings, "response_format": None, "strict": False}


def test_what_an_agent_leaves_open_is_filled_in_from_its_model() -> None:
    shown = agent_state(parts())

    assert shown["llm_config"]["context_window"] == 1_047_576
    assert shown["model_settings"]["max_output_tokens"] == 32_768
    assert shown["compaction_settings"]["model"] == "openai/gpt-4.1"
    assert shown["compaction_settings"]["mode"] == "sliding_window"


def test_settings_for_compaction_are_kept() -> None:
    shown = agent_state(parts(agent(compaction_settings={"model": "letta/auto", "mode": "all"})))

    assert (shown["compaction_settings"]["model"], shown["compaction_settings"]["mode"]) == ("letta/auto", "all")


def test_an_agent_on_the_builtin_model_is_one_that_clients_can_read() -> None:
    state = read(AgentState, agent_state(parts(agent(model="demo/memory"), DEMO)))

    assert (state.model, state.llm_config.provider_name) == ("demo/memory", "demo")


def test_a_block() -> None:
    shown = read(BlockResponse, block(BLOCK))

    assert (shown.label, shown.value, shown.limit, shown.tags, shown.template_name) == (
        "human", "Name: Bob", 5000, ["x"], "bob",
    )  # fmt: skip


def test_an_entry_of_a_blocks_history() -> None:
    record = entities.BlockVersion(
        block_id=BLOCK.id,
        version=3,
        value="v",
        label="human",
        limit=5,
        changed_by="ann",
        changed_at=NOON,
        cause="tool",
        run_id=RUN,
    )

    assert block_version(record) == {
        "block_id": BLOCK.id,
        "version": 3,
        "value": "v",
        "label": "human",
        "description": None,
        "limit": 5,
        "cause": "tool",
        "changed_by": "ann",
        "changed_at": "2026-03-02T12:00:00.123456Z",
        "run_id": RUN,
    }


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_every_builtin_tool(name: str) -> None:
    shown = read(Tool, builtin_tool(BUILTIN[name]))

    assert (shown.name, shown.source_type) == (name, "python")
    assert shown.json_schema["name"] == name


def test_a_conversation() -> None:
    record = entities.Conversation(
        id=f"conv-{UUID}", agent_id=AGENT, system_message_id="message-1", context_window=64_000, created_at=NOON,
        updated_at=NOON,
    )  # fmt: skip

    shown = read(Conversation, conversation(record, ["message-1"], last_message_at=NOON))

    assert (shown.in_context_message_ids, shown.last_message_at) == (["message-1"], NOON)
    assert (shown.context_window_limit, shown.archived) == (64_000, False)
    assert conversation(record)["in_context_message_ids"] == []


def test_a_run() -> None:
    record = records.run(conversation=f"conv-{UUID}", completed_at=NOON, request={"use_assistant_message": False})

    shown = read(Run, run(record))

    assert (shown.status, shown.stop_reason, shown.conversation_id) == ("completed", "end_turn", f"conv-{UUID}")
    assert shown.request_config.use_assistant_message is False
    assert shown.metadata == {"run_type": "send_message"}


def test_a_run_of_the_default_conversation_names_none() -> None:
    assert run(records.run())["conversation_id"] is None


def test_a_failed_run_tells_its_error_where_letta_code_looks() -> None:
    error = {"type": "llm_rate_limit", "message": "Slow.", "detail": "said so"}

    shown = read(Run, run(records.run(status="failed", stop_reason="llm_api_error", error=error)))

    assert shown.metadata["error"] == {
        "message_type": "error_message",
        "run_id": RUN,
        "error_type": "llm_rate_limit",
        "message": "Slow.",
        "detail": "said so",
    }


def test_the_usage_of_a_run() -> None:
    shown = read(
        UsageRetrieveResponse,
        usage(Usage(prompt_tokens=9, completion_tokens=4, total_tokens=13, cached_input_tokens=5, reasoning_tokens=2)),
    )

    assert (shown.prompt_tokens, shown.completion_tokens, shown.total_tokens) == (9, 4, 13)
    assert shown.prompt_tokens_details.cached_tokens == 5
    assert shown.completion_tokens_details.reasoning_tokens == 2


def test_the_metrics_of_a_run() -> None:
    shown = run_metrics(records.run(steps=2, total_duration_ns=7, tools_used=["tool-a"]))

    assert (shown["run_start_ns"], shown["run_ns"], shown["num_steps"]) == (1_772_452_800_123_456_000, 7, 2)
    assert shown["tools_used"] == ["tool-a"]


def test_a_step_and_its_metrics() -> None:
    record = entities.Step(
        id=STEP,
        run_id=RUN,
        agent_id=AGENT,
        conversation=AGENT,
        number=1,
        model="openai/org/gpt-4.1",
        provider="openai",
        usage=Usage(prompt_tokens=3),
        error={"type": "llm_error"},
        feedback="positive",
        llm_request_ns=5,
        step_ns=8,
        created_at=NOON,
    )

    shown = read(Step, step(record))
    metrics = read(MetricRetrieveResponse, step_metrics(record))

    assert (shown.model, shown.api_model_handle, shown.prompt_tokens) == ("org/gpt-4.1", "openai/org/gpt-4.1", 3)
    assert (shown.error_type, shown.feedback, shown.status) == ("llm_error", "positive", "success")
    assert (metrics.llm_request_ns, metrics.step_ns) == (5, 8)


@pytest.mark.parametrize("info", [GPT, DEMO])
def test_a_model(info: ModelInfo) -> None:
    shown = read(Model, model(info))

    assert (shown.handle, shown.max_context_window) == (info.handle, info.context_window)
    assert shown.provider_type == {"openai": "openai", "demo": "letta"}[info.provider_type]


def test_an_embedding_model() -> None:
    shown = read(EmbeddingModel, embedding_model(EMBEDDING))

    assert (shown.handle, shown.embedding_dim) == ("openai/text-embedding-3-small", 1536)


def test_a_context_window_adds_up() -> None:
    shown = context_window(
        ContextParts(
            size=8_000,
            system="You remember.",
            core_memory="x" * 40,
            metadata="y" * 80,
            messages=[records.message("system", "all of it"), records.message("user", "Hi.")],
            tools=[schema(tool) for tool in TOOLS],
            recall=5,
        )
    )

    tokens = {name: count for name, count in shown.items() if name.startswith("num_tokens_")}
    assert shown["context_window_size_current"] == sum(tokens.values())
    assert (tokens["num_tokens_core_memory"], tokens["num_tokens_external_memory_summary"]) == (10, 20)
    assert (shown["context_window_size_max"], shown["num_messages"], shown["num_recall_memory"]) == (8_000, 2, 5)
    assert [each["function"]["name"] for each in shown["functions_definitions"]] == [tool.name for tool in TOOLS]
    assert [each["role"] for each in shown["messages"]] == ["system", "user"]
