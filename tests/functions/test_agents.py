"""Agents through their handlers: what each operation answers, keeps and changes."""

from typing import Any

import pytest
from letta_client.types import AgentState
from pydantic import TypeAdapter

from tests.doubles.models import ScriptedModel
from tests.doubles.system import System

STATE = TypeAdapter(AgentState)
ALL = ["agent.blocks", "agent.tools", "agent.tags", "agent.secrets"]


def read(system: System, agent_id: str, *include: str) -> dict[str, Any]:
    answer = system.call("agents", "GET", f"/v1/agents/{agent_id}", query={"include": include} if include else None)
    assert answer.status == 200, answer.body
    STATE.validate_python(answer.body)
    state: dict[str, Any] = answer.body
    return state


def change(on: System, agent_id: str, **fields: Any) -> dict[str, Any]:
    answer = on.call("agents", "PATCH", f"/v1/agents/{agent_id}", fields)
    assert answer.status == 200, answer.body
    STATE.validate_python(answer.body)
    state: dict[str, Any] = answer.body
    return state


def test_a_new_agent_is_answered_with_everything_it_has(system: System) -> None:
    made = system.new_agent(
        name="Priya's",
        description="keeps notes",
        memory_blocks=[{"label": "human", "value": "Name: Priya", "limit": 2_000}],
        tags=["b", "a", "b"],
        metadata={"k": [1, None, 0.1]},
        timezone="Europe/Paris",
        tool_rules=[{"type": "exit_loop", "tool_name": "memory_insert"}],
    )

    STATE.validate_python(made)
    assert made["name"] == "Priya's"
    assert [(block["label"], block["value"], block["limit"]) for block in made["blocks"]] == [
        ("human", "Name: Priya", 2_000)
    ]
    assert made["memory"]["blocks"] == made["blocks"]
    assert {tool["name"] for tool in made["tools"]} == {"conversation_search", "memory_insert", "memory_replace"}
    assert (made["tags"], made["metadata"]) == (["b", "a"], {"k": [1, None, 0.1]})
    assert (made["timezone"], made["created_by_id"]) == ("Europe/Paris", "user-tenant01")
    assert [rule["tool_name"] for rule in made["tool_rules"]] == ["memory_insert"]
    assert len(made["message_ids"]) == 1


def test_a_read_shows_what_include_names_and_nothing_more(system: System) -> None:
    made = system.new_agent(memory_blocks=[{"label": "human", "value": "x"}], tags=["t"], secrets={"KEY": "s3cret"})
    parts = ("blocks", "tools", "tags", "secrets")

    def filled(*include: str) -> list[str]:
        return [part for part in parts if read(system, made["id"], *include)[part]]

    assert filled() == []
    for part in parts:
        assert filled(f"agent.{part}") == [part]
    assert filled("agent.blocks,agent.tags") == ["blocks", "tags"]
    listed = system.call("agents", "GET", "/v1/agents").body[0]
    assert [part for part in parts if listed[part]] == []
    filled_list = system.call("agents", "GET", "/v1/agents", query={"include": ALL}).body[0]
    assert [part for part in parts if filled_list[part]] == list(parts)
    older = system.call(
        "agents", "GET", f"/v1/agents/{made['id']}", query={"include_relationships": ["tools", "memory"]}
    )
    assert [part for part in parts if older.body[part]] == ["blocks", "tools"]
    assert system.call("agents", "GET", f"/v1/agents/{made['id']}", query={"include": "agent.everything"}).status == 422


def test_secrets_are_sealed_in_the_store_and_shown_only_on_request(system: System) -> None:
    made = system.new_agent(secrets={"KEY": "tr0ub4dor"}, tool_exec_environment_variables={"OLD": "c0rrect"})

    with system.engine.database.storage.reading() as connection:
        bodies = [body for (body,) in connection.execute("SELECT body FROM items")]
    assert not [body for body in bodies if "tr0ub4dor" in body or "c0rrect" in body]
    assert read(system, made["id"])["secrets"] == []
    shown = read(system, made["id"], "agent.secrets")
    assert {secret["key"]: secret["value"] for secret in shown["secrets"]} == {"KEY": "tr0ub4dor", "OLD": "c0rrect"}
    assert shown["tool_exec_environment_variables"] == shown["secrets"]

    change(system, made["id"], secrets={"KEY": "new"})
    assert [secret["value"] for secret in read(system, made["id"], "agent.secrets")["secrets"]] == ["new"]
    change(system, made["id"], secrets={})
    assert read(system, made["id"], "agent.secrets")["secrets"] == []


def test_a_page_of_agents_with_all_they_have_takes_five_reads(system: System) -> None:
    for number in range(8):
        system.new_agent(memory_blocks=[{"label": "human", "value": f"{number}"}], secrets={"KEY": f"{number}"})
    system.engine.counters.reset()

    page = system.call("agents", "GET", "/v1/agents", query={"include": ALL, "limit": 7}).body

    assert [agent["secrets"][0]["value"] for agent in page] == [agent["blocks"][0]["value"] for agent in page]
    assert system.engine.counters.counts.calls == {"Query": 1, "BatchGetItem": 4}


def test_a_name_alone_makes_an_agent_whose_blocks_reach_the_first_prompt(system: System, model: ScriptedModel) -> None:
    bare = system.call("agents", "POST", "/v1/agents", {"name": "bare"})
    block = system.call("blocks", "POST", "/v1/blocks", {"label": "human", "value": "Name: Priya"}).body
    carrier = system.new_agent(block_ids=[block["id"]], include_base_tools=False)

    assert (bare.status, bare.body["name"], bare.body["model"]) == (200, "bare", "demo/memory")
    assert bare.body["system"]
    system.send(carrier["id"], "hello")
    assert "Name: Priya" in model.requests[-1].messages[0].text
    assert model.requests[-1].tools == []
    system.call("blocks", "PATCH", f"/v1/blocks/{block['id']}", {"value": "Name: Ada"})
    system.send(carrier["id"], "hello again")
    assert "Name: Ada" in model.requests[-1].messages[0].text


def test_a_change_leaves_alone_what_it_does_not_name(system: System) -> None:
    made = system.new_agent(
        name="a", description="d", tags=["t"], metadata={"k": 1}, memory_blocks=[{"label": "human", "value": "x"}]
    )

    changed = change(system, made["id"], description="changed", tags=["u"], hidden=None, nothing_known=1)

    kept = {
        "name",
        "metadata",
        "blocks",
        "tools",
        "system",
        "model",
        "created_at",
        "tool_rules",
        "message_ids",
        "hidden",
    }
    assert {field for field in made if made[field] != changed[field]} == {"description", "tags", "updated_at"}
    assert {field: changed[field] for field in kept} == {field: made[field] for field in kept}
    assert changed["updated_at"] > made["updated_at"]
    assert read(system, made["id"], "agent.tags")["tags"] == ["u"]


@pytest.mark.parametrize(
    "given",
    [
        {"embedding": "openai/text-embedding-3-large"},
        {"embedding_config": {"handle": "openai/text-embedding-3-large"}},
        {"embedding_config": {"embedding_endpoint_type": "openai", "embedding_model": "text-embedding-3-large"}},
    ],
)
def test_an_embedding_model_is_shown_with_its_dimension_without_asking_its_provider(
    system: System, given: dict[str, Any]
) -> None:
    made, bare = system.new_agent(**given), system.new_agent()
    changed = change(system, bare["id"], **given)

    assert (bare["embedding"], bare["embedding_config"]) == (None, None)
    for shown in (made, changed, read(system, made["id"]), system.call("agents", "GET", "/v1/agents").body[0]):
        config = STATE.validate_python(shown).embedding_config
        assert config is not None
        assert (shown["embedding"], config.handle) == ("openai/text-embedding-3-large",) * 2
        assert (config.embedding_model, config.embedding_dim) == ("text-embedding-3-large", 3072)
        assert (config.embedding_endpoint_type, config.embedding_chunk_size) == ("openai", 300)


def test_an_embedding_model_of_unknown_dimension_has_no_config(system: System) -> None:
    made = system.new_agent(embedding="openai/mystery")

    assert (made["embedding"], made["embedding_config"]) == ("openai/mystery", None)


def test_an_empty_list_empties_and_null_changes_nothing(system: System) -> None:
    made = system.new_agent(tags=["t"], memory_blocks=[{"label": "human", "value": "x"}])

    assert change(system, made["id"], tags=None, block_ids=None, tool_ids=None)["tags"] == ["t"]
    emptied = change(system, made["id"], tags=[], block_ids=[], tool_ids=[])

    assert (emptied["tags"], emptied["blocks"], emptied["tools"]) == ([], [], [])
    assert system.call("blocks", "GET", f"/v1/blocks/{made['blocks'][0]['id']}/agents").body == []


def test_a_refused_change_changes_nothing_at_all(system: System) -> None:
    made = system.new_agent(name="a")
    never = "123e4567-e89b-42d3-8456-426614174000"

    for fields, status in (
        ({"block_ids": [f"block-{never}"]}, 404),
        ({"tool_ids": [f"tool-{never}"]}, 404),
        ({"message_ids": [f"message-{never}"]}, 404),
        ({"identity_ids": [f"identity-{never}"]}, 404),
        ({"model": "openai/none"}, 404),
        ({"timezone": "Mars/Olympus"}, 422),
        ({"context_window_limit": 0}, 422),
    ):
        answer = system.call("agents", "PATCH", f"/v1/agents/{made['id']}", {"name": "changed", **fields})
        assert answer.status == status, (fields, answer)
    assert read(system, made["id"])["name"] == "a"


def test_what_a_new_agent_names_wrongly_is_told(system: System) -> None:
    def refused(status: int, **fields: Any) -> str:
        answer = system.call("agents", "POST", "/v1/agents", {"model": "demo/memory", **fields})
        assert answer.status == status, answer
        return str(answer.body["detail"])

    assert "tools not found by name: ['no such', 'nothing']" in refused(400, tools=["no such", "nothing"])
    assert "demo/memory" in refused(404, model="openai/none")
    assert "human" in refused(400, memory_blocks=[{"label": "human", "value": "a"}, {"label": "human", "value": "b"}])
    assert "memory_blocks.0.label" in refused(422, memory_blocks=[{"label": "a\nb", "value": "a"}])
    assert "agent_type" in refused(422, agent_type="nothing")
    assert system.call("agents", "GET", "/v1/agents/count").body == 0
    assert system.call("blocks", "GET", "/v1/blocks/count").body == 0


def test_a_deleted_agent_is_gone_everywhere_and_its_blocks_stay(system: System, model: ScriptedModel) -> None:
    made = system.new_agent(name="a", tags=["t"], memory_blocks=[{"label": "human", "value": "x"}])
    system.send(made["id"], "hello")
    (run,) = system.call("runs", "GET", "/v1/runs").body
    path = f"/v1/agents/{made['id']}"

    answer = system.call("agents", "DELETE", path)

    assert answer.body == {"message": f"Agent id={made['id']} successfully deleted"}
    for function, method, gone in (
        ("agents", "GET", path), ("agents", "PATCH", path), ("agents", "DELETE", path),
        ("agents", "GET", f"{path}/context"), ("agents", "GET", f"{path}/tools"),
        ("messages", "GET", f"{path}/messages"),
        ("conversations", "GET", f"/v1/conversations/{made['id']}"), ("runs", "GET", f"/v1/runs/{run['id']}/messages"),
        ("agents", "POST", f"{path}/recompile"), ("agents", "PATCH", f"{path}/reset-messages"),
    ):  # fmt: skip
        assert system.call(function, method, gone, {} if method != "GET" else None).status == 404, gone
    assert system.send(made["id"], "hello").status == 404
    for query in ({}, {"tags": "t"}, {"name": "a"}, {"order_by": "updated_at"}, {"order_by": "last_run_completion"}):
        assert system.call("agents", "GET", "/v1/agents", query=query).body == [], query
    assert system.call("agents", "GET", "/v1/tags").body == []
    assert system.call("blocks", "GET", f"/v1/blocks/{made['blocks'][0]['id']}").status == 200


def test_the_last_run_is_shown_and_orders_the_list(system: System, model: ScriptedModel) -> None:
    first, second, third = (system.new_agent(name=name)["id"] for name in "abc")
    system.send(second, "hello")
    system.send(first, "hello")

    ran = read(system, first)
    ordered = system.call("agents", "GET", "/v1/agents", query={"order_by": "last_run_completion"}).body

    assert ran["last_stop_reason"] == "end_turn" and ran["last_run_completion"] and ran["last_run_duration_ms"] >= 0
    assert [agent["id"] for agent in ordered] == [first, second, third]
    change(system, third, last_run_completion="2126-01-01T02:00:00+02:00", last_stop_reason="error")
    newest = system.call("agents", "GET", "/v1/agents", query={"order_by": "last_run_completion", "limit": 1}).body[0]
    assert (newest["id"], newest["last_run_completion"]) == (third, "2126-01-01T00:00:00Z")


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "tomorrow", "1e400"])
def test_a_time_that_is_none_in_utc_is_refused(system: System, moment: str) -> None:
    made = system.new_agent()

    answer = system.call("agents", "PATCH", f"/v1/agents/{made['id']}", {"last_run_completion": moment})

    assert answer.status == 422


def test_a_recompile_renders_what_the_next_turn_would(system: System, model: ScriptedModel) -> None:
    made = system.new_agent(system="Be brief.", memory_blocks=[{"label": "human", "value": "old"}])
    path = f"/v1/agents/{made['id']}"
    stored = system.call("agents", "GET", f"{path}/context").body["messages"][0]
    assert system.call("agents", "POST", f"{path}/recompile").body == stored["content"][0]["text"]

    change(system, made["id"], system="Be very brief.")
    tried = system.call("agents", "POST", f"{path}/recompile", query={"dry_run": "true"}).body
    listed = system.call("messages", "GET", f"{path}/messages", query={"order": "asc"}).body[0]
    assert tried.startswith("Be very brief.") and listed["content"].startswith("Be brief.")

    compiled = system.call("agents", "POST", f"{path}/system-prompt/recompile").body
    listed = system.call("messages", "GET", f"{path}/messages", query={"order": "asc"}).body[0]
    assert compiled == listed["content"]
    system.send(made["id"], "hello")
    assert model.requests[0].messages[0].text == compiled


def test_the_context_is_counted_part_by_part(system: System, model: ScriptedModel) -> None:
    made = system.new_agent(memory_blocks=[{"label": "human", "value": "x"}], context_window_limit=20_000)
    before = system.call("agents", "GET", f"/v1/agents/{made['id']}/context").body
    system.send(made["id"], "hello")

    context = system.call("agents", "GET", f"/v1/agents/{made['id']}/context").body

    assert (before["num_messages"], context["num_messages"], context["context_window_size_max"]) == (1, 3, 20_000)
    parts = [value for name, value in context.items() if name.startswith("num_tokens_")]
    assert context["context_window_size_current"] == sum(parts)
    assert [message["role"] for message in context["messages"]] == ["system", "user", "assistant"]
    assert len(context["functions_definitions"]) == 3
    assert "<human>" in context["core_memory"] and made["id"] in context["external_memory_summary"]
