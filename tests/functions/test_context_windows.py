"""The context window from outside a turn: choosing its messages, resetting it, while the history stays."""

from typing import Any

import pytest

from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.system import Answer, System


def window(system: System, agent_id: str) -> list[str]:
    ids: list[str] = system.call("agents", "GET", f"/v1/agents/{agent_id}").body["message_ids"]
    return ids


def choose(system: System, agent_id: str, ids: list[str], **fields: Any) -> Answer:
    return system.call("agents", "PATCH", f"/v1/agents/{agent_id}", {"message_ids": ids, **fields})


def reset(system: System, agent_id: str, **fields: Any) -> dict[str, Any]:
    answer = system.call("agents", "PATCH", f"/v1/agents/{agent_id}/reset-messages", fields)
    assert answer.status == 200, answer.body
    state: dict[str, Any] = answer.body
    return state


def history(system: System, agent_id: str) -> list[str]:
    query = {"order": "asc", "limit": 200}
    return [
        entry["message_type"]
        for entry in system.call("messages", "GET", f"/v1/agents/{agent_id}/messages", query=query).body
    ]


def talked(system: System, *texts: str) -> tuple[str, list[str]]:
    """An agent that was told each text, and the ids in its window."""
    agent_id = system.new_agent()["id"]
    for text in texts:
        assert system.send(agent_id, text).status == 200
    return agent_id, window(system, agent_id)


def texts(model: ScriptedModel) -> list[str]:
    """What the newest request showed the model, without the system message."""
    return [message.text for message in model.requests[-1].messages[1:]]


def test_chosen_messages_are_what_the_model_sees_and_new_ones_follow(system: System, model: ScriptedModel) -> None:
    agent_id, ids = talked(system, "one", "two", "three")
    system_id, one, _, two, _, three, answer = ids

    chosen = choose(system, agent_id, [system_id, three, answer, one])

    assert chosen.body["message_ids"] == [system_id, three, answer, one]
    system.send(agent_id, "four")
    assert texts(model) == ["three", "Acknowledged.", "one", "four"]
    assert window(system, agent_id)[:4] == [system_id, three, answer, one]
    assert len(history(system, agent_id)) == 9
    assert two not in window(system, agent_id)


def test_an_empty_choice_leaves_the_system_message(system: System, model: ScriptedModel) -> None:
    agent_id, ids = talked(system, "one")

    assert choose(system, agent_id, []).body["message_ids"] == ids[:1]
    system.send(agent_id, "two")
    assert texts(model) == ["two"]
    assert choose(system, agent_id, ids).body["message_ids"] == ids


def test_a_message_chosen_twice_is_there_once(system: System, model: ScriptedModel) -> None:
    agent_id, ids = talked(system, "one")

    assert choose(system, agent_id, [*ids, *ids[1:]]).body["message_ids"] == ids


def test_messages_of_another_conversation_of_the_agent_may_be_chosen_and_of_another_agent_not(
    system: System, model: ScriptedModel
) -> None:
    agent_id, ids = talked(system, "one")
    stranger, theirs = talked(system, "theirs")
    talk = system.call("conversations", "POST", "/v1/conversations", {"agent_id": agent_id}).body["id"]
    said = {"input": "elsewhere", "streaming": False}
    assert system.call("messages", "POST", f"/v1/conversations/{talk}/messages", said).status == 200
    elsewhere = system.call("conversations", "GET", f"/v1/conversations/{talk}").body["in_context_message_ids"]

    refused = choose(system, agent_id, [*ids, theirs[1]], name="changed")
    chosen = choose(system, agent_id, [*ids, *elsewhere])

    assert (refused.status, theirs[1] in refused.body["detail"]) == (404, True)
    assert system.call("agents", "GET", f"/v1/agents/{agent_id}").body["name"] != "changed"
    assert chosen.body["message_ids"] == [*ids, *elsewhere[1:]]
    assert window(system, stranger) == theirs


def test_an_agent_is_shown_without_reading_what_was_said(
    system: System, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_id, ids = talked(system, "x" * 300_000)

    def read_body(claim: str) -> bytes:
        raise AssertionError(claim)

    monkeypatch.setattr("agentkeep.store.bodies._get_claim", read_body)

    assert window(system, agent_id) == ids


def test_a_window_is_not_changed_under_a_turn(system: System, model: ScriptedModel) -> None:
    agent_id, ids = talked(system, "one")
    answers: list[Answer] = []

    def meanwhile(request: Any) -> Any:
        answers.append(choose(system, agent_id, ids[:1], name="changed"))
        answers.append(system.call("agents", "PATCH", f"/v1/agents/{agent_id}/reset-messages", {}))
        return says("Done.")

    model.script = [meanwhile]
    system.send(agent_id, "two")

    assert [answer.status for answer in answers] == [409, 409]
    assert "is currently being processed" in answers[0].body["detail"]["message"]
    assert len(window(system, agent_id)) == 5
    assert system.call("agents", "GET", f"/v1/agents/{agent_id}").body["name"] != "changed"


def test_a_reset_empties_the_context_and_keeps_the_history(system: System, model: ScriptedModel) -> None:
    agent_id, ids = talked(system, "one", "two")

    assert reset(system, agent_id)["message_ids"] == ids[:1]

    assert len(history(system, agent_id)) == 5
    system.send(agent_id, "three")
    assert texts(model) == ["three"]
    assert len(history(system, agent_id)) == 7


@pytest.mark.parametrize(
    ("agent_type", "left"),
    [
        ("letta_v1_agent", []),
        ("memgpt_v2_agent", ["assistant", "tool", "user"]),
        ("memgpt_agent", ["assistant", "tool", "user"]),
    ],
)
def test_a_reset_with_the_default_initial_messages(
    system: System, model: ScriptedModel, agent_type: str, left: list[str]
) -> None:
    agent_id = system.new_agent(agent_type=agent_type)["id"]
    assert len(window(system, agent_id)) == 1 + len(left)
    model.script = [calls("send_message", {"message": "Hello."}) if left else says("Hello.")]
    system.send(agent_id, "one")

    state = reset(system, agent_id, add_default_initial_messages=True)

    assert len(state["message_ids"]) == 1 + len(left)
    context = system.call("agents", "GET", f"/v1/agents/{agent_id}/context").body
    assert [message["role"] for message in context["messages"]] == ["system", *left]
    assert reset(system, agent_id, add_default_initial_messages=False)["message_ids"] == state["message_ids"][:1]
    model.script = [calls("send_message", {"message": "Hello."}) if left else says("Hello.")]
    assert system.send(agent_id, "two").status == 200


def test_an_opening_of_ones_own(system: System, model: ScriptedModel) -> None:
    opening = [{"role": "user", "content": "Who are you?"}, {"role": "assistant", "content": "A friend."}]

    agent_id = system.new_agent(initial_message_sequence=opening)["id"]
    silent = system.new_agent(agent_type="memgpt_v2_agent", initial_message_sequence=[])["id"]

    system.send(agent_id, "hello")
    assert texts(model) == ["Who are you?", "A friend.", "hello"]
    assert len(window(system, silent)) == 1
