"""Every list of blocks, walked page by page through every filter, and the history of a block."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentkeep.store.entities import Block
from tests.doubles.populated import many_agents, many_blocks
from tests.doubles.system import System, running
from tests.doubles.walks import List, expect_walks, forwards

COUNT = 60
Fits = Callable[[int], bool]


def fields(number: int) -> dict[str, Any]:
    """What is special about block `number`; the expectations below are written from the same numbers."""
    return {
        "label": "human" if number % 4 == 1 else f"Notes {number:02}",
        "value": "remember Priya" if number % 5 == 2 else "nothing",
        "description": f"what to keep in {number:02}" if number % 2 else None,
        "name": "template a" if number % 3 == 0 else None,
        "tags": [tag for tag, fits in (("even", number % 2 == 0), ("third", number % 3 == 0)) if fits],
        "hidden": number % 10 == 3,
        "is_template": number % 6 == 0,
        "project_id": f"project {number % 5}",
    }


def carriers(number: int) -> int:
    """How many agents carry block `number`."""
    return {0: 3, 1: 1}.get(number % 5, 0)


@pytest.fixture(scope="module")
def populated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[System, list[Block]]]:
    with running(tmp_path_factory.mktemp("blocks")) as system:
        with system.acting():
            made = many_blocks(COUNT, fields)
            many_agents(3, lambda n: {"block_ids": [made[b].id for b in range(COUNT) if carriers(b) > n]})
        with system.acting("tenant02"):
            many_blocks(5)
        yield system, made


def visible(number: int) -> bool:
    return number % 10 != 3


FILTERS: list[tuple[dict[str, Any], Fits]] = [
    ({}, visible),
    ({"show_hidden_blocks": "true"}, lambda n: True),
    ({"label": "human"}, lambda n: n % 4 == 1 and visible(n)),
    ({"label": "HUMAN"}, lambda n: False),
    ({"label_search": "notes 4"}, lambda n: 40 <= n < 50 and n % 4 != 1 and visible(n)),
    ({"value_search": "priya"}, lambda n: n % 5 == 2 and visible(n)),
    ({"description_search": "IN 1"}, lambda n: n in (11, 15, 17, 19)),
    ({"name": "template a"}, lambda n: n % 3 == 0 and visible(n)),
    ({"tags": "even"}, lambda n: n % 2 == 0 and visible(n)),
    ({"tags": ["even", "third"]}, lambda n: (n % 2 == 0 or n % 3 == 0) and visible(n)),
    ({"tags": ["even", "third"], "match_all_tags": "true"}, lambda n: n % 6 == 0 and visible(n)),
    ({"templates_only": "true"}, lambda n: n % 6 == 0 and visible(n)),
    ({"project_id": "project 2"}, lambda n: n % 5 == 2 and visible(n)),
    ({"connected_to_agents_count_gt": 1}, lambda n: carriers(n) > 1 and visible(n)),
    ({"connected_to_agents_count_lt": 1}, lambda n: carriers(n) < 1 and visible(n)),
    ({"connected_to_agents_count_eq": ["1", "3"]}, lambda n: carriers(n) in (1, 3) and visible(n)),
    ({"identity_id": "identity-123e4567-e89b-42d3-8456-426614174000"}, lambda n: False),
    (
        {"label": "human", "tags": "third", "value_search": "nothing"},
        lambda n: n % 4 == 1 and n % 3 == 0 and n % 5 != 2 and visible(n),
    ),
]
COUNTED = {"show_hidden_blocks", "label", "name", "tags", "match_all_tags", "templates_only", "project_id"}
COUNT_FILTERS = [(query, fits) for query, fits in FILTERS if query.keys() <= COUNTED]


@pytest.mark.parametrize(("query", "fits"), FILTERS, ids=[str(query) for query, _ in FILTERS])
def test_blocks_through_every_filter(populated: tuple[System, list[Block]], query: dict[str, Any], fits: Fits) -> None:
    system, made = populated

    expect_walks(system, List("blocks", "/v1/blocks", query), [made[n].id for n in range(COUNT) if fits(n)])


@pytest.mark.parametrize(("query", "fits"), COUNT_FILTERS, ids=[str(query) for query, _ in COUNT_FILTERS])
def test_the_count_is_the_length_of_the_list(
    populated: tuple[System, list[Block]], query: dict[str, Any], fits: Fits
) -> None:
    system, _ = populated

    assert system.call("blocks", "GET", "/v1/blocks/count", query=query).body == sum(map(fits, range(COUNT)))


def test_blocks_come_oldest_first_unless_asked_otherwise(populated: tuple[System, list[Block]]) -> None:
    system, made = populated

    page = system.call("blocks", "GET", "/v1/blocks", query={"limit": 3}).body

    assert [block["id"] for block in page] == [made[0].id, made[1].id, made[2].id]


@pytest.mark.parametrize("cursor", ["after", "before"])
def test_a_cursor_never_seen_is_404(populated: tuple[System, list[Block]], cursor: str) -> None:
    system, _ = populated
    theirs = system.call("blocks", "GET", "/v1/blocks", tenant="tenant02").body[0]["id"]

    for unknown in ("block-123e4567-e89b-42d3-8456-426614174000", theirs, "nonsense", "x" * 200):
        assert system.call("blocks", "GET", "/v1/blocks", query={cursor: unknown}).status == 404, unknown


def test_blocks_deleted_during_the_walk_among_them_the_cursor(system: System) -> None:
    with system.acting():
        made = many_blocks(30, lambda n: {"label": "same"})
        (agent,) = many_agents(1, lambda n: {"block_ids": [block.id for block in made]})

    def delete(names: list[str]) -> None:
        assert system.call("blocks", "DELETE", f"/v1/blocks/{names[-1]}").status == 200

    by_label = forwards(system, List("blocks", "/v1/blocks", {"label": "same"}), meanwhile=delete)
    assert by_label == [block.id for block in made]

    left = [block.id for number, block in enumerate(made) if number not in (6, 13, 20, 27, 29)]
    of_agent = List("agents", f"/v1/agents/{agent.id}/core-memory/blocks", {"order": "asc"})
    assert forwards(system, of_agent, meanwhile=delete) == left


def test_the_history_of_a_block_is_read_back_from_the_newest(system: System) -> None:
    block_id = system.call("blocks", "POST", "/v1/blocks", {"label": "human", "value": "1"}).body["id"]
    for number in range(2, 21):
        system.call("blocks", "PATCH", f"/v1/blocks/{block_id}", {"value": str(number)})
    path = f"/v1/blocks/{block_id}/history"

    walked: list[int] = []
    query: dict[str, Any] = {"limit": 7}
    while page := system.call("blocks", "GET", path, query=query).body:
        walked += [entry["version"] for entry in page]
        query["before_version"] = walked[-1]

    assert walked == list(range(20, 0, -1))
    assert system.call("blocks", "GET", path, query={"before_version": 10**30}).status == 422
