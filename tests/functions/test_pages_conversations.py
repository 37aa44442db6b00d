"""Every list of conversations and of messages, walked page by page, by every order and filter."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from agentkeep.store import conversations
from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.populated import many_agents, many_conversations, many_messages, minute
from tests.doubles.system import System
from tests.doubles.walks import List, backwards, expect_walks, forwards

COUNT = 30
SPOKEN = random.Random(3).sample(range(COUNT), COUNT)
Fits = Callable[[int], bool]


def fields(number: int) -> dict[str, Any]:
    """What is special about conversation `number`."""
    return {
        "summary": f"About tea {number}" if number % 2 else None,
        "archived": number % 5 == 4,
        "hidden": number % 7 == 6,
        "last_message_at": minute(SPOKEN[number]) if number % 3 else None,
    }


def shown(number: int) -> bool:
    return number % 5 != 4 and number % 7 != 6


FILTERS: list[tuple[dict[str, Any], Fits]] = [
    ({}, shown),
    ({"show_hidden": "true"}, lambda n: n % 5 != 4),
    ({"archive_status": "archived"}, lambda n: n % 5 == 4 and n % 7 != 6),
    ({"archive_status": "all"}, lambda n: n % 7 != 6),
    ({"summary_search": "TEA 1"}, lambda n: n % 2 == 1 and (n == 1 or 10 <= n < 20) and shown(n)),
]
ORDERS: dict[str, Callable[[int], Any]] = {
    "created_at": lambda n: n,
    "last_message_at": lambda n: (n % 3 != 0, SPOKEN[n] if n % 3 else n),
    "last_run_completion": lambda n: n,
}


def test_conversations_through_every_filter_in_every_order(system: System) -> None:
    with system.acting():
        first, second = many_agents(2)
        mine = many_conversations(first.id, COUNT, fields)
        many_conversations(second.id, 3)
    for query, fits in FILTERS:
        for order_by, key in ORDERS.items():
            expected = [mine[number].id for number in sorted(filter(fits, range(COUNT)), key=key)]
            listed = List("conversations", "/v1/conversations", {**query, "order_by": order_by, "agent_id": first.id})
            expect_walks(system, listed, expected)


def test_the_conversations_of_the_tenant_without_those_of_deleted_agents(system: System) -> None:
    with system.acting():
        gone, kept = many_agents(2)
        for _ in range(3):
            many_conversations(gone.id, 5)
            many_conversations(kept.id, 5)
        of_kept = [state.conversation.id for state in _all_of(kept.id)]
    assert system.call("agents", "DELETE", f"/v1/agents/{gone.id}").status == 200

    for order_by in ORDERS:
        expect_walks(system, List("conversations", "/v1/conversations", {"order_by": order_by}), of_kept)
    assert system.call("conversations", "GET", "/v1/conversations", query={"agent_id": gone.id}).status == 404


def _all_of(agent_id: str) -> list[conversations.State]:
    request = conversations.PageRequest(limit=1000, descending=False)
    return conversations.page(agent_id, request, "created_at", lambda found: found)


@pytest.mark.parametrize("order_by", ORDERS)
def test_conversations_deleted_during_the_walk_among_them_the_cursor(system: System, order_by: str) -> None:
    with system.acting():
        (agent,) = many_agents(1)
        made = many_conversations(agent.id, 20, lambda n: {"last_message_at": minute(n)})

    def delete(names: list[str]) -> None:
        assert system.call("conversations", "DELETE", f"/v1/conversations/{names[-1]}").status == 200

    listed = List("conversations", "/v1/conversations", {"order": "asc", "order_by": order_by, "agent_id": agent.id})
    walked = forwards(system, listed, meanwhile=delete)

    assert walked == [conversation.id for conversation in made]
    assert [item["id"] for item in listed.page(system)] == [
        conversation.id for number, conversation in enumerate(made) if number not in (6, 13, 19)
    ]


@pytest.mark.parametrize("order_by", ORDERS)
def test_a_conversation_cursor_never_seen_is_404(system: System, order_by: str) -> None:
    agent = system.new_agent()
    with system.acting("tenant02"):
        (other,) = many_agents(1)
        theirs = many_conversations(other.id, 1)[0].id

    for unknown in ("conv-123e4567-e89b-42d3-8456-426614174000", theirs, agent["id"], "nonsense"):
        query = {"after": unknown, "order_by": order_by}
        assert system.call("conversations", "GET", "/v1/conversations", query=query).status == 404, unknown


def test_messages_of_a_conversation_an_agent_and_the_tenant(system: System) -> None:
    with system.acting():
        first, second = many_agents(2)
        (named,) = many_conversations(first.id, 1)
        of_default = [message.id for message in many_messages(first.id, first.id, 25)]
        of_named = [message.id for message in many_messages(first.id, named.id, 25)]
        of_second = [message.id for message in many_messages(second.id, second.id, 25)]

    expect_walks(system, List("messages", f"/v1/conversations/{named.id}/messages"), of_named)
    default = List("messages", "/v1/conversations/default/messages", {"agent_id": first.id})
    expect_walks(system, default, of_default)
    expect_walks(system, List("messages", f"/v1/agents/{first.id}/messages"), of_default + of_named)
    by_agent = List("messages", f"/v1/agents/{first.id}/messages", {"conversation_id": named.id})
    expect_walks(system, by_agent, of_named)
    expect_walks(system, List("messages", f"/v1/agents/{second.id}/messages"), of_second)
    expect_walks(system, List("messages", "/v1/messages"), of_default + of_named + of_second)
    expect_walks(system, List("messages", "/v1/messages", {"conversation_id": named.id}), of_named)


def test_messages_of_one_type(system: System) -> None:
    with system.acting():
        (agent,) = many_agents(1)
        (other,) = many_conversations(agent.id, 1)
        made = many_messages(agent.id, agent.id, 40)
        many_messages(agent.id, other.id, 3)
    said = {"include_return_message_types": "assistant_message"}

    for path in (f"/v1/agents/{agent.id}/messages", f"/v1/conversations/{agent.id}/messages"):
        listed = List("messages", path, {**said, "conversation_id": "default"})
        expect_walks(system, listed, [message.id for message in made if message.role == "assistant"])
    none = List("messages", f"/v1/agents/{agent.id}/messages", {"include_return_message_types": "reasoning_message"})
    expect_walks(system, none, [])


def test_a_message_that_shows_as_several_entries_is_never_cut(system: System, model: ScriptedModel) -> None:
    agent = system.new_agent(memory_blocks=[{"label": "human", "value": "x"}])
    model.script = [
        calls("memory_insert", {"label": "human", "new_string": "y"}, text="Let me note that."),
        says("Done."),
    ]
    system.send(agent["id"], "hello")

    pages = []
    query: dict[str, Any] = {"limit": 1, "order": "desc"}
    while page := system.call("messages", "GET", f"/v1/agents/{agent['id']}/messages", query=query).body:
        pages.append([entry["message_type"] for entry in page])
        query["after"] = page[-1]["id"]

    assert pages == [
        ["assistant_message"],
        ["tool_return_message"],
        ["tool_call_message", "assistant_message"],
        ["user_message"],
        ["system_message"],
    ]


def test_what_was_deleted_shows_in_no_list_of_messages(system: System) -> None:
    with system.acting():
        agent, doomed = many_agents(2)
        kept, gone = many_conversations(agent.id, 2)
        of_doomed = many_conversations(doomed.id, 1)[0]
        lost = many_messages(agent.id, gone.id, 10) + many_messages(doomed.id, of_doomed.id, 10)
        lost += many_messages(doomed.id, doomed.id, 10)
        left = [message.id for message in many_messages(agent.id, kept.id, 10)]
    system.call("conversations", "DELETE", f"/v1/conversations/{gone.id}")
    system.call("agents", "DELETE", f"/v1/agents/{doomed.id}")

    expect_walks(system, List("messages", f"/v1/agents/{agent.id}/messages"), left)
    expect_walks(system, List("messages", "/v1/messages"), left)
    for message in lost:
        assert system.call("messages", "GET", f"/v1/messages/{message.id}").status == 404
    for path in (f"/v1/conversations/{of_doomed.id}/messages", f"/v1/agents/{doomed.id}/messages"):
        assert system.call("messages", "GET", path).status == 404
    listed = List("messages", f"/v1/agents/{agent.id}/messages", {"order": "asc"})
    assert forwards(system, List(listed.function, listed.path, {"order": "asc", "after": lost[9].id})) == left
    assert backwards(system, listed, left[-1]) == left[:-1]


def test_a_message_cursor_never_seen_is_404(system: System) -> None:
    with system.acting():
        agent, other = many_agents(2)
        foreign = many_messages(other.id, other.id, 1)[0].id
    with system.acting("tenant02"):
        (stranger,) = many_agents(1)
        theirs = many_messages(stranger.id, stranger.id, 1)[0].id

    for path in (f"/v1/agents/{agent.id}/messages", f"/v1/conversations/{agent.id}/messages", "/v1/messages"):
        for unknown in ("message-123e4567-e89b-42d3-8456-426614174000", theirs, agent.id, "nonsense"):
            assert system.call("messages", "GET", path, query={"before": unknown}).status == 404, (path, unknown)
    assert system.call("messages", "GET", f"/v1/agents/{agent.id}/messages", query={"after": foreign}).status == 404
