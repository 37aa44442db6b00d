"""Tools and models through their handlers: what there is, and which of it an agent has."""

import threading
from typing import Any

from letta_client.types import EmbeddingModel, Model, Tool
from pydantic import TypeAdapter

from tests.doubles.models import ScriptedModel
from tests.doubles.system import Answer, System

TOOLS = TypeAdapter(list[Tool])


def listed(system: System, **query: Any) -> list[dict[str, Any]]:
    answer = system.call("tools", "GET", "/v1/tools", query={"limit": 100, **query})
    assert answer.status == 200, answer.body
    TOOLS.validate_python(answer.body)
    tools: list[dict[str, Any]] = answer.body
    return tools


def on(system: System, agent_id: str, rest: str = "", method: str = "GET") -> Answer:
    return system.call("agents", method, f"/v1/agents/{agent_id}/tools{rest}")


def test_the_memory_tools_are_there_with_their_schemas(system: System) -> None:
    tools = {tool["name"]: tool for tool in listed(system)}

    expected = {"memory_insert", "memory_replace", "memory_rethink", "memory", "conversation_search", "send_message",
                "core_memory_append", "core_memory_replace"}  # fmt: skip
    assert expected <= tools.keys()
    assert tools["memory_insert"]["json_schema"]["parameters"]["required"]
    assert all(tool["json_schema"]["name"] == name for name, tool in tools.items())
    assert system.call("tools", "GET", f"/v1/tools/{tools['memory']['id']}").body == tools["memory"]


def test_tools_through_every_filter_and_their_count(system: System) -> None:
    everything = listed(system)
    memory = [tool for tool in everything if tool["name"] == "memory"]

    filters: list[tuple[dict[str, Any], list[str]]] = [
        ({"name": "memory"}, ["memory"]),
        ({"names": ["memory", "send_message"]}, ["memory", "send_message"]),
        ({"tool_ids": memory[0]["id"]}, ["memory"]),
        ({"search": "MEMORY_RE"}, ["memory_replace", "memory_rethink", "core_memory_replace"]),
        ({"tool_types": "custom"}, []),
        ({"name": "no such"}, []),
    ]
    for query, names in filters:
        assert {tool["name"] for tool in listed(system, **query)} >= set(names), query
        assert system.call("tools", "GET", "/v1/tools/count", query=query).body == len(listed(system, **query)), query
    by_type = [tool for tool in everything if tool["tool_type"] == "letta_core"]
    assert listed(system, tool_types="letta_core") == by_type
    assert listed(system, exclude_tool_types="letta_core") == [tool for tool in everything if tool not in by_type]
    assert system.call("tools", "GET", "/v1/tools/count").body == len(everything)
    assert system.call("tools", "GET", "/v1/tools/count", query={"exclude_letta_tools": "true"}).body == 0
    assert system.call("tools", "GET", "/v1/tools", query={"tool_types": "no such"}).status == 422


def test_adding_the_base_tools_answers_them_and_adds_none(system: System) -> None:
    before = listed(system)

    added = system.call("tools", "POST", "/v1/tools/add-base-tools")

    assert {tool["id"] for tool in added.body} == {tool["id"] for tool in before}
    assert listed(system) == before


def test_a_tool_is_attached_once_and_detached_once(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent(include_base_tools=False)
    (tool,) = listed(system, name="conversation_search")
    statuses: list[int] = []

    def attach() -> None:
        statuses.append(on(system, agent["id"], f"/attach/{tool['id']}", "PATCH").status)

    threads = [threading.Thread(target=attach) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [200] * 5
    assert [found["name"] for found in on(system, agent["id"]).body] == ["conversation_search"]
    system.send(agent["id"], "hello")
    assert [offered.name for offered in model.requests[0].tools] == ["conversation_search"]
    assert on(system, agent["id"], f"/detach/{tool['id']}", "PATCH").body["tools"] == []
    assert on(system, agent["id"], f"/detach/{tool['id']}", "PATCH").status == 404
    assert on(system, agent["id"], "/attach/tool-123e4567-e89b-42d3-8456-426614174000", "PATCH").status == 404


def test_an_agent_gets_the_tools_of_its_type_those_named_and_those_by_id(system: System) -> None:
    (search,) = listed(system, name="conversation_search")

    def names(**fields: Any) -> set[str]:
        return {tool["name"] for tool in system.new_agent(**fields)["tools"]}

    assert names() == {"conversation_search", "memory_insert", "memory_replace"}
    assert names(include_base_tools=False) == set()
    assert names(include_base_tools=False, tools=["memory"], tool_ids=[search["id"]]) == {
        "memory",
        "conversation_search",
    }
    assert "send_message" in names(agent_type="memgpt_v2_agent")


def test_the_models_that_can_be_called_are_listed(system: System) -> None:
    models = system.call("models", "GET", "/v1/models").body

    TypeAdapter(list[Model]).validate_python(models)
    assert [model["handle"] for model in models] == ["demo/memory"]
    assert models[0]["context_window"] == models[0]["max_context_window"] > 0
    assert system.call("models", "GET", "/v1/models", query={"provider_name": "openai"}).body == []
    assert system.call("models", "GET", "/v1/models", query={"provider_category": "byok"}).body == []
    for path in ("/v1/models/embedding", "/v1/models/embeddings"):
        embeddings = system.call("models", "GET", path).body
        TypeAdapter(list[EmbeddingModel]).validate_python(embeddings)
        assert embeddings == []
