"""How conversations open."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from agentkeep.memory.opening import Draft, initial_messages
from agentkeep.store.content import Role, TextPart, ToolCall
from agentkeep.store.entities import Agent

MakeAgent = Callable[..., Agent]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def drafted(role: Role, text: str) -> Draft:
    return Draft(role=role, content=[TextPart(text=text)])


@pytest.mark.parametrize("agent_type", ["letta_v1_agent", "react_agent", "workflow_agent", "sleeptime_agent"])
def test_most_agents_start_with_the_system_message_alone(make_agent: MakeAgent, agent_type: str) -> None:
    assert initial_messages(make_agent(agent_type=agent_type), None, NOON) == []


@pytest.mark.parametrize("agent_type", ["memgpt_agent", "memgpt_v2_agent", "split_thread_agent"])
def test_a_legacy_agent_has_spoken_once_and_seen_a_login(make_agent: MakeAgent, agent_type: str) -> None:
    spoke, returned, login = initial_messages(make_agent(agent_type=agent_type, timezone="Asia/Tokyo"), None, NOON)

    assert [draft.role for draft in (spoke, returned, login)] == ["assistant", "tool", "user"]
    assert spoke.tool_calls[0].name == "send_message"
    assert json.loads(spoke.tool_calls[0].arguments)["message"]
    assert returned.tool_returns[0].tool_call_id == spoke.tool_calls[0].id
    assert json.loads(str(returned.tool_returns[0].content))["status"] == "OK"
    assert isinstance(login.content[0], TextPart)
    assert json.loads(login.content[0].text) == {
        "type": "login",
        "last_login": "Never (first login)",
        "time": "2026-03-02 21:00:00 JST (UTC+09:00)",
    }


def test_a_given_sequence_is_taken_as_it_is(make_agent: MakeAgent) -> None:
    sequence = [drafted("user", "hi"), drafted("assistant", "hello")]

    assert initial_messages(make_agent(), sequence, NOON) == sequence


@pytest.mark.parametrize("agent_type", ["letta_v1_agent", "memgpt_agent"])
def test_an_empty_sequence_is_nothing(make_agent: MakeAgent, agent_type: str) -> None:
    assert initial_messages(make_agent(agent_type=agent_type), [], NOON) == []


def test_what_a_legacy_agent_is_made_to_have_said_went_through_send_message(make_agent: MakeAgent) -> None:
    sequence = [
        drafted("user", "hi"),
        drafted("assistant", "hello"),
        drafted("assistant", "again"),
    ]

    user, *said = initial_messages(make_agent(agent_type="memgpt_v2_agent"), sequence, NOON)

    assert user == sequence[0]
    assert [draft.role for draft in said] == ["assistant", "tool", "assistant", "tool"]
    assert [json.loads(draft.tool_calls[0].arguments) for draft in said[::2]] == [
        {"message": "hello"},
        {"message": "again"},
    ]
    assert [draft.tool_returns[0].tool_call_id for draft in said[1::2]] == [
        draft.tool_calls[0].id for draft in said[::2]
    ]
    assert said[0].tool_calls[0].id != said[2].tool_calls[0].id


def test_a_call_in_a_given_sequence_stays_a_call(make_agent: MakeAgent) -> None:
    call = Draft(role="assistant", tool_calls=[ToolCall(id="c1", name="look_up", arguments="{}")])

    assert initial_messages(make_agent(agent_type="memgpt_agent"), [call], NOON) == [call]


def test_a_draft_reads_plain_text_and_parts() -> None:
    assert Draft.model_validate({"role": "user", "content": "hi"}).content == [TextPart(text="hi")]
    assert Draft.model_validate({"role": "user", "content": [{"type": "text", "text": "hi"}]}).content == [
        TextPart(text="hi")
    ]
