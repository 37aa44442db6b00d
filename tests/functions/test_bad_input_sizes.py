"""Very much of something that is allowed: it is stored whole or refused with a sentence, and never stored by half."""

from typing import Any

import pytest

from infra.local.weather import FaultPlan
from tests.doubles.hostile import contents
from tests.doubles.models import ScriptedModel
from tests.doubles.system import Answer, System

EMOJI = "🙂"
TAGS = [f"{number:02}" + EMOJI * 198 for number in range(50)]
OTHER_TAGS = [f"{number:02}" + "é" * 198 for number in range(50)]


class CrashError(Exception):
    """The process is gone."""


def refused(system: System, *request: Any) -> Answer:
    """The answer of a request that is refused and changes nothing."""
    before = contents(system)
    answer = system.call(*request)
    assert answer.status in (400, 413, 422), answer.status
    assert contents(system) == before
    return answer


def test_a_body_that_lambda_would_not_take_is_refused(system: System) -> None:
    block = {"label": "a", "value": "x" * 10_000_000}
    assert "5,900 KB" in refused(system, "blocks", "POST", "/v1/blocks", block).body["detail"]
    quotes = {"label": "a", "value": '"' * 2_000_000}
    assert refused(system, "blocks", "POST", "/v1/blocks", quotes).status == 413
    agent = system.new_agent()
    message = {"input": EMOJI * 1_500_000}
    assert refused(system, "messages", "POST", f"/v1/agents/{agent['id']}/messages", message).status == 413


def test_five_megabytes_are_kept_to_the_last_character(system: System, model: ScriptedModel) -> None:
    text = "x" * 4_999_999 + "é"
    block = system.call("blocks", "POST", "/v1/blocks", {"label": "a", "value": text}).body
    agent = system.new_agent()

    assert system.send(agent["id"], text).status == 200

    assert system.call("blocks", "GET", f"/v1/blocks/{block['id']}").body["value"] == text
    assert system.call("blocks", "GET", "/v1/blocks", query={"limit": 1}).body[0]["value"] == text
    messages = system.call("messages", "GET", f"/v1/agents/{agent['id']}/messages", query={"limit": 2}).body
    assert messages[1]["content"] == text


def test_a_page_that_no_answer_can_hold_says_what_to_do(system: System) -> None:
    for _ in range(2):
        system.call("blocks", "POST", "/v1/blocks", {"label": "a", "value": "x" * 4_000_000})

    answer = system.call("blocks", "GET", "/v1/blocks")

    assert (answer.status, "'limit'" in answer.body["detail"]) == (413, True)


def test_forty_long_messages_in_one_request(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    several = [{"role": "user", "content": f"{number}" + "x" * 120_000, "otid": f"{number}"} for number in range(40)]
    path = f"/v1/agents/{agent['id']}/messages"

    assert system.call("messages", "POST", path, {"messages": several}).status == 200
    refused(system, "messages", "POST", path, {"messages": [*several, {"role": "user", "content": "x"}]})

    listed = system.call("messages", "GET", path, query={"limit": 30, "order": "asc"}).body
    assert [message["content"] for message in listed[1:]] == [message["content"] for message in several[:29]]


@pytest.mark.parametrize(("function", "path"), [("agents", "/v1/agents"), ("blocks", "/v1/blocks")])
def test_fifty_tags_as_long_as_they_may_be(system: System, function: str, path: str) -> None:
    body = {"label": "a", "value": "x" * 120_000, "description": EMOJI * 30_000, "tags": TAGS, "name": EMOJI * 256}
    made = system.call(function, "POST", path, body | {"model": "demo/memory"})
    assert made.status == 200

    changed = system.call(function, "PATCH", f"{path}/{made.body['id']}", {"tags": OTHER_TAGS, "name": "b"})

    assert changed.body["tags"] == OTHER_TAGS
    for tags, found in ((OTHER_TAGS, [made.body["id"]]), (TAGS, [])):
        for tag in (tags[0], tags[49]):
            page = system.call(function, "GET", path, query={"tags": tag}).body
            assert [item["id"] for item in page] == found
    refused(system, function, "PATCH", f"{path}/{made.body['id']}", {"tags": [*TAGS, "one more"]})
    refused(system, function, "PATCH", f"{path}/{made.body['id']}", {"tags": ["x" * 201]})
    assert system.call(function, "DELETE", f"{path}/{made.body['id']}").status == 200
    assert system.call(function, "GET", path).body == []


def test_the_longest_names_and_labels(system: System) -> None:
    label = "é/ü" * 42
    made = system.new_agent(name=EMOJI * 256, memory_blocks=[{"label": label, "value": "x"}])

    for query in ({"name": EMOJI * 256}, {"query_text": EMOJI * 200}):
        assert [item["id"] for item in system.call("agents", "GET", "/v1/agents", query=query).body] == [made["id"]]
    found = system.call("blocks", "GET", "/v1/blocks", query={"label": label}).body
    assert [item["id"] for item in found] == [made["blocks"][0]["id"]]
    for query in ({"name": "x" * 8_000}, {"query_text": "x" * 8_000}):
        assert system.call("agents", "GET", "/v1/agents", query=query).body == []
    refused(system, "agents", "PATCH", f"/v1/agents/{made['id']}", {"name": EMOJI * 257})


def test_an_agent_with_a_hundred_blocks(system: System, model: ScriptedModel) -> None:
    blocks = [{"label": f"block {number}", "value": f"value {number}"} for number in range(100)]

    made = system.new_agent(memory_blocks=blocks, tags=TAGS)

    assert [block["value"] for block in made["blocks"]] == [block["value"] for block in blocks]
    system.send(made["id"], "hello")
    assert "value 99" in model.requests[0].messages[0].text
    assert system.call("blocks", "GET", "/v1/blocks/count").body == 100
    assert system.call("agents", "DELETE", f"/v1/agents/{made['id']}").status == 200
    assert system.call("agents", "GET", "/v1/tags").body == []


def test_an_agent_that_breaks_off_while_it_is_made_leaves_nothing_to_be_seen(system: System) -> None:
    body = {
        "model": "demo/memory",
        "tags": ["t"],
        "memory_blocks": [{"label": f"block {number}", "value": "x", "tags": ["t"]} for number in range(60)],
        "initial_message_sequence": [{"role": "user", "content": "hello"} for _ in range(60)],
    }
    system.engine.faults = FaultPlan()
    assert system.call("agents", "POST", "/v1/agents", body).status == 200
    writes = system.engine.faults.writes
    made = seen(system)

    for number in range(1, writes + 1):
        system.engine.faults = FaultPlan.fail_at(number, when="before", error=CrashError())
        assert system.call("agents", "POST", "/v1/agents", body).status == 500
        system.engine.faults = None
        assert seen(system) == made, f"after write {number} of {writes}"

    assert writes >= 4


def seen(system: System) -> list[Any]:
    """All that lists and counts show."""
    asked = [
        *((kind, f"/v1/{kind}", query) for kind in ("agents", "blocks") for query in ({}, {"tags": "t"})),
        *((kind, f"/v1/{kind}/count", {}) for kind in ("agents", "blocks")),
        ("messages", "/v1/messages", {}),
    ]
    return [system.call(kind, "GET", path, query={"limit": 1000, **query}).body for kind, path, query in asked]


def test_memory_that_no_answer_could_show_twice_is_stored_and_answered_without_it(system: System) -> None:
    blocks = [{"label": f"block {number}", "value": "x" * 100_000} for number in range(40)]

    made = system.new_agent(memory_blocks=blocks)

    assert made["blocks"] == [] and made["memory"]["blocks"] == []
    renamed = system.call("agents", "PATCH", f"/v1/agents/{made['id']}", {"name": "b"})
    assert (renamed.status, renamed.body["name"]) == (200, "b")
    page = system.call("agents", "GET", f"/v1/agents/{made['id']}/core-memory/blocks", query={"limit": 40}).body
    assert len(page) == 40
    whole = system.call("agents", "GET", f"/v1/agents/{made['id']}", query={"include": "agent.blocks"})
    assert whole.status == 413


def test_a_window_of_a_thousand_messages(system: System, model: ScriptedModel) -> None:
    opening = [{"role": "assistant" if number % 2 else "user", "content": f"m{number}"} for number in range(1_000)]
    made = system.new_agent(initial_message_sequence=opening)
    ids = made["message_ids"]
    system.engine.counters.reset()

    chosen = system.call("agents", "PATCH", f"/v1/agents/{made['id']}", {"message_ids": ids})

    assert chosen.body["message_ids"] == ids
    assert system.engine.counters.counts.total_calls <= 20
    assert system.call("agents", "GET", f"/v1/agents/{made['id']}/context").body["num_messages"] == 1_001
    system.send(made["id"], "hello")
    assert len(model.requests[0].messages) == 1_002
    scattered = {"name": "changed", "message_ids": ids[::2]}
    assert "stretches" in refused(system, "agents", "PATCH", f"/v1/agents/{made['id']}", scattered).body["detail"]


def test_a_conversation_outgrows_its_item_and_shrinks_again(system: System) -> None:
    agent = system.new_agent()
    made = system.call("conversations", "POST", "/v1/conversations", {"agent_id": agent["id"], "summary": "s"}).body
    path = f"/v1/conversations/{made['id']}"

    for summary in ("x" * 400_000, "short", "y" * 2_000_000):
        assert system.call("conversations", "PATCH", path, {"summary": summary}).status == 200
        assert system.call("conversations", "GET", path).body["summary"] == summary


def test_secrets_are_bounded(system: System) -> None:
    agent = system.new_agent(secrets={"A": "1"})
    path = f"/v1/agents/{agent['id']}"

    refused(system, "agents", "PATCH", path, {"name": "changed", "secrets": {"A": "x" * 4_097}})
    refused(system, "agents", "POST", "/v1/agents", {"model": "demo/memory", "secrets": {"A": "x" * 4_097}})
    many = {f"{EMOJI}{number}": "x" * 4_000 for number in range(60)}
    assert system.call("agents", "PATCH", path, {"secrets": many}).status == 200

    shown = system.call("agents", "GET", path, query={"include": "agent.secrets"}).body["secrets"]
    assert {secret["key"]: secret["value"] for secret in shown} == many
