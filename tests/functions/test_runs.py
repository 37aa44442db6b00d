"""Runs and steps through their handlers: what a turn leaves behind, and feedback on it."""

import threading
from typing import Any

from letta_client.types import Step
from letta_client.types.agents import Message, Run
from letta_client.types.runs import UsageRetrieveResponse
from letta_client.types.steps import MetricRetrieveResponse
from pydantic import TypeAdapter

from agentkeep import ids
from agentkeep.models.errors import ModelBadRequestError
from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.system import Answer, System


def get(system: System, path: str, **query: Any) -> Any:
    answer = system.call("runs", "GET", path, query=query)
    assert answer.status == 200, answer.body
    return answer.body


def remembering(system: System, model: ScriptedModel) -> tuple[str, str]:
    """An agent, and the run in which it noted something and said so."""
    agent = system.new_agent(memory_blocks=[{"label": "human", "value": "x"}])
    model.script = [calls("memory_insert", {"label": "human", "new_string": "y"}), says("Noted.")]
    assert system.send(agent["id"], "Remember y.").status == 200
    return agent["id"], get(system, "/v1/runs")[0]["id"]


def test_a_run_shows_how_it_went(system: System, model: ScriptedModel) -> None:
    agent_id, run_id = remembering(system, model)

    run = get(system, f"/v1/runs/{run_id}")

    shown = TypeAdapter(Run).validate_python(run)
    assert (shown.status, shown.stop_reason, shown.agent_id) == ("completed", "end_turn", agent_id)
    assert shown.completed_at is not None and shown.created_at is not None and shown.completed_at >= shown.created_at
    assert (run["conversation_id"], run["background"], run["metadata"]) == (None, False, {"run_type": "send_message"})
    assert get(system, "/v1/runs", agent_id=agent_id) == [run]


def test_the_messages_of_a_run_and_of_its_steps_are_those_it_committed(system: System, model: ScriptedModel) -> None:
    agent_id, run_id = remembering(system, model)
    system.send(agent_id, "Something else.")

    shown = get(system, f"/v1/runs/{run_id}/messages")
    steps = get(system, f"/v1/runs/{run_id}/steps", order="asc")
    by_step = [get(system, f"/v1/steps/{step['id']}/messages") for step in steps]

    TypeAdapter(list[Message]).validate_python(shown)
    kinds = ["user_message", "tool_call_message", "tool_return_message", "assistant_message"]
    assert [message["message_type"] for message in shown] == kinds
    assert [[message["message_type"] for message in each] for each in by_step] == [kinds[:3], kinds[3:]]
    assert {message["run_id"] for message in shown} == {run_id}
    newest_first = get(system, f"/v1/runs/{run_id}/messages", order="desc", limit=2)
    assert [message["message_type"] for message in newest_first] == kinds[:1:-1]


def test_the_usage_of_a_run_is_the_sum_of_its_steps(system: System, model: ScriptedModel) -> None:
    _, run_id = remembering(system, model)

    usage = get(system, f"/v1/runs/{run_id}/usage")

    TypeAdapter(UsageRetrieveResponse).validate_python(usage)
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (200, 20, 220)
    steps = get(system, f"/v1/runs/{run_id}/steps")
    assert [step["total_tokens"] for step in steps] == [110, 110]


def test_metrics_say_how_long_it_took(system: System, model: ScriptedModel) -> None:
    agent_id, run_id = remembering(system, model)
    step = get(system, "/v1/steps", limit=1)[0]

    of_run = get(system, f"/v1/runs/{run_id}/metrics")
    of_step = get(system, f"/v1/steps/{step['id']}/metrics")

    assert (of_run["id"], of_run["agent_id"], of_run["num_steps"]) == (run_id, agent_id, 2)
    assert of_run["run_ns"] >= 0
    TypeAdapter(MetricRetrieveResponse).validate_python(of_step)
    assert of_step["llm_request_ns"] > 0 and of_step["run_id"] == run_id


def test_a_step_is_one_model_call(system: System, model: ScriptedModel) -> None:
    agent_id, run_id = remembering(system, model)

    steps = get(system, "/v1/steps", agent_id=agent_id, order="asc")

    TypeAdapter(list[Step]).validate_python(steps)
    assert [(step["run_id"], step["status"], step["model_handle"]) for step in steps] == [
        (run_id, "success", "demo/memory")
    ] * 2
    assert get(system, f"/v1/steps/{steps[0]['id']}") == steps[0]


def test_a_run_whose_model_refuses_says_so(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    model.script = [ModelBadRequestError("no such parameter")]

    answer = system.send(agent["id"], "hello")

    assert answer.status == 400
    run = get(system, "/v1/runs")[0]
    assert (run["status"], run["stop_reason"]) == ("failed", "llm_api_error")
    assert run["metadata"]["error"]["message"]
    assert get(system, f"/v1/runs/{run['id']}/messages") == []
    assert get(system, "/v1/runs/active") == []


def feedback(system: System, step_id: str, **fields: Any) -> Answer:
    return system.call("runs", "PATCH", f"/v1/steps/{step_id}/feedback", fields)


def test_feedback_is_kept_filtered_by_and_taken_away(system: System, model: ScriptedModel) -> None:
    remembering(system, model)
    newest, oldest = get(system, "/v1/steps")

    rated = feedback(system, newest["id"], feedback="positive", tags=["checked"])

    assert (rated.body["feedback"], rated.body["tags"]) == ("positive", ["checked"])
    assert {name for name in newest if newest[name] != rated.body[name]} == {"feedback", "tags"}
    assert [step["id"] for step in get(system, "/v1/steps", feedback="positive")] == [newest["id"]]
    assert [step["id"] for step in get(system, "/v1/steps", has_feedback="false")] == [oldest["id"]]
    assert [step["id"] for step in get(system, "/v1/steps", tags="checked")] == [newest["id"]]
    taken = feedback(system, newest["id"], feedback=None).body
    assert (taken["feedback"], taken["tags"]) == (None, ["checked"])
    assert feedback(system, newest["id"], feedback="splendid").status == 422
    assert feedback(system, ids.new("step"), feedback="positive").status == 404


def test_feedback_given_at_the_same_time_loses_no_tag(system: System, model: ScriptedModel) -> None:
    remembering(system, model)
    step_id = get(system, "/v1/steps")[0]["id"]
    opinions: list[dict[str, Any]] = [{"feedback": "positive"}, {"feedback": "positive", "tags": ["t"]}] * 4
    threads = [threading.Thread(target=feedback, args=(system, step_id), kwargs=each) for each in opinions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    step = get(system, f"/v1/steps/{step_id}")

    assert (step["feedback"], step["tags"]) == ("positive", ["t"])


def test_unknown_runs_and_steps_are_404(system: System) -> None:
    uuid = "123e4567-e89b-42d3-8456-426614174000"

    for path in ("", "/messages", "/usage", "/metrics", "/steps"):
        assert system.call("runs", "GET", f"/v1/runs/run-{uuid}{path}").status == 404
    for path in ("", "/messages", "/metrics"):
        assert system.call("runs", "GET", f"/v1/steps/step-{uuid}{path}").status == 404
