"""Blocks through their handlers: by themselves, on agents, shared, and their history."""

import threading
from typing import Any

import pytest
from letta_client.types import AgentState, BlockResponse
from pydantic import TypeAdapter

from infra.local.weather import Weather
from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.system import Answer, System

BLOCK = TypeAdapter(BlockResponse)
STATE = TypeAdapter(AgentState)


def make(system: System, **fields: Any) -> dict[str, Any]:
    answer = system.call("blocks", "POST", "/v1/blocks", {"label": "human", "value": "", **fields})
    assert answer.status == 200, answer.body
    BLOCK.validate_python(answer.body)
    block: dict[str, Any] = answer.body
    return block


def change(system: System, block_id: str, **fields: Any) -> Answer:
    return system.call("blocks", "PATCH", f"/v1/blocks/{block_id}", fields)


def on(system: System, agent_id: str, rest: str = "", method: str = "GET", body: Any = None) -> Answer:
    return system.call("agents", method, f"/v1/agents/{agent_id}/core-memory/blocks{rest}", body)


def test_a_block_keeps_what_it_was_given_and_shows_it(system: System) -> None:
    given = {
        "label": "human", "value": "Priya\n\t</value> {CORE_MEMORY} 🙂", "limit": 500, "description": "who I talk to",
        "read_only": True, "metadata": {"k": [0.1, None]}, "tags": ["a", "b"], "hidden": True, "is_template": True,
        "template_name": "t", "project_id": "p", "preserve_on_migration": True, "entity_id": "e",
    }  # fmt: skip

    made = make(system, **given)

    assert {name: made[name] for name in given} == given
    assert made["created_by_id"] == made["last_updated_by_id"] == "user-tenant01"
    assert system.call("blocks", "GET", f"/v1/blocks/{made['id']}").body == made


def test_a_change_leaves_alone_what_it_does_not_name(system: System) -> None:
    made = make(system, value="a", description="d", tags=["t"], metadata={"k": 1}, limit=50)

    changed = change(system, made["id"], value="b", tags=None, nothing_known=1).body

    assert {field for field in made if made[field] != changed[field]} == {"value"}
    assert change(system, made["id"], value="", tags=[], metadata={}).body["value"] == ""


def test_a_value_over_its_limit_is_kept_and_shown_and_the_turn_goes_on(system: System, model: ScriptedModel) -> None:
    made = make(system, value="x" * 150, limit=100)
    agent = system.new_agent(block_ids=[made["id"]])

    assert change(system, made["id"], value="y" * 200).body["limit"] == 100

    assert on(system, agent["id"], "/human").body["value"] == "y" * 200
    listed = system.call("agents", "GET", "/v1/agents", query={"include": "agent.blocks"}).body[0]
    assert STATE.validate_python(listed).blocks[0].limit == 100
    assert system.send(agent["id"], "hello").status == 200
    assert "chars_current=200" in model.requests[0].messages[0].text
    assert "chars_limit=100" in model.requests[0].messages[0].text


def test_a_deleted_block_is_gone_and_taken_off_its_agents(system: System, model: ScriptedModel) -> None:
    made, other = make(system, value="secret plan", tags=["t"]), make(system, label="other", value="stays")
    agents = [system.new_agent(block_ids=[made["id"], other["id"]])["id"] for _ in range(3)]

    assert system.call("blocks", "DELETE", f"/v1/blocks/{made['id']}").status == 200

    for method, rest in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/agents"),
        ("GET", "/history"),
        ("POST", "/undo"),
    ):
        body = {} if method in ("PATCH", "POST") else None
        assert system.call("blocks", method, f"/v1/blocks/{made['id']}{rest}", body).status == 404, (method, rest)
    for query in ({}, {"label": "human"}, {"tags": "t"}):
        assert made["id"] not in [block["id"] for block in system.call("blocks", "GET", "/v1/blocks", query=query).body]
    for agent_id in agents:
        assert [block["id"] for block in on(system, agent_id).body] == [other["id"]]
        assert on(system, agent_id, "/human").status == 404
        assert on(system, agent_id, f"/attach/{make(system, label='human')['id']}", "PATCH").status == 200
    system.send(agents[0], "hello")
    assert "secret plan" not in model.requests[0].messages[0].text


def test_attaching_twice_is_attaching_once(system: System) -> None:
    made = make(system, value="shared")
    agent = system.new_agent()

    for _ in range(2):
        answer = on(system, agent["id"], f"/attach/{made['id']}", "PATCH")
        assert [block.id for block in STATE.validate_python(answer.body).blocks] == [made["id"]]

    assert [found["id"] for found in system.call("blocks", "GET", f"/v1/blocks/{made['id']}/agents").body] == [
        agent["id"]
    ]


def test_attaching_five_times_at_once_is_attaching_once(system: System) -> None:
    made = make(system, value="shared")
    agent = system.new_agent()
    statuses: list[int] = []
    system.engine.weather = Weather.only("conflicts", 5, rate=0.2)

    def attach() -> None:
        statuses.append(on(system, agent["id"], f"/attach/{made['id']}", "PATCH").status)

    threads = [threading.Thread(target=attach) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [200] * 5
    assert [block["id"] for block in on(system, agent["id"]).body] == [made["id"]]


def test_detaching_leaves_the_block_and_is_told_when_it_is_not_there(system: System) -> None:
    made = make(system)
    agent = system.new_agent(block_ids=[made["id"]])

    detached = on(system, agent["id"], f"/detach/{made['id']}", "PATCH")

    assert (detached.status, detached.body["blocks"]) == (200, [])
    assert on(system, agent["id"], f"/detach/{made['id']}", "PATCH").status == 404
    assert system.call("blocks", "GET", f"/v1/blocks/{made['id']}").status == 200
    assert system.call("blocks", "GET", f"/v1/blocks/{made['id']}/agents").body == []


def test_one_agent_never_has_two_blocks_with_one_label(system: System) -> None:
    first, second, third = make(system, label="human"), make(system, label="human"), make(system, label="notes")
    agent = system.new_agent(block_ids=[first["id"], third["id"]])
    refused = [
        on(system, agent["id"], f"/attach/{second['id']}", "PATCH"),
        on(system, agent["id"], "/notes", "PATCH", {"label": "human"}),
        change(system, third["id"], label="human", value="changed"),
        system.call("agents", "PATCH", f"/v1/agents/{agent['id']}", {"block_ids": [first["id"], second["id"]]}),
        system.call("agents", "POST", "/v1/agents", {"block_ids": [first["id"], second["id"]]}),
    ]

    assert [(answer.status, "'human'" in answer.body["detail"]) for answer in refused] == [(400, True)] * 5
    kept = [(block["label"], block["value"]) for block in on(system, agent["id"]).body]
    assert kept == [("notes", ""), ("human", "")]
    assert on(system, agent["id"], "/notes", "PATCH", {"label": "log"}).status == 200
    renamed = on(system, agent["id"], "/notes")
    assert (renamed.status, renamed.body["detail"]) == (404, f"Block of {agent['id']} not found with label='notes'")
    undone = system.call("blocks", "POST", f"/v1/blocks/{third['id']}/undo", {}).body
    assert undone["label"] == "notes"


@pytest.mark.parametrize("label", ["a/b", "é ü", "日本語", "x.y:z", "a b/c d"])
def test_labels_of_every_script_with_slashes_are_found_by_their_path(system: System, label: str) -> None:
    agent = system.new_agent(memory_blocks=[{"label": label, "value": "x"}])
    encoded = "".join(f"%{byte:02X}" for byte in label.encode())

    answer = on(system, agent["id"], f"/{encoded}", "PATCH", {"value": "changed"})

    assert (answer.status, answer.body["value"]) == (200, "changed")
    assert on(system, agent["id"], f"/{encoded}").body["label"] == label


def test_a_shared_block_is_one_block(system: System, model: ScriptedModel) -> None:
    made = make(system, value="old")
    first, second = (system.new_agent(block_ids=[made["id"]])["id"] for _ in range(2))
    model.script = [
        calls("memory_replace", {"label": "human", "old_string": "old", "new_string": "new"}),
        says("Done."),
    ]

    system.send(first, "Change it.")

    assert on(system, second, "/human").body["value"] == "new"
    system.send(second, "hello")
    assert "new" in model.requests[-1].messages[0].text
    newest = system.call("blocks", "GET", f"/v1/blocks/{made['id']}/history").body[0]
    assert (newest["version"], newest["cause"], newest["value"]) == (2, "tool", "new")
    assert newest["run_id"] == system.call("runs", "GET", "/v1/runs", query={"agent_id": first}).body[0]["id"]


def test_the_history_tells_who_wrote_what_and_undo_is_a_write_of_its_own(system: System) -> None:
    made = make(system, value="one", description="first", limit=10)
    change(system, made["id"], value="two", description="second", limit=20)
    path = f"/v1/blocks/{made['id']}"

    undone = system.call("blocks", "POST", f"{path}/undo", {})
    again = system.call("blocks", "POST", f"{path}/undo", {})
    to_first = system.call("blocks", "POST", f"{path}/undo", {"version": 1})

    BLOCK.validate_python(undone.body)
    assert (undone.body["value"], undone.body["description"], undone.body["limit"]) == ("one", "first", 10)
    assert (again.body["value"], to_first.body["value"]) == ("two", "one")
    history = system.call("blocks", "GET", f"{path}/history").body
    assert [(entry["version"], entry["cause"], entry["value"]) for entry in history] == [
        (5, "undo", "one"), (4, "undo", "two"), (3, "undo", "one"), (2, "update", "two"), (1, "create", "one"),
    ]  # fmt: skip
    assert {entry["changed_by"] for entry in history} == {"user-tenant01"}


def test_undoing_what_was_never_written_is_refused(system: System) -> None:
    made = make(system)
    path = f"/v1/blocks/{made['id']}/undo"

    assert system.call("blocks", "POST", path, {}).status == 400
    unknown = system.call("blocks", "POST", path, {"version": 2})
    assert (unknown.status, unknown.body["detail"]) == (404, f"Version of {made['id']} not found with number='2'")
    assert system.call("blocks", "POST", path, {"version": 0}).status == 422
    assert len(system.call("blocks", "GET", f"/v1/blocks/{made['id']}/history").body) == 1


def test_changes_of_different_fields_at_once_are_all_kept(system: System) -> None:
    made = make(system)
    fields = [{"value": "v"}, {"description": "d"}, {"metadata": {"k": 1}}, {"limit": 7}, {"read_only": True}]
    threads = [threading.Thread(target=change, args=(system, made["id"]), kwargs=each) for each in fields]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    kept = system.call("blocks", "GET", f"/v1/blocks/{made['id']}").body

    assert {name: kept[name] for each in fields for name in each} == {
        name: v for each in fields for name, v in each.items()
    }
    versions = [entry["version"] for entry in system.call("blocks", "GET", f"/v1/blocks/{made['id']}/history").body]
    assert versions == [6, 5, 4, 3, 2, 1]


def test_nul_and_half_pairs_are_dropped_and_the_rest_is_kept(system: System) -> None:
    made = make(system, value="a\0b\ud800c", description="\0", metadata={"\0k": "v\0"}, tags=["t\0"])

    assert (made["value"], made["description"]) == ("ab\ufffdc", "")
    assert (made["metadata"], made["tags"]) == ({"k": "v"}, ["t"])
    assert system.call("blocks", "POST", "/v1/blocks", {"label": "\0", "value": ""}).status == 422
    assert len(system.call("blocks", "GET", "/v1/blocks", query={"value_search": "ab"}).body) == 1
