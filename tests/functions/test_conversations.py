"""Conversations through their handlers: named ones, the default one, and what each of them holds."""

from typing import Any

import pytest
from letta_client.types import Conversation
from letta_client.types.agents import Message
from pydantic import TypeAdapter

from tests.doubles.models import ScriptedModel, says
from tests.doubles.system import Answer, System

CONVERSATION = TypeAdapter(Conversation)
MESSAGES = TypeAdapter(list[Message])


def make(system: System, agent_id: str, **fields: Any) -> dict[str, Any]:
    answer = system.call("conversations", "POST", "/v1/conversations", fields, query={"agent_id": agent_id})
    assert answer.status == 200, answer.body
    CONVERSATION.validate_python(answer.body)
    conversation: dict[str, Any] = answer.body
    return conversation


def read(system: System, conversation_id: str, **query: Any) -> Answer:
    return system.call("conversations", "GET", f"/v1/conversations/{conversation_id}", query=query)


def say(system: System, conversation_id: str, text: str, **fields: Any) -> Answer:
    body = {"input": text, "streaming": False, **fields}
    return system.call("messages", "POST", f"/v1/conversations/{conversation_id}/messages", body)


def said(system: System, conversation_id: str, **query: Any) -> list[str]:
    path = f"/v1/conversations/{conversation_id}/messages"
    shown = {"order": "asc", "include_return_message_types": ["user_message", "assistant_message"], **query}
    answer = system.call("messages", "GET", path, query=shown)
    MESSAGES.validate_python(answer.body)
    return [message["content"] for message in answer.body]


def test_a_conversation_keeps_what_it_was_given(system: System) -> None:
    agent = system.new_agent()
    given = {
        "summary": "About tea", "description": "d", "model": "demo/memory", "context_window_limit": 9_000,
        "model_settings": {"temperature": 0.5, "provider_type": "openai"},
    }  # fmt: skip

    made = make(system, agent["id"], **given)

    assert {name: made[name] for name in given} == given
    assert (made["agent_id"], made["archived"], made["archived_at"]) == (agent["id"], False, None)
    assert (made["in_context_message_ids"], made["last_message_at"]) == ([], None)
    assert CONVERSATION.validate_python(read(system, made["id"]).body).summary == "About tea"


def test_the_agent_may_be_named_in_the_body_or_in_the_query_and_must_be(system: System) -> None:
    agent = system.new_agent()

    by_body = system.call(
        "conversations", "POST", "/v1/conversations", {"agent_id": agent["id"], "isolated_block_labels": []}
    )
    nobody = system.call("conversations", "POST", "/v1/conversations", {})

    assert (by_body.status, by_body.body["agent_id"]) == (200, agent["id"])
    assert (nobody.status, "agent_id" in nobody.body["detail"]) == (422, True)
    isolated = {"agent_id": agent["id"], "isolated_block_labels": ["human"]}
    assert system.call("conversations", "POST", "/v1/conversations", isolated).status == 400


def test_conversations_of_one_agent_share_memory_and_nothing_else(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent(memory_blocks=[{"label": "human", "value": "Name: Priya"}])
    first, second = make(system, agent["id"])["id"], make(system, agent["id"])["id"]
    model.script = [says("one"), says("two"), says("three")]

    say(system, first, "a")
    say(system, second, "b")
    system.send(agent["id"], "c")

    assert [said(system, each) for each in (first, second, agent["id"])] == [["a", "one"], ["b", "two"], ["c", "three"]]
    assert said(system, "default", agent_id=agent["id"]) == ["c", "three"]
    assert all("Name: Priya" in request.messages[0].text for request in model.requests)
    shown = read(system, first).body
    assert (len(shown["in_context_message_ids"]), bool(shown["last_message_at"])) == (3, True)


def test_the_default_conversation_goes_by_three_names(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    system.send(agent["id"], "hello")

    by_agent = read(system, agent["id"])
    by_default = read(system, "default", agent_id=agent["id"])

    assert by_agent.body == by_default.body
    assert (
        by_agent.body["in_context_message_ids"]
        == system.call("agents", "GET", f"/v1/agents/{agent['id']}").body["message_ids"]
    )
    assert read(system, "default").status == 422
    assert say(system, "default", "again", agent_id=agent["id"]).status == 200
    assert said(system, agent["id"]) == ["hello", "Acknowledged.", "again", "Acknowledged."]
    assert system.call("conversations", "GET", "/v1/conversations").body == []


def test_a_change_leaves_alone_what_it_does_not_name(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    made = make(system, agent["id"], summary="a", description="d")
    say(system, made["id"], "hello")
    before = read(system, made["id"]).body

    changed = system.call(
        "conversations", "PATCH", f"/v1/conversations/{made['id']}", {"summary": "b", "nothing": 1}
    ).body

    CONVERSATION.validate_python(changed)
    assert {name for name in before if before[name] != changed[name]} == {"summary", "updated_at"}
    limited = system.call(
        "conversations", "PATCH", f"/v1/conversations/{made['id']}", {"context_window_limit": 5_000}
    ).body
    assert (limited["context_window_limit"], limited["summary"]) == (5_000, "b")
    assert (
        system.call("conversations", "PATCH", f"/v1/conversations/{made['id']}", {"model": "openai/none"}).status == 404
    )


def test_archiving_has_a_time_and_takes_it_out_of_the_list(system: System) -> None:
    agent = system.new_agent()
    made = make(system, agent["id"])
    path = f"/v1/conversations/{made['id']}"

    archived = system.call("conversations", "PATCH", path, {"archived": True}).body
    again = system.call("conversations", "PATCH", path, {"archived": True, "summary": "s"}).body

    assert archived["archived"] and archived["archived_at"] and again["archived_at"] == archived["archived_at"]
    assert system.call("conversations", "GET", "/v1/conversations").body == []
    back = system.call("conversations", "PATCH", path, {"archived": False}).body
    assert (back["archived"], back["archived_at"]) == (False, None)
    assert len(system.call("conversations", "GET", "/v1/conversations").body) == 1


def test_the_last_message_orders_the_list(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    first, second, third = (make(system, agent["id"])["id"] for _ in range(3))
    say(system, second, "hello")
    say(system, first, "hello")

    def listed() -> list[str]:
        query = {"order_by": "last_message_at", "agent_id": agent["id"]}
        return [item["id"] for item in system.call("conversations", "GET", "/v1/conversations", query=query).body]

    assert listed() == [first, second, third]
    moved = {"last_message_at": "2126-05-01T12:00:00+02:00"}
    answer = system.call("conversations", "PATCH", f"/v1/conversations/{third}", moved).body
    assert answer["last_message_at"] == "2126-05-01T10:00:00Z"
    assert listed() == [third, first, second]


def test_a_deleted_conversation_is_gone_and_the_agent_stays(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    made = make(system, agent["id"])
    say(system, made["id"], "hello")
    (message, *_) = system.call("messages", "GET", f"/v1/conversations/{made['id']}/messages").body
    path = f"/v1/conversations/{made['id']}"

    answer = system.call("conversations", "DELETE", path)

    assert answer.status == 200
    for method in ("GET", "PATCH", "DELETE"):
        assert system.call("conversations", method, path, {} if method == "PATCH" else None).status == 404
    assert system.call("messages", "GET", f"{path}/messages").status == 404
    assert system.call("messages", "GET", f"/v1/messages/{message['id']}").status == 404
    assert say(system, made["id"], "hello").status == 404
    assert system.call("agents", "GET", f"/v1/agents/{agent['id']}").status == 200
    kept = system.call("conversations", "DELETE", f"/v1/conversations/{agent['id']}")
    assert (kept.status, read(system, agent["id"]).status) == (400, 200)


@pytest.mark.parametrize("deleted", ["agents", "conversations"])
def test_nothing_is_to_be_seen_of_a_turn_whose_conversation_is_deleted_meanwhile(
    system: System, model: ScriptedModel, deleted: str
) -> None:
    agent = system.new_agent()
    made = make(system, agent["id"])
    paths = {"agents": f"/v1/agents/{agent['id']}", "conversations": f"/v1/conversations/{made['id']}"}

    def delete(request: Any) -> Any:
        assert system.call(deleted, "DELETE", paths[deleted]).status == 200
        return says("too late")

    model.script = [delete]

    say(system, made["id"], "hello")

    assert read(system, made["id"]).status == 404
    assert (
        system.call("messages", "GET", "/v1/messages", query={"include_return_message_types": "assistant_message"}).body
        == []
    )


def test_one_message_is_looked_up_by_its_id(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    system.send(agent["id"], "hello")
    shown = system.call("messages", "GET", f"/v1/agents/{agent['id']}/messages").body

    for entry in shown:
        found = system.call("messages", "GET", f"/v1/messages/{entry['id']}").body
        MESSAGES.validate_python(found)
        assert found == [entry]


def test_messages_name_the_user_and_keep_the_otid(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "a\0b\ud800"}],
        "otid": "o\0-1",
        "name": "Priya",
        "sender_id": "s",
    }

    system.call("messages", "POST", f"/v1/agents/{agent['id']}/messages", {"messages": [message]})

    (stored,) = system.call(
        "messages", "GET", f"/v1/agents/{agent['id']}/messages", query={"include_return_message_types": "user_message"}
    ).body
    assert (stored["content"], stored["otid"], stored["name"], stored["sender_id"]) == ("ab\ufffd", "o-1", "Priya", "s")
