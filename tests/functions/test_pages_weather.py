"""Lists in the weather of the cloud: short pages, busy tables, indexes that lag."""

import pytest

from infra.local.weather import CALM, Rates, Weather
from tests.doubles.models import ScriptedModel
from tests.doubles.populated import many_agents, many_conversations, many_messages, many_runs, many_steps, minute
from tests.doubles.system import System
from tests.doubles.walks import List, expect_walks

ROUGH = Rates(short_pages=0.5, unprocessed=0.5, throttling=0.02)


@pytest.mark.parametrize("seed", [1, 2])
def test_walks_are_whole_in_rough_weather(system: System, seed: int) -> None:
    with system.acting():
        agents = many_agents(24, lambda n: {"tags": ["a"] if n % 2 else ["b"], "updated_at": minute(n)})
        first = agents[0].id
        talks = many_conversations(first, 24, lambda n: {"last_message_at": minute(n)})
        said = many_messages(first, first, 24)
        said_elsewhere = many_messages(first, talks[0].id, 24)
        runs = many_runs(first, 24)
        steps = many_steps(runs[0], 24)

    system.engine.weather = Weather(seed, ROUGH)

    ids = [agent.id for agent in agents]
    for order_by in ("created_at", "updated_at", "last_run_completion"):
        expect_walks(system, List("agents", "/v1/agents", {"order_by": order_by}), ids)
    expect_walks(system, List("agents", "/v1/agents", {"tags": ["a", "b"]}), ids)
    expect_walks(system, List("agents", "/v1/agents", {"query_text": "agent 2"}), [ids[2], *ids[20:]])
    expect_walks(system, List("agents", "/v1/tags", {}, str), ["a", "b"], limit=1)
    for order_by in ("created_at", "last_message_at"):
        listed = List("conversations", "/v1/conversations", {"order_by": order_by})
        expect_walks(system, listed, [talk.id for talk in talks])
    expect_walks(system, List("messages", f"/v1/conversations/{first}/messages"), [message.id for message in said])
    everything = [message.id for message in said + said_elsewhere]
    expect_walks(system, List("messages", f"/v1/agents/{first}/messages"), everything)
    expect_walks(system, List("messages", "/v1/messages"), everything)
    expect_walks(system, List("runs", "/v1/runs"), [run.id for run in runs])
    expect_walks(system, List("runs", f"/v1/runs/{runs[0].id}/steps"), [step.id for step in steps])


def test_what_was_just_made_is_listed_although_indexes_lag(system: System, model: ScriptedModel) -> None:
    system.engine.weather = Weather.only("index_lag", 1, rate=1.0, index_lag_ms=60_000)

    for number in range(3):
        block = system.call("blocks", "POST", "/v1/blocks", {"label": "human", "value": "x", "tags": ["t"]}).body
        agent = system.new_agent(name="n", tags=["t", f"tag {number}"], block_ids=[block["id"]])
        talk = system.call("conversations", "POST", "/v1/conversations", {"agent_id": agent["id"]}).body
        newest = {"limit": 1, "order": "desc"}
        for query in ({}, {"name": "n"}, {"tags": "t"}, {"order_by": "updated_at"}, {"query_text": "n"}):
            page = system.call("agents", "GET", "/v1/agents", query={**newest, **query}).body
            assert [item["id"] for item in page] == [agent["id"]], query
        for query in ({}, {"label": "human"}, {"tags": "t"}):
            page = system.call("blocks", "GET", "/v1/blocks", query={**newest, **query}).body
            assert [item["id"] for item in page] == [block["id"]], query
        for query in ({}, {"agent_id": agent["id"]}):
            page = system.call("conversations", "GET", "/v1/conversations", query={**newest, **query}).body
            assert [item["id"] for item in page] == [talk["id"]], query
        carriers = system.call("blocks", "GET", f"/v1/blocks/{block['id']}/agents").body
        assert [item["id"] for item in carriers] == [agent["id"]]
        assert f"tag {number}" in system.call("agents", "GET", "/v1/tags").body


def test_the_history_of_an_agent_with_one_conversation_is_never_behind(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    system.engine.weather = Weather.only("index_lag", 1, rate=1.0, index_lag_ms=60_000)

    system.send(agent["id"], "I am Priya.")

    page = system.call("messages", "GET", f"/v1/agents/{agent['id']}/messages", query={"limit": 2}).body
    assert [message["content"] for message in page] == ["Acknowledged.", "I am Priya."]


def test_lists_that_an_index_serves_lag_and_catch_up(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent()
    system.engine.weather = Weather.only("index_lag", 1, rate=1.0, index_lag_ms=60_000)
    run = system.send(agent["id"], "hello")
    assert run.status == 200

    assert system.call("runs", "GET", "/v1/runs").body == []
    assert system.call("messages", "GET", "/v1/messages").body == []

    system.engine.weather = CALM
    (shown,) = system.call("runs", "GET", "/v1/runs").body
    assert shown["status"] == "completed"
    assert len(system.call("messages", "GET", "/v1/messages").body) == 3


def test_a_write_whose_answer_got_lost_happens_once(system: System) -> None:
    block_id = system.call("blocks", "POST", "/v1/blocks", {"label": "human", "value": "0"}).body["id"]
    system.engine.weather = Weather(4, Rates(lost_answers=0.3, conflicts=0.1))

    made = [
        system.call("blocks", "POST", "/v1/blocks", {"label": f"made {number}", "value": ""}) for number in range(20)
    ]
    changed = [
        system.call("blocks", "PATCH", f"/v1/blocks/{block_id}", {"value": f"{number}"}) for number in range(1, 21)
    ]

    system.engine.weather = CALM
    assert {answer.status for answer in made + changed} <= {200, 503}
    labels = [block["label"] for block in system.call("blocks", "GET", "/v1/blocks").body[1:]]
    assert len(labels) == len(set(labels))
    assert {answer.body["label"] for answer in made if answer.status == 200} <= set(labels)
    values = [entry["value"] for entry in system.call("blocks", "GET", f"/v1/blocks/{block_id}/history").body]
    assert len(values) == len(set(values))
    assert {answer.body["value"] for answer in changed if answer.status == 200} <= set(values)
