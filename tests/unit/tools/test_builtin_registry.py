"""The builtin tools as clients, agent files and models know them."""

import pytest

from agentkeep import ids
from agentkeep.store.content import ToolSchema
from agentkeep.tools.definition import BuiltinTool
from agentkeep.tools.registry import BUILTIN, builtin_by_id, defaults, schema

# Names, types and parameters (the required ones first, behind them the optional ones) of the archived server 0.16.7.
KNOWN = {
    "memory_insert": ("letta_sleeptime_core", ["label", "new_string"], ["insert_line"]),
    "memory_replace": ("letta_sleeptime_core", ["label", "old_string", "new_string"], []),
    "memory_rethink": ("letta_sleeptime_core", ["label", "new_memory"], []),
    "memory_finish_edits": ("letta_sleeptime_core", [], []),
    "memory": (
        "letta_memory_core",
        ["command"],
        [
            "path", "file_text", "description", "old_string", "new_string", "insert_line", "insert_text", "old_path",
            "new_path",
        ],
    ),
    "core_memory_append": ("letta_memory_core", ["label", "content"], []),
    "core_memory_replace": ("letta_memory_core", ["label", "old_content", "new_content"], []),
    "memory_apply_patch": ("letta_memory_core", ["label", "patch"], []),
    "conversation_search": ("letta_core", [], ["query", "roles", "limit", "start_date", "end_date"]),
    "send_message": ("letta_core", ["message"], []),
    "archival_memory_insert": ("letta_core", ["content"], ["tags"]),
    "archival_memory_search": (
        "letta_core",
        ["query"],
        ["tags", "tag_match_mode", "top_k", "start_datetime", "end_datetime"],
    ),
    "rethink_user_memory": ("letta_voice_sleeptime_core", ["new_memory"], []),
    "finish_rethinking_memory": ("letta_voice_sleeptime_core", [], []),
    "search_memory": (
        "letta_voice_sleeptime_core",
        [],
        ["convo_keyword_queries", "start_minutes_ago", "end_minutes_ago"],
    ),
    "store_memories": ("letta_voice_sleeptime_core", ["chunks"], []),
    "send_message_to_agent_and_wait_for_reply": ("letta_multi_agent_core", ["message", "other_agent_id"], []),
    "send_message_to_agent_async": ("letta_multi_agent_core", ["message", "other_agent_id"], []),
    "send_message_to_agents_matching_tags": ("letta_multi_agent_core", ["message", "match_all", "match_some"], []),
    "open_files": ("letta_files_core", ["file_requests"], ["close_all_others"]),
    "grep_files": ("letta_files_core", ["pattern"], ["include", "context_lines", "offset"]),
    "semantic_search_files": ("letta_files_core", ["query"], ["limit"]),
    "web_search": (
        "letta_builtin",
        ["query"],
        [
            "num_results", "category", "include_text", "include_domains", "exclude_domains", "start_published_date",
            "end_published_date", "user_location",
        ],
    ),
    "fetch_webpage": ("letta_builtin", ["url"], []),
    "run_code": ("letta_builtin", ["code", "language"], []),
    "run_code_with_tools": ("letta_builtin", ["code"], []),
}  # fmt: skip


def test_every_tool_of_the_archived_server_is_known() -> None:
    assert set(BUILTIN) == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_types_and_parameters_are_those_of_the_archived_server(name: str) -> None:
    tool_type, required, optional = KNOWN[name]
    tool = BUILTIN[name]

    assert (tool.tool_type, tool.tags) == (tool_type, (tool_type,))
    assert tool.parameters["type"] == "object"
    assert tool.parameters["required"] == required
    assert sorted(tool.parameters["properties"]) == sorted(required + optional)


def test_eight_tools_and_the_end_of_editing_work() -> None:
    assert {name for name, tool in BUILTIN.items() if tool.available} == {
        "memory_insert", "memory_replace", "memory_rethink", "memory", "core_memory_append", "core_memory_replace",
        "conversation_search", "send_message", "memory_finish_edits",
    }  # fmt: skip


def test_effects_tell_the_driver_what_a_call_touches() -> None:
    effects = {name: tool.effects for name, tool in BUILTIN.items() if tool.effects != "none"}

    assert effects == {
        "memory_insert": "memory",
        "memory_replace": "memory",
        "memory_rethink": "memory",
        "memory": "memory",
        "core_memory_append": "memory",
        "core_memory_replace": "memory",
        "conversation_search": "recall",
        "send_message": "reply",
    }


@pytest.mark.parametrize("tool", BUILTIN.values(), ids=lambda tool: tool.name)
def test_an_id_has_the_shape_clients_check_and_leads_back_to_its_tool(tool: BuiltinTool) -> None:
    assert ids.is_id(tool.id, "tool")
    assert builtin_by_id(tool.id) is tool


def test_ids_never_change() -> None:
    assert BUILTIN["memory_insert"].id == "tool-05488b89-07e5-44ec-a3cf-ef1b3b660f53"
    assert len({tool.id for tool in BUILTIN.values()}) == len(BUILTIN)


def test_an_id_of_no_builtin_tool_finds_nothing() -> None:
    assert builtin_by_id("tool-9172db7d-b6a8-495c-ae20-9d399284b1ca") is None


@pytest.mark.parametrize(
    ("agent_type", "names"),
    [
        ("letta_v1_agent", ["conversation_search", "memory_insert", "memory_replace"]),
        ("memgpt_v2_agent", ["conversation_search", "memory_insert", "memory_replace", "send_message"]),
        ("memgpt_agent", ["conversation_search", "core_memory_append", "core_memory_replace", "send_message"]),
        ("sleeptime_agent", ["memory_finish_edits", "memory_insert", "memory_replace", "memory_rethink"]),
        ("react_agent", []),
        ("workflow_agent", []),
        ("agent_of_tomorrow", ["conversation_search", "memory_insert", "memory_replace"]),
    ],
)
def test_default_tools_by_agent_type(agent_type: str, names: list[str]) -> None:
    assert sorted(defaults(agent_type)) == names


def test_defaults_can_be_changed_by_the_caller() -> None:
    defaults("letta_v1_agent").append("web_search")

    assert "web_search" not in defaults("letta_v1_agent")


def test_a_models_schema_can_be_changed_by_the_caller() -> None:
    seen = schema(BUILTIN["memory_rethink"])
    seen.parameters["properties"]["label"]["description"] = "changed"
    BUILTIN["memory_rethink"].json_schema["parameters"]["required"].clear()

    assert BUILTIN["memory_rethink"].parameters["properties"]["label"]["description"] != "changed"
    assert BUILTIN["memory_rethink"].parameters["required"] == ["label", "new_memory"]


def test_a_model_sees_name_description_and_parameters() -> None:
    tool = BUILTIN["fetch_webpage"]

    assert schema(tool) == ToolSchema(
        name="fetch_webpage",
        description=tool.description,
        parameters={
            "type": "object",
            "properties": {"url": {"type": "string", "description": "The address of the page."}},
            "required": ["url"],
        },
    )


@pytest.mark.parametrize("tool", BUILTIN.values(), ids=lambda tool: tool.name)
def test_every_parameter_is_described(tool: BuiltinTool) -> None:
    described = {name for name, shape in tool.parameters["properties"].items() if shape["description"]}

    assert tool.description
    assert described == set(tool.parameters["properties"])
