"""Running builtin tools: searching, sending, and calls that cannot be run."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentkeep.memory.recall import ConversationQuery, Hit
from agentkeep.store.content import ToolCall
from agentkeep.tools.builtin import run_builtin
from agentkeep.tools.registry import BUILTIN

MakeDesk = Callable[..., Any]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def hit(text: str, minutes_ago: int = 6) -> Hit:
    return Hit("message-1", "agent-1", "user", text, NOON - timedelta(minutes=minutes_ago))


def test_search_results_are_readable_with_time_and_speaker(make_desk: MakeDesk) -> None:
    desk = make_desk({}, hits=[hit("hello again"), hit("hello", 90)], timezone="Europe/Paris")

    returned = desk.call("conversation_search", query="hello")

    assert returned.status == "success"
    assert returned.content == (
        "Found 2 messages for 'hello':\n\n"
        "[2026-03-02 12:54:00 CET (UTC+01:00), 6 minutes ago] user:\nhello again\n\n"
        "[2026-03-02 11:30:00 CET (UTC+01:00), 1 hour ago] user:\nhello"
    )


def test_finding_nothing_is_said_in_a_sentence(make_desk: MakeDesk) -> None:
    desk = make_desk({})

    assert desk.call("conversation_search", query="kafka").content == (
        "No message was found for 'kafka'. Try fewer or other words, or another time."
    )
    assert desk.call("conversation_search").content.startswith("No message was found. Try")


def test_a_long_hit_is_shown_in_part(make_desk: MakeDesk) -> None:
    returned = make_desk({}, hits=[hit("x" * 5_000)]).call("conversation_search", query="x")

    assert returned.content.endswith("x\n[Cut here: 3000 of 5000 characters are not shown.]")


def test_a_search_without_arguments_asks_for_the_newest(make_desk: MakeDesk) -> None:
    desk = make_desk({})

    desk.call_raw("conversation_search", "")

    assert desk.queries == [ConversationQuery(text="", roles=("user", "assistant"), limit=10)]


def test_a_search_passes_on_what_it_was_asked(make_desk: MakeDesk) -> None:
    desk = make_desk({})

    desk.call("conversation_search", query="kafka", roles=["tool", "user", "tool"], limit="500")

    assert desk.queries == [ConversationQuery(text="kafka", roles=("tool", "user"), limit=100)]


def test_a_date_means_the_whole_day_in_the_agents_zone(make_desk: MakeDesk) -> None:
    desk = make_desk({}, timezone="America/New_York")

    desk.call("conversation_search", start_date="2026-03-01", end_date="2026-03-02")

    (query,) = desk.queries
    assert query.start == datetime(2026, 3, 1, 5, 0, tzinfo=UTC)
    assert query.end == datetime(2026, 3, 3, 4, 59, 59, 999_999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        ("2026-03-02T14:30", datetime(2026, 3, 2, 19, 30, tzinfo=UTC)),
        ("2026-03-02 14:30:15", datetime(2026, 3, 2, 19, 30, 15, tzinfo=UTC)),
        ("2026-03-02T14:30Z", datetime(2026, 3, 2, 14, 30, tzinfo=UTC)),
        ("2026-03-02T14:30:00+02:00", datetime(2026, 3, 2, 12, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_the_agents_unless_it_names_its_zone(make_desk: MakeDesk, given: str, moment: datetime) -> None:
    desk = make_desk({}, timezone="America/New_York")

    desk.call("conversation_search", start_date=given)

    assert desk.queries[0].start == moment


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"start_date": "last week"}, "The argument 'start_date' of conversation_search must be a date such as"),
        ({"end_date": "2026-13-01"}, "The argument 'end_date' of conversation_search must be a date such as"),
        ({"start_date": "2026-03-03", "end_date": "2026-03-02"}, "lies after its 'end_date'"),
        ({"limit": 0}, "must be at least 1, not 0"),
        ({"roles": ["system"]}, "must be one of assistant, user, tool"),
        ({"page": 2}, "conversation_search has no argument 'page'"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(make_desk: MakeDesk, arguments: dict[str, Any], said: str) -> None:
    desk = make_desk({})

    returned = desk.call("conversation_search", **arguments)

    assert returned.status == "error"
    assert said in returned.content
    assert desk.queries == []


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_first_and_the_last_day_there_are_can_be_searched(make_desk: MakeDesk, day: str) -> None:
    desk = make_desk({}, timezone="Pacific/Kiritimati")

    assert desk.call("conversation_search", start_date=day, end_date=day).status == "success"


def test_sending_a_message_is_confirmed(make_desk: MakeDesk) -> None:
    returned = make_desk({}).call("send_message", message="Hello", request_heartbeat=False)

    assert (returned.status, returned.content) == ("success", "The message was sent.")


@pytest.mark.parametrize("tool", [tool.name for tool in BUILTIN.values() if not tool.available])
def test_a_tool_of_a_later_version_says_so(make_desk: MakeDesk, tool: str) -> None:
    returned = make_desk({}).call(tool, query="x")

    assert (returned.status, returned.name) == ("error", tool)
    assert returned.content == f"{tool} is not available in this version of AgentKeep. Go on without it."


def test_a_tool_the_agent_does_not_have_is_refused_with_the_ones_it_has(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "x"})
    context = replace(desk.context, tool_names=("memory_insert", "roll_dice"))

    unknown = run_builtin(ToolCall(id="c1", name="no_such_tool", arguments="{}"), context)
    not_attached = run_builtin(ToolCall(id="c2", name="memory_rethink", arguments="{}"), context)

    assert (unknown.status, not_attached.status) == ("error", "error")
    assert unknown.content == (
        "[ToolConstraintError] Cannot call no_such_tool, valid tools include: ['memory_insert', 'roll_dice']."
    )
    assert str(not_attached.content).startswith("[ToolConstraintError] Cannot call memory_rethink,")


def test_broken_arguments_are_answered_not_raised(make_desk: MakeDesk) -> None:
    returned = make_desk({"human": "x"}).call_raw("memory_insert", '{"label": "human"')

    assert returned.status == "error"
    assert "not valid JSON" in returned.content
    assert "Required: label, new_string. Optional: insert_line." in returned.content
