"""Compaction by the official client, with providers of both kinds that refuse what does not fit their window."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from letta_client import APIStatusError, Letta
from letta_client.types import AgentState

from tests.doubles.provider import ScriptedProvider
from tests.doubles.provider_replies import fail, say
from tests.local.clients import client_of, history, kinds, said
from tests.local.servers import LocalServer

WINDOW = 9_000
"""Tokens that the providers take; the tools of an agent are about a third of them."""
STORY = "It was a dark and stormy night. " * 100
MODES = ("all", "sliding_window", "self_compact_all", "self_compact_sliding_window")


@pytest.fixture(scope="module")
def small() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(context_window=WINDOW) as scripted:
        yield scripted


@pytest.fixture(scope="module")
def letta(small: ScriptedProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Letta]:
    local = LocalServer(Path(tmp_path_factory.mktemp("compaction")) / "data", small.environment).start()
    yield client_of(local.base_url)
    local.stop()


@pytest.fixture(params=["openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"])
def agent(letta: Letta, small: ScriptedProvider, request: pytest.FixtureRequest) -> AgentState:
    small.reset()
    return letta.agents.create(model=request.param, system="Be brief.", memory_blocks=[])


def fill(letta: Letta, agent: AgentState, stories: int) -> None:
    for number in range(1, stories + 1):
        letta.agents.messages.create(agent.id, input=f"Story {number} of Zanzibar{number}. {STORY}")


def test_a_conversation_outgrows_the_models_window_and_goes_on(
    letta: Letta, agent: AgentState, small: ScriptedProvider
) -> None:
    shown: list[Any] = []
    for number in range(20):
        answer = letta.agents.messages.create(
            agent.id, input=f"Story {number}. {STORY}", include_compaction_messages=True
        )
        shown += answer.messages

    assert kinds(shown).count("assistant_message") == 20
    assert 1 <= kinds(shown).count("summary_message") == kinds(shown).count("event_message") <= 8
    assert 400 in {seen.status for seen in small.calls}
    assert kinds(history(letta, agent.id)).count("user_message") == 20


def test_a_window_of_the_agents_own_is_kept_to(letta: Letta, agent: AgentState, small: ScriptedProvider) -> None:
    letta.agents.update(agent.id, context_window_limit=6_000)

    fill(letta, agent, 8)

    assert {seen.status for seen in small.calls} == {200}
    sizes = [len(str(seen.body)) for seen in small.calls]
    assert max(sizes) < 6_000 * 4 * 1.6
    shown = [each for each in history(letta, agent.id) if each.message_type == "summary_message"]
    assert 1 <= len(shown) <= 4


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_by_hand(letta: Letta, agent: AgentState, small: ScriptedProvider, mode: Any) -> None:
    fill(letta, agent, 4)
    small.script(say("Four stories were told."))

    compacted = letta.agents.messages.compact(agent.id, compaction_settings={"mode": mode})

    assert (compacted.summary, compacted.num_messages_before) == ("Four stories were told.", 9)
    assert compacted.num_messages_after == (2 if mode.endswith("all") else 5)
    assert small.calls[-1].status == 200
    assert said(letta.agents.messages.create(agent.id, input="@say Go on.").messages) == "Go on."
    assert "Four stories were told." in str(small.calls[-1].body)
    ids = letta.agents.retrieve(agent.id).message_ids or []
    assert len(ids) == compacted.num_messages_after + 2


def test_a_named_conversation(letta: Letta, agent: AgentState) -> None:
    talk = letta.conversations.create(agent_id=agent.id)
    for number in range(3):
        list(letta.conversations.messages.create(talk.id, input=f"@say Heard {number}."))

    compacted = letta.conversations.messages.compact(talk.id, compaction_settings={"mode": "all"})

    assert (compacted.num_messages_before, compacted.num_messages_after) == (7, 2)
    assert "Be brief." in letta.conversations.recompile(talk.id)


def test_a_stream_shows_it(letta: Letta, agent: AgentState, small: ScriptedProvider) -> None:
    """letta-client reads these events in streams only where it is not strict: its own union of them lacks both."""
    fill(letta, agent, 4)
    small.script(fail(400, "too long", code="context_length_exceeded"), say("Four stories."), say("Yes."))

    lenient = Letta(base_url=str(letta.base_url), api_key="any", max_retries=0)
    stream = lenient.conversations.messages.create(
        "default", agent_id=agent.id, input="Still there?", include_compaction_messages=True
    )
    events = list(stream)

    seen = [event.message_type for event in events]
    assert seen[:4] == ["ping", "event_message", "summary_message", "assistant_message"]
    summary: Any = events[2]
    assert summary.summary == "Four stories."
    assert summary.compaction_stats["trigger"] == "context_window_exceeded"


def test_what_left_the_window_is_listed_and_found(letta: Letta, agent: AgentState) -> None:
    fill(letta, agent, 4)
    letta.agents.messages.compact(agent.id, compaction_settings={"mode": "all"})

    answer = letta.agents.messages.create(agent.id, input='@call conversation_search {"query": "Zanzibar1"}')

    returned: Any = next(each for each in answer.messages if each.message_type == "tool_return_message")
    assert "Story 1 of Zanzibar1" in returned.tool_return
    assert kinds(history(letta, agent.id)).count("summary_message") == 1


def test_a_system_prompt_larger_than_the_window(letta: Letta, agent: AgentState, small: ScriptedProvider) -> None:
    letta.agents.update(agent.id, system="Rule. " * WINDOW, context_window_limit=8_000)

    with pytest.raises(APIStatusError) as refused:
        letta.agents.messages.create(agent.id, input="Hello?")

    assert refused.value.body["error"]["type"] == "context_window_overflow_in_system_prompt"  # type: ignore[index]
    assert sum(seen.status == 200 for seen in small.calls) == 0
    run = letta.runs.list(agent_id=agent.id).items[0]
    assert run.stop_reason == "context_window_overflow_in_system_prompt"
    letta.agents.update(agent.id, system="Be brief.")
    assert said(letta.agents.messages.create(agent.id, input="@say Better.").messages) == "Better."
