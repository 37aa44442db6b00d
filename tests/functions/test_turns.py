"""Turns end to end through the handlers: what is answered, stored and shown."""

from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.system import System


def test_a_text_answer_ends_the_turn(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent(name="a")
    model.script = [says("Hello Priya.")]

    answer = system.send(agent["id"], "I am Priya.")

    assert answer.status == 200
    assert [message["content"] for message in answer.body["messages"]] == ["Hello Priya."]
    assert answer.body["stop_reason"]["stop_reason"] == "end_turn"
    assert answer.body["usage"]["step_count"] == 1


def test_a_memory_tool_changes_the_block_that_the_next_call_sees(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent(memory_blocks=[{"label": "human", "value": "Unknown."}])
    edit = {"label": "human", "old_string": "Unknown.", "new_string": "Name: Priya"}
    model.script = [calls("memory_replace", edit), says("Noted.")]

    answer = system.send(agent["id"], "I am Priya.")

    kinds = [message["message_type"] for message in answer.body["messages"]]
    assert kinds == ["tool_call_message", "tool_return_message", "assistant_message"]
    assert "Name: Priya" in model.requests[1].messages[0].text
    block = system.call("agents", "GET", f"/v1/agents/{agent['id']}/core-memory/blocks/human")
    assert block.body["value"] == "Name: Priya"


def test_the_system_message_stays_byte_for_byte_while_memory_does(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent(memory_blocks=[{"label": "human", "value": "Unknown."}])

    for _ in range(3):
        system.send(agent["id"], "hello")

    assert len({request.messages[0].text for request in model.requests}) == 1


def test_a_text_turn_costs_five_round_trips_before_its_answer_and_one_after(
    system: System, model: ScriptedModel
) -> None:
    agent = system.new_agent(memory_blocks=[{"label": "human", "value": "Unknown."}])
    system.send(agent["id"], "warm")
    system.engine.counters.reset()

    system.send(agent["id"], "hello")

    assert system.engine.counters.counts.calls == {
        "BatchGetItem": 2, "Query": 1, "TransactWriteItems": 2, "UpdateItem": 1,
    }  # fmt: skip
