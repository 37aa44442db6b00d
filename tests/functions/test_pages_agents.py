"""Every list of agents and of what hangs on them, walked page by page through every filter, in every order."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentkeep.store import agents as agent_store
from agentkeep.store.agents import Activity
from agentkeep.store.entities import Agent
from tests.doubles.populated import finish_runs, many_agents, many_blocks, minute
from tests.doubles.system import System, running
from tests.doubles.walks import List, backwards, expect_walks, forwards

COUNT = 60
_shuffled = random.Random(7)
UPDATED = _shuffled.sample(range(COUNT), COUNT)
RAN = _shuffled.sample(range(COUNT), COUNT)

Fits = Callable[[int], bool]


def fields(number: int) -> dict[str, Any]:
    """What is special about agent `number`; the expectations below are written from the same numbers."""
    return {
        "name": "twin" if number % 4 == 1 else f"agent {number:02}",
        "updated_at": minute(UPDATED[number]),
        "hidden": number % 10 == 3,
        "tags": [
            tag
            for tag, fits in (("even", number % 2 == 0), ("third", number % 3 == 0), ("é/🙂", number % 7 == 0))
            if fits
        ],
        "project_id": f"project {number % 5}",
        "template_id": "template 1" if number % 6 == 5 else None,
        "base_template_id": "base 1" if number > 40 else None,
        "created_by_id": "user-a" if number < 30 else "user-b",
    }


@pytest.fixture(scope="module")
def populated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[System, list[Agent]]]:
    with running(tmp_path_factory.mktemp("agents")) as system:
        with system.acting():
            made = many_agents(COUNT, fields)
            ran = [(made[number], _activity(number)) for number in range(COUNT) if number % 3]
            finish_runs(ran)
        with system.acting("tenant02"):
            many_agents(5)
        yield system, made


def _activity(number: int) -> Activity:
    reason: Any = "error" if number % 3 == 1 else "end_turn"
    return Activity(last_run_completion=minute(RAN[number]), last_run_duration_ms=5, last_stop_reason=reason)


def visible(number: int) -> bool:
    return number % 10 != 3


FILTERS: list[tuple[dict[str, Any], Fits]] = [
    ({}, visible),
    ({"show_hidden_agents": "true"}, lambda n: True),
    ({"name": "twin"}, lambda n: n % 4 == 1 and visible(n)),
    ({"name": "nobody"}, lambda n: False),
    ({"query_text": "TWIN"}, lambda n: n % 4 == 1 and visible(n)),
    ({"query_text": "agent 4"}, lambda n: 40 <= n < 50 and n % 4 != 1 and visible(n)),
    ({"tags": "even"}, lambda n: n % 2 == 0 and visible(n)),
    ({"tags": ["even", "third"]}, lambda n: (n % 2 == 0 or n % 3 == 0) and visible(n)),
    ({"tags": ["even", "third"], "match_all_tags": "true"}, lambda n: n % 6 == 0 and visible(n)),
    ({"tags": ["third", "é/🙂"], "match_all_tags": "true"}, lambda n: n % 21 == 0 and visible(n)),
    ({"tags": "no such tag"}, lambda n: False),
    ({"project_id": "project 2"}, lambda n: n % 5 == 2 and visible(n)),
    ({"template_id": "template 1"}, lambda n: n % 6 == 5 and visible(n)),
    ({"base_template_id": "base 1"}, lambda n: n > 40 and visible(n)),
    ({"created_by_id": "user-b"}, lambda n: n >= 30 and visible(n)),
    ({"last_stop_reason": "error"}, lambda n: n % 3 == 1 and visible(n)),
    ({"identity_id": "identity-123e4567-e89b-42d3-8456-426614174000"}, lambda n: False),
    ({"identifier_keys": "key"}, lambda n: False),
    (
        {"name": "twin", "tags": "third", "created_by_id": "user-a", "show_hidden_agents": "true"},
        lambda n: n % 4 == 1 and n % 3 == 0 and n < 30,
    ),
]
ORDERS: dict[str, Callable[[int], Any]] = {
    "created_at": lambda n: n,
    "updated_at": lambda n: UPDATED[n],
    "last_run_completion": lambda n: (n % 3 != 0, RAN[n] if n % 3 else n),
}


@pytest.mark.parametrize("order_by", ORDERS)
@pytest.mark.parametrize(("query", "fits"), FILTERS, ids=[str(query) for query, _ in FILTERS])
def test_agents_through_every_filter(
    populated: tuple[System, list[Agent]], query: dict[str, Any], fits: Fits, order_by: str
) -> None:
    system, made = populated
    numbers = sorted(filter(fits, range(COUNT)), key=ORDERS[order_by])

    expect_walks(
        system,
        List("agents", "/v1/agents", {**query, "order_by": order_by}),
        [made[number].id for number in numbers],
    )


@pytest.mark.parametrize(("query", "fits"), FILTERS, ids=[str(query) for query, _ in FILTERS])
def test_the_count_is_the_length_of_the_list(
    populated: tuple[System, list[Agent]], query: dict[str, Any], fits: Fits
) -> None:
    system, _ = populated

    answer = system.call("agents", "GET", "/v1/agents/count", query=query)

    assert answer.body == sum(map(fits, range(COUNT)))


def test_older_names_of_the_order_mean_the_same(populated: tuple[System, list[Agent]]) -> None:
    system, made = populated
    listed = List("agents", "/v1/agents", {"ascending": "true", "sort_by": "updated_at", "show_hidden_agents": "true"})

    assert forwards(system, listed) == [made[n].id for n in sorted(range(COUNT), key=lambda n: UPDATED[n])]


@pytest.mark.parametrize("order_by", ORDERS)
def test_both_cursors_hold_a_stretch_that_is_walked_from_its_end(
    populated: tuple[System, list[Agent]], order_by: str
) -> None:
    system, made = populated
    ordered = [made[n].id for n in sorted(range(COUNT), key=ORDERS[order_by])]
    query = {"order": "asc", "order_by": order_by, "show_hidden_agents": "true", "after": ordered[10]}

    walked = backwards(system, List("agents", "/v1/agents", query), ordered[40])

    assert walked == ordered[11:40]


@pytest.mark.parametrize("order_by", ORDERS)
@pytest.mark.parametrize("cursor", ["after", "before"])
def test_a_cursor_never_seen_is_404(populated: tuple[System, list[Agent]], order_by: str, cursor: str) -> None:
    system, made = populated
    never = "agent-123e4567-e89b-42d3-8456-426614174000"
    theirs = system.call("agents", "GET", "/v1/agents", tenant="tenant02").body[0]["id"]

    for unknown in (never, theirs, "nonsense", "agent", made[0].id[:-1], "x" * 200):
        answer = system.call("agents", "GET", "/v1/agents", query={cursor: unknown, "order_by": order_by})
        assert answer.status == 404, (unknown, answer.body)


def test_tags_in_use_are_walked_in_alphabetical_order(populated: tuple[System, list[Agent]]) -> None:
    system, _ = populated
    by_itself = str

    expect_walks(system, List("agents", "/v1/tags", {}, by_itself), ["even", "third", "é/🙂"], limit=2)
    expect_walks(system, List("agents", "/v1/tags", {"name": "E"}, by_itself), ["even"], limit=1)
    assert system.call("agents", "GET", "/v1/tags", query={"query_text": "hir"}).body == ["third"]
    assert system.call("agents", "GET", "/v1/tags", tenant="tenant02").body == []


def test_the_agents_of_a_block_and_the_blocks_of_an_agent(system: System) -> None:
    with system.acting():
        blocks = many_blocks(20)
        shared, other = blocks[0].id, blocks[1].id
        carriers = many_agents(20, lambda n: {"block_ids": [shared] if n % 2 else [shared, other]})
        (rich,) = many_agents(1, lambda n: {"block_ids": [block.id for block in reversed(blocks)]})

    everybody = [agent.id for agent in (*carriers, rich)]
    expect_walks(system, List("blocks", f"/v1/blocks/{shared}/agents"), everybody)
    expect_walks(system, List("blocks", f"/v1/blocks/{other}/agents"), [*everybody[0:20:2], rich.id])
    expect_walks(system, List("blocks", f"/v1/blocks/{blocks[5].id}/agents"), [rich.id])
    expect_walks(system, List("agents", f"/v1/agents/{rich.id}/core-memory/blocks"), [block.id for block in blocks])


def test_the_tools_of_an_agent(system: System) -> None:
    tools = system.call("tools", "GET", "/v1/tools", query={"limit": 100, "order": "asc"}).body
    agent = system.new_agent(tool_ids=[tool["id"] for tool in tools], include_base_tools=False)
    expected = [tool["id"] for tool in tools]

    expect_walks(system, List("agents", f"/v1/agents/{agent['id']}/tools"), expected, limit=3)
    expect_walks(system, List("tools", "/v1/tools"), expected, limit=3)
    never = system.call("agents", "GET", f"/v1/agents/{agent['id']}/tools", query={"after": "tool-nonsense"})
    assert never.status == 404


@pytest.mark.parametrize("order_by", ORDERS)
def test_agents_deleted_during_the_walk_among_them_the_cursor(system: System, order_by: str) -> None:
    with system.acting():
        made = many_agents(30, lambda n: {"updated_at": minute(n), "tags": ["t"]})
        finish_runs((agent, Activity(last_run_completion=minute(n))) for n, agent in enumerate(made))
        coming = made[25]
    gone: set[str] = set()

    def delete(names: list[str]) -> None:
        for agent_id in {names[-1], names[0], coming.id} - gone:
            assert system.call("agents", "DELETE", f"/v1/agents/{agent_id}").status == 200
            gone.add(agent_id)

    listed = List("agents", "/v1/agents", {"order": "asc", "order_by": order_by, "tags": "t"})
    walked = forwards(system, listed, meanwhile=delete)

    assert walked == [agent.id for agent in made if agent is not coming]
    with system.acting():
        assert agent_store.get_many(gone) == {}
