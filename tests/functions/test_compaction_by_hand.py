"""Compaction that somebody asks for: its routes, its lease, what it leaves alone."""

from typing import Any

from agentkeep.models import ModelAnswer, ModelRequest
from tests.doubles.ledger import Ledger
from tests.doubles.models import ScriptedModel, says
from tests.doubles.system import Answer, System
from tests.doubles.windows import full_agent, window_of

NOBODY = "agent-00000000-0000-4000-8000-000000000000"


def compact(system: System, conversation: str, **body: Any) -> Answer:
    return system.call("messages", "POST", f"/v1/conversations/{conversation}/compact", body)


def new_conversation(system: System, agent: str, *texts: str) -> str:
    talk = str(system.call("conversations", "POST", "/v1/conversations", {"agent_id": agent}).body["id"])
    for text in texts:
        said = {"input": text, "streaming": False}
        assert system.call("messages", "POST", f"/v1/conversations/{talk}/messages", said).status == 200
    return talk


def test_a_conversation_is_compacted_and_no_other(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)
    talk = new_conversation(system, agent, "one", "two", "three")
    model.script = [says("They counted.")]

    answer = compact(system, talk, compaction_settings={"mode": "all"})

    assert answer.body == {"summary": "They counted.", "num_messages_before": 7, "num_messages_after": 2}
    assert len(window_of(system, agent)) == 4
    assert Ledger(system).damage() == []


def test_the_default_conversation_is_named_by_its_agent(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)

    assert compact(system, "default", agent_id=agent).body["num_messages_before"] == 5
    assert compact(system, agent).status == 200
    assert compact(system, "default").status == 422
    assert compact(system, "conv-00000000-0000-4000-8000-000000000000").status == 404
    assert system.call("messages", "POST", f"/v1/agents/{NOBODY}/summarize", {}).status == 404


def test_a_request_without_a_body_will_do(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)

    assert system.call("messages", "POST", f"/v1/agents/{agent}/summarize").status == 200


def test_what_is_short_already_stays_as_it_is(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=0)

    answer = compact(system, agent)

    assert answer.body == {"summary": "", "num_messages_before": 1, "num_messages_after": 1}
    assert model.requests == []
    assert Ledger(system).damage() == []


def test_it_waits_for_no_turn_and_no_turn_for_it(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)
    met: list[Answer] = []

    def meanwhile(request: ModelRequest) -> ModelAnswer:
        met.append(compact(system, agent))
        met.append(system.send(agent, "Me too."))
        return says("Done.")

    model.script = [meanwhile]
    system.send(agent, "Hello.")
    model.script = [meanwhile]
    compact(system, agent)

    assert [answer.status for answer in met] == [409, 409, 409, 409]
    assert "is currently being processed" in met[2].body["detail"]["message"]
    assert Ledger(system).damage() == []


def test_a_conversation_that_is_deleted_meanwhile_is_not_found(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=1)
    talk = new_conversation(system, agent, "one", "two")

    def meanwhile(request: ModelRequest) -> ModelAnswer:
        assert system.call("conversations", "DELETE", f"/v1/conversations/{talk}").status == 200
        return says("They counted.")

    model.script = [meanwhile]

    assert compact(system, talk).status == 404


def test_a_mistake_of_ours_leaves_the_conversation_free(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=2)
    model.script = [ZeroDivisionError()]

    assert compact(system, agent).status == 500
    assert Ledger(system).damage() == []
    assert system.send(agent, "Hello.").status == 200


def test_the_system_message_of_a_conversation_is_compiled_anew(system: System, model: ScriptedModel) -> None:
    agent = full_agent(system, model, turns=1)
    talk = new_conversation(system, agent, "one")
    system.call("agents", "PATCH", f"/v1/agents/{agent}", {"system": "Be thorough."})
    path = f"/v1/conversations/{talk}/recompile"

    tried = system.call("conversations", "POST", path, {}, query={"dry_run": "true"})
    assert "Be thorough." in tried.body
    listed = f"/v1/conversations/{talk}/messages"
    system_message = system.call("messages", "GET", listed, query={"order": "asc"}).body[0]
    assert "Be thorough." not in system_message["content"]

    assert system.call("conversations", "POST", path).body == tried.body
    system_message = system.call("messages", "GET", listed, query={"order": "asc"}).body[0]
    assert system_message["content"] == tried.body
