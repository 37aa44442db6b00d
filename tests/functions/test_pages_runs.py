"""Every list of runs, steps and their messages, walked page by page through every filter."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentkeep.store.entities import Agent, Conversation, Run, Step
from tests.doubles.populated import many_agents, many_conversations, many_messages, many_runs, many_steps, minute
from tests.doubles.system import System, running
from tests.doubles.walks import List, expect_walks

COUNT = 40
Fits = Callable[[int], bool]


class Population:
    """Two agents by turns; run and step `number` are of agent `number % 2`."""

    agents: list[Agent]
    named: Conversation
    runs: list[Run]
    steps: list[Step]


def _run(number: int, population: Population) -> dict[str, Any]:
    agent = population.agents[number % 2]
    status = {0: "running", 1: "failed"}.get(number % 5, "completed")
    return {
        "agent_id": agent.id,
        "conversation": population.named.id if number % 8 == 2 else agent.id,
        "status": status,
        "stop_reason": {"running": None, "failed": "error"}.get(status, "end_turn"),
        "background": number % 3 == 0,
    }


def _step(number: int, population: Population) -> dict[str, Any]:
    return {
        "agent_id": population.agents[number % 2].id,
        "model": "openai/gpt-4.1" if number % 3 else "demo/memory",
        "feedback": {0: "positive", 1: "negative"}.get(number % 4),
        "tags": ["checked"] if number % 5 == 0 else [],
        "created_at": minute(number),
    }


@pytest.fixture(scope="module")
def populated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[System, Population]]:
    population = Population()
    with running(tmp_path_factory.mktemp("runs")) as system:
        with system.acting():
            population.agents = many_agents(2)
            (population.named,) = many_conversations(population.agents[0].id, 1)
            population.runs = many_runs("", COUNT, lambda number: _run(number, population))
            population.steps = many_steps(population.runs[0], COUNT, lambda number: _step(number, population))
        with system.acting("tenant02"):
            (stranger,) = many_agents(1)
            (run,) = many_runs(stranger.id, 1)
            many_steps(run, 1)
        yield system, population


RUNS: list[tuple[dict[str, Any], Fits]] = [
    ({}, lambda n: True),
    ({"agent_id": 0}, lambda n: n % 2 == 0),
    ({"agent_ids": [0, 1]}, lambda n: True),
    ({"agent_ids": [1], "background": "true"}, lambda n: n % 6 == 3),
    ({"statuses": "failed"}, lambda n: n % 5 == 1),
    ({"statuses": ["failed", "running"]}, lambda n: n % 5 < 2),
    ({"active": "true"}, lambda n: n % 5 == 0),
    ({"active": "true", "agent_id": 1}, lambda n: n % 10 == 5),
    ({"stop_reason": "end_turn"}, lambda n: n % 5 > 1),
    ({"background": "false"}, lambda n: n % 3 != 0),
    ({"conversation_id": "named"}, lambda n: n % 8 == 2),
    ({"conversation_id": "default", "agent_id": 0}, lambda n: n % 2 == 0 and n % 8 != 2),
    ({"conversation_id": "named", "agent_id": 1}, lambda n: False),
]


def _named(query: dict[str, Any], population: Population) -> dict[str, Any]:
    agents = [agent.id for agent in population.agents]
    known = dict(query)
    if "agent_id" in query:
        known["agent_id"] = agents[query["agent_id"]]
    if "agent_ids" in query:
        known["agent_ids"] = [agents[number] for number in query["agent_ids"]]
    if query.get("conversation_id") == "named":
        known["conversation_id"] = population.named.id
    return known


@pytest.mark.parametrize(("query", "fits"), RUNS, ids=[str(query) for query, _ in RUNS])
def test_runs_through_every_filter(populated: tuple[System, Population], query: dict[str, Any], fits: Fits) -> None:
    system, population = populated
    expected = [population.runs[number].id for number in range(COUNT) if fits(number)]

    expect_walks(system, List("runs", "/v1/runs", _named(query, population)), expected)


STEPS: list[tuple[dict[str, Any], Fits]] = [
    ({}, lambda n: True),
    ({"agent_id": 0}, lambda n: n % 2 == 0),
    ({"model": "openai/gpt-4.1"}, lambda n: n % 3 != 0),
    ({"model": "memory"}, lambda n: n % 3 == 0),
    ({"feedback": "negative"}, lambda n: n % 4 == 1),
    ({"has_feedback": "true"}, lambda n: n % 4 < 2),
    ({"has_feedback": "false", "agent_id": 1}, lambda n: n % 4 == 3),
    ({"tags": ["checked", "other"]}, lambda n: n % 5 == 0),
    ({"trace_ids": "trace"}, lambda n: False),
    ({"start_date": "2026-01-01T00:10:00Z"}, lambda n: n >= 10),
    ({"start_date": "2026-01-01T01:10:00+01:00", "end_date": "2026-01-01T00:20:00"}, lambda n: 10 <= n <= 20),
    ({"end_date": "2025-12-31"}, lambda n: False),
    ({"end_date": "2026-01-01"}, lambda n: True),
]


@pytest.mark.parametrize(("query", "fits"), STEPS, ids=[str(query) for query, _ in STEPS])
def test_steps_through_every_filter(populated: tuple[System, Population], query: dict[str, Any], fits: Fits) -> None:
    system, population = populated
    expected = [population.steps[number].id for number in range(COUNT) if fits(number)]

    expect_walks(system, List("runs", "/v1/steps", _named(query, population)), expected)


def test_the_steps_of_a_run(populated: tuple[System, Population]) -> None:
    system, population = populated
    run = population.runs[0].id

    expect_walks(system, List("runs", f"/v1/runs/{run}/steps"), [step.id for step in population.steps])
    expect_walks(system, List("runs", f"/v1/runs/{population.runs[1].id}/steps"), [])


def test_the_active_runs_come_newest_first(populated: tuple[System, Population]) -> None:
    system, population = populated
    running_now = [run.id for run in reversed(population.runs) if run.status == "running"]

    assert [run["id"] for run in system.call("runs", "GET", "/v1/runs/active").body] == running_now


def test_ascending_is_an_older_name_of_the_order(populated: tuple[System, Population]) -> None:
    system, population = populated

    first = system.call("runs", "GET", "/v1/runs", query={"ascending": "true", "limit": 1}).body

    assert first[0]["id"] == population.runs[0].id


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/steps"])
def test_a_cursor_never_seen_is_404(populated: tuple[System, Population], path: str) -> None:
    system, population = populated
    theirs = system.call("runs", "GET", path, tenant="tenant02").body[0]["id"]
    never = theirs[:-12] + "426614174000"

    for cursor in ("after", "before"):
        for unknown in (never, theirs, "nonsense", population.agents[0].id):
            assert system.call("runs", "GET", path, query={cursor: unknown}).status == 404, unknown


def test_the_messages_of_a_run_and_of_a_step(system: System) -> None:
    with system.acting():
        (agent,) = many_agents(1)
        made = many_messages(agent.id, agent.id, 60)
        (run,) = many_runs(agent.id, 1, lambda n: {"first_seq": 11, "last_seq": 40})
        step, silent = many_steps(run, 2, lambda n: {"first_seq": 21, "last_seq": 40} if n == 0 else {})
    ids = [message.id for message in made]

    expect_walks(system, List("runs", f"/v1/runs/{run.id}/messages"), ids[10:40])
    expect_walks(system, List("runs", f"/v1/steps/{step.id}/messages"), ids[20:40])
    expect_walks(system, List("runs", f"/v1/steps/{silent.id}/messages"), [])


def test_a_cursor_outside_of_a_run_still_has_its_place(system: System) -> None:
    with system.acting():
        (agent,) = many_agents(1)
        made = many_messages(agent.id, agent.id, 30)
        (run,) = many_runs(agent.id, 1, lambda n: {"first_seq": 11, "last_seq": 20})

    def ids(**query: Any) -> list[str]:
        answer = system.call("runs", "GET", f"/v1/runs/{run.id}/messages", query={"order": "asc", **query})
        return [message["id"] for message in answer.body]

    inside = [message.id for message in made[10:20]]
    assert ids(after=made[2].id) == inside
    assert ids(after=made[25].id) == []
    assert ids(before=made[25].id) == inside
    assert ids(before=made[2].id) == []
