"""What a page costs: the same in a small and in a large tenant, and one match in 2,000 is found as the last."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from agentkeep.store import agents as agent_store
from agentkeep.store.agents import Activity
from tests.doubles.populated import many_agents, many_blocks, many_conversations, many_messages, many_runs, minute
from tests.doubles.system import System, running
from tests.doubles.walks import List, forwards

LARGE, SMALL = 2_000, 100


@dataclass(frozen=True)
class Town:
    """A tenant with `count` agents, blocks, conversations, messages and runs; the last of each is unlike the others."""

    tenant: str
    agent_id: str
    last: dict[str, str]


def found(tenant: str, count: int) -> Town:
    """Fills a tenant."""

    def rare(number: int, **fields: Any) -> dict[str, Any]:
        return fields if number == count - 1 else {}

    shared = many_blocks(1)[0].id
    made = many_agents(
        count,
        lambda n: {"tags": ["all"], "block_ids": [shared]} | rare(n, name="Ω", project_id="p", tags=["all", "rare"]),
    )
    last_run = Activity(last_run_completion=minute(1), last_stop_reason="max_steps")
    agent_store.record_activity(made[-1].id, last_run)
    first = made[0].id
    blocks = many_blocks(count, lambda n: {"tags": ["all"]} | rare(n, value="needle", description="Needle", label="Ω"))
    talks = many_conversations(first, count, lambda n: rare(n, summary="needle"))
    said = many_messages(first, first, count, lambda n: {"role": "assistant"} | rare(n, role="user"))
    runs = many_runs(first, count, lambda n: rare(n, stop_reason="max_steps", status="failed"))
    last = {
        "agents": made[-1].id, "blocks": blocks[-1].id, "conversations": talks[-1].id, "messages": said[-1].id,
        "runs": runs[-1].id, "shared": shared,
    }  # fmt: skip
    return Town(f"town{count:06}", first, last)


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[System, Town, Town]]:
    with running(tmp_path_factory.mktemp("towns")) as system:
        made = []
        for count in (SMALL, LARGE):
            with system.acting(f"town{count:06}"):
                made.append(found(f"town{count:06}", count))
        yield system, made[0], made[1]


def lists(town: Town) -> dict[str, List]:
    """Every list that an index or a list item serves: its page costs the same however much there is."""
    of_agent = {"agent_id": town.agent_id}
    return {
        "agents": List("agents", "/v1/agents"),
        "agents with all in them": List("agents", "/v1/agents", {"include": ["agent.blocks", "agent.tools"]}),
        "agents by update": List("agents", "/v1/agents", {"order_by": "updated_at"}),
        "agents by last run": List("agents", "/v1/agents", {"order_by": "last_run_completion"}),
        "agents by name": List("agents", "/v1/agents", {"name": "Ω"}),
        "agents by tag": List("agents", "/v1/agents", {"tags": "all"}),
        "agents by any tag": List("agents", "/v1/agents", {"tags": ["all", "rare"]}),
        "agents by all tags, the rare first": List(
            "agents", "/v1/agents", {"tags": ["rare", "all"], "match_all_tags": "true"}
        ),
        "agents of a block": List("blocks", f"/v1/blocks/{town.last['shared']}/agents"),
        "tags": List("agents", "/v1/tags", {}, str),
        "blocks": List("blocks", "/v1/blocks"),
        "blocks by label": List("blocks", "/v1/blocks", {"label": "Ω"}),
        "blocks by tag": List("blocks", "/v1/blocks", {"tags": "all"}),
        "conversations": List("conversations", "/v1/conversations"),
        "conversations of an agent": List("conversations", "/v1/conversations", of_agent),
        "conversations by message": List("conversations", "/v1/conversations", {"order_by": "last_message_at"}),
        "messages of a conversation": List("messages", f"/v1/conversations/{town.agent_id}/messages"),
        "messages of an agent": List("messages", f"/v1/agents/{town.agent_id}/messages"),
        "messages of the tenant": List("messages", "/v1/messages"),
        "runs": List("runs", "/v1/runs"),
        "runs of an agent": List("runs", "/v1/runs", of_agent),
        "runs of a conversation": List("runs", "/v1/runs", {"conversation_id": town.agent_id}),
        "active runs": List("runs", "/v1/runs", {"active": "true"}),
    }


NAMES = list(lists(Town("", "agent-123e4567-e89b-42d3-8456-426614174000", {"shared": ""})))


def cost(system: System, town: Town, name: str, order: str) -> tuple[dict[str, int], int]:
    """The DynamoDB calls of the second page, and the items it read."""
    listed, asking = lists(town)[name], System(system.engine, town.tenant)
    page = listed.page(asking, limit=7, order=order)
    cursor = {"after": listed.name(page[-1])} if page else {}
    system.engine.counters.reset()
    listed.page(asking, limit=7, order=order, **cursor)
    counts = system.engine.counters.counts
    return counts.calls, counts.items_read


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_costs_the_same_in_a_large_tenant(towns: tuple[System, Town, Town], name: str, order: str) -> None:
    system, small, large = towns

    calls, items = cost(system, large, name, order)

    assert (calls, items) == cost(system, small, name, order)
    assert sum(calls.values()) <= 9
    assert items <= 70


RARE: list[tuple[str, List]] = [
    ("agents", List("agents", "/v1/agents", {"query_text": "ω"})),
    ("agents", List("agents", "/v1/agents", {"project_id": "p"})),
    ("agents", List("agents", "/v1/agents", {"last_stop_reason": "max_steps"})),
    ("agents", List("agents", "/v1/agents", {"tags": ["all", "rare"], "match_all_tags": "true"})),
    ("blocks", List("blocks", "/v1/blocks", {"label_search": "ω"})),
    ("blocks", List("blocks", "/v1/blocks", {"value_search": "needle"})),
    ("blocks", List("blocks", "/v1/blocks", {"description_search": "needle"})),
    ("conversations", List("conversations", "/v1/conversations", {"summary_search": "needle"})),
    ("messages", List("messages", "/v1/messages", {"include_return_message_types": "user_message"})),
    ("runs", List("runs", "/v1/runs", {"stop_reason": "max_steps"})),
    ("runs", List("runs", "/v1/runs", {"statuses": "failed"})),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "listed"), RARE, ids=[f"{kind} {listed.query}" for kind, listed in RARE])
def test_one_match_in_two_thousand_is_found_as_the_last_in_few_reads(
    towns: tuple[System, Town, Town], kind: str, listed: List
) -> None:
    system, _, large = towns
    asking = System(system.engine, large.tenant)
    from_the_other_end = List(listed.function, listed.path, {**listed.query, "order": "asc"}, listed.name)
    system.engine.counters.reset()

    assert forwards(asking, from_the_other_end) == [large.last[kind]]

    assert system.engine.counters.counts.total_calls <= 80
