"""Deleting and changing things while a turn runs: nothing comes back to life, no update of a user is lost, no 500."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentkeep.models import ModelAnswer, ModelRequest
from agentkeep.store import conversations
from tests.doubles.ledger import Ledger
from tests.doubles.models import calls, says
from tests.doubles.scenes import TWO_STEPS
from tests.doubles.system import Answer, System
from tests.functions.turn_stage import Stage, opened, shown

STEPS = pytest.mark.parametrize("step", [1, 2, 3])
"""At the model call of which step it happens: nothing committed, something committed, only the last answer missing."""


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage


@pytest.fixture
def agent(stage: Stage) -> str:
    return stage.scene.new_agent(stage.system)


def _during(stage: Stage, step: int, act: Callable[[], object]) -> None:
    """Lets `act` happen while the model thinks about its answer number `step`."""
    left = [step]

    def think(request: ModelRequest) -> ModelAnswer:
        left[0] -= 1
        if left[0] == 0:
            act()
        return stage.scene.think(request)

    stage.model.think = think


def _call(stage: Stage, function: str, method: str, path: str, body: Any = None) -> Answer:
    answer = stage.system.call(function, method, path, body)
    assert answer.status == 200, answer.body
    return answer


@STEPS
def test_an_agent_deleted_during_its_turn_stays_deleted(stage: Stage, agent: str, step: int) -> None:
    _during(stage, step, lambda: _call(stage, "agents", "DELETE", f"/v1/agents/{agent}"))

    answer = stage.send(agent, stage.scene.text)

    assert (answer.status, answer.body["detail"]) == (404, f"Conversation not found with id='{agent}'")
    assert stage.system.call("agents", "GET", f"/v1/agents/{agent}").status == 404
    assert stage.send(agent, "And now?").status == 404
    assert _call(stage, "agents", "GET", "/v1/agents").body == []
    run = Ledger(stage.system).runs[-1]
    assert (run.status, run.stop_reason, run.steps) == ("cancelled", "cancelled", step - 1)
    with stage.system.acting():
        assert not list(conversations.get_many([agent]))


@STEPS
def test_a_conversation_deleted_during_its_turn_stays_deleted(stage: Stage, agent: str, step: int) -> None:
    named = _call(stage, "conversations", "POST", "/v1/conversations", {"agent_id": agent}).body["id"]
    _during(stage, step, lambda: _call(stage, "conversations", "DELETE", f"/v1/conversations/{named}"))

    answer = stage.send(named, stage.scene.text, "otid-1")

    assert (answer.status, answer.body["detail"]) == (404, f"Conversation not found with id='{named}'")
    assert stage.send(named, stage.scene.text, "otid-1").status == 404
    assert stage.system.call("conversations", "GET", f"/v1/conversations/{named}").status == 404
    assert Ledger(stage.system).runs[-1].status == "cancelled"
    assert stage.send(agent, "And now?").status == 200


@STEPS
def test_an_agent_deleted_during_a_turn_of_a_named_conversation_takes_no_other(
    stage: Stage, agent: str, step: int
) -> None:
    named = _call(stage, "conversations", "POST", "/v1/conversations", {"agent_id": agent}).body["id"]
    _during(stage, step, lambda: _call(stage, "agents", "DELETE", f"/v1/agents/{agent}"))

    assert shown(stage.send(named, stage.scene.text))[-1]["content"] == "Noted, Priya."

    assert stage.send(named, "And now?").status == 404
    assert _call(stage, "agents", "GET", "/v1/agents").body == []
    assert _call(stage, "conversations", "GET", "/v1/conversations").body == []


def test_who_waits_for_a_turn_that_is_deleted_is_told(stage: Stage, agent: str) -> None:
    waiting: list[Answer] = []
    thread = threading.Thread(target=lambda: waiting.append(stage.send(agent, stage.scene.text, "otid-1")))

    def delete() -> None:
        thread.start()
        thread.join(0.1)
        _call(stage, "agents", "DELETE", f"/v1/agents/{agent}")
        thread.join()

    _during(stage, 2, delete)

    assert stage.send(agent, stage.scene.text, "otid-1").status == 404
    assert [answer.status for answer in waiting] == [404]


@STEPS
def test_resetting_the_messages_waits_for_the_turn_to_end(stage: Stage, agent: str, step: int) -> None:
    refused: list[Answer] = []
    path = f"/v1/agents/{agent}/reset-messages"
    _during(stage, step, lambda: refused.append(stage.system.call("agents", "PATCH", path, {})))

    assert shown(stage.send(agent, stage.scene.text))[-1]["content"] == "Noted, Priya."

    assert [(answer.status, answer.body["detail"]["code"]) for answer in refused] == [(409, "CONVERSATION_BUSY")]
    assert stage.system.call("agents", "PATCH", path, {}).status == 200
    assert len(stage.contents(agent).history) == 8


def test_resetting_the_messages_closes_a_dead_turn(stage: Stage, agent: str) -> None:
    stage.die_at(3, agent)
    stage.start_again()

    assert stage.system.call("agents", "PATCH", f"/v1/agents/{agent}/reset-messages", {}).status == 200

    assert stage.contents(agent).runs[-1].startswith("failed error")
    assert stage.send(agent, "And now?").status == 200


@STEPS
def test_what_a_user_changes_on_a_block_during_a_turn_stays_and_so_does_the_tools_edit(
    stage: Stage, agent: str, step: int
) -> None:
    path = f"/v1/agents/{agent}/core-memory/blocks/human"
    _during(stage, step, lambda: _call(stage, "agents", "PATCH", path, {"description": "Who they are.", "limit": 900}))

    assert stage.send(agent, stage.scene.text).status == 200

    block = _call(stage, "agents", "GET", path).body
    assert (block["value"], block["description"], block["limit"]) == ("Priya.\nLikes tea.", "Who they are.", 900)


def test_a_value_that_a_user_wrote_during_a_turn_is_what_the_tool_edits(stage: Stage, agent: str) -> None:
    path = f"/v1/agents/{agent}/core-memory/blocks/human"
    _during(stage, 1, lambda: _call(stage, "agents", "PATCH", path, {"value": "Unknown. Has a cat."}))

    stage.send(agent, stage.scene.text)

    assert _call(stage, "agents", "GET", path).body["value"] == "Priya. Has a cat.\nLikes tea."


@STEPS
def test_a_block_deleted_during_a_turn_is_a_tools_error(stage: Stage, agent: str, step: int) -> None:
    block = _call(stage, "agents", "GET", f"/v1/agents/{agent}/core-memory/blocks/human").body
    _during(stage, step, lambda: _call(stage, "blocks", "DELETE", f"/v1/blocks/{block['id']}"))

    answer = stage.send(agent, stage.scene.text)

    returned = [each["status"] for each in shown(answer) if each["message_type"] == "tool_return_message"]
    assert returned == ["success"] * (step - 1) + ["error"] * (3 - step)
    assert stage.system.call("blocks", "GET", f"/v1/blocks/{block['id']}").status == 404
    assert stage.send(agent, "And now?").status == 200


@STEPS
def test_a_new_block_attached_during_a_turn_stays_attached(stage: Stage, agent: str, step: int) -> None:
    block = _call(stage, "blocks", "POST", "/v1/blocks", {"label": "travel", "value": "Porto"}).body["id"]
    path = f"/v1/agents/{agent}/core-memory/blocks/attach/{block}"
    _during(stage, step, lambda: _call(stage, "agents", "PATCH", path))

    stage.send(agent, stage.scene.text)
    stage.send(agent, "And now?")

    assert "Porto" in stage.model.requests[-1].messages[0].text


@STEPS
def test_what_a_user_changes_on_an_agent_during_a_turn_holds_from_the_next_on(
    stage: Stage, agent: str, step: int
) -> None:
    change = {"system": "You are brief.", "name": "brief", "tags": ["a", "b"]}
    _during(stage, step, lambda: _call(stage, "agents", "PATCH", f"/v1/agents/{agent}", change))

    assert stage.send(agent, stage.scene.text).status == 200
    stage.send(agent, "And now?")

    found = _call(stage, "agents", "GET", f"/v1/agents/{agent}").body
    assert (found["system"], found["name"]) == ("You are brief.", "brief")
    assert stage.model.requests[-1].messages[0].text.startswith("You are brief.")


def test_an_agent_changed_while_a_tool_gives_it_a_block_has_both(stage: Stage, agent: str) -> None:
    (memory,) = stage.system.call("tools", "GET", "/v1/tools", query={"name": "memory"}).body
    _call(stage, "agents", "PATCH", f"/v1/agents/{agent}/tools/attach/{memory['id']}")
    created = calls("memory", {"command": "create", "path": "/memories/travel", "description": "d", "file_text": "x"})

    def think(request: ModelRequest) -> ModelAnswer:
        if request.messages[-1].role == "tool":
            return says("Done.")
        _call(stage, "agents", "PATCH", f"/v1/agents/{agent}", {"name": "renamed"})
        return created

    stage.model.think = think

    assert stage.send(agent, "Make one.").status == 200

    assert _call(stage, "agents", "GET", f"/v1/agents/{agent}").body["name"] == "renamed"
    listed = _call(stage, "agents", "GET", f"/v1/agents/{agent}/core-memory/blocks").body
    assert {block["label"] for block in listed} == {"human", "notes", "travel"}


@STEPS
def test_what_a_user_changes_on_a_conversation_during_a_turn_stays(stage: Stage, agent: str, step: int) -> None:
    named = _call(stage, "conversations", "POST", "/v1/conversations", {"agent_id": agent}).body["id"]
    path = f"/v1/conversations/{named}"
    _during(stage, step, lambda: _call(stage, "conversations", "PATCH", path, {"summary": "About tea."}))

    assert stage.send(named, stage.scene.text).status == 200

    found = _call(stage, "conversations", "GET", path).body
    assert found["summary"] == "About tea."
    assert len(found["in_context_message_ids"]) == 1 + 6


@STEPS
def test_compiling_during_a_turn_changes_nothing_under_it(stage: Stage, agent: str, step: int) -> None:
    _during(stage, step, lambda: _call(stage, "agents", "POST", f"/v1/agents/{agent}/recompile", {}))

    assert shown(stage.send(agent, stage.scene.text))[-1]["content"] == "Noted, Priya."
    stage.send(agent, "And now?")

    assert "Priya.\nLikes tea." in stage.model.requests[-1].messages[0].text
