"""What a turn asks of the store: so many calls and items, whatever the length of the history behind its window."""

from collections.abc import Iterator

import pytest

from agentkeep import clock, ids
from agentkeep.store import conversations, database, messages
from agentkeep.store.content import Message, TextPart
from agentkeep.store.entities import Segment, Window
from infra.local.dynamodb.counters import Counts
from tests.doubles.models import calls, says
from tests.doubles.scenes import Scene
from tests.doubles.system import System
from tests.functions.turn_stage import Stage, opened

ONE_TOOL = Scene(
    "one tool",
    "I like tea.",
    (calls("memory_insert", {"label": "human", "new_string": "Likes tea."}), says("Noted.")),
)


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, ONE_TOOL, monkeypatch) as stage:
        yield stage


def _agent_with_history(stage: Stage, length: int) -> str:
    """An agent whose default conversation holds `length` messages, none of them in its window."""
    agent = str(stage.system.new_agent(memory_blocks=[{"label": "human", "value": "Unknown."}])["id"])
    with stage.system.acting():
        state = conversations.get(agent)
        first = state.next_seq
        said = [_message(agent, first + number) for number in range(length)]
        database.transact_all([write for message in said for write in messages.put_writes(message)], "last")
        _set_window(agent, [Segment(conversation=agent, first=first + length)], first + length)
    return agent


def _message(agent: str, seq: int) -> Message:
    role = "user" if seq % 2 else "assistant"
    content = [TextPart(text=f"message {seq}")]
    return Message(
        id=ids.new("message"), agent_id=agent, conversation=agent, role=role, seq=seq, content=content,  # type: ignore[arg-type,arg-type]
        created_at=clock.now(),
    )  # fmt: skip


def _set_window(agent: str, segments: list[Segment], next_seq: int) -> None:
    state = conversations.get(agent)
    window = Window(segments=segments, compiled_from=state.window.compiled_from)
    database.transact([conversations.reset_write(state, window, next_seq)])


def _counted(stage: Stage, agent: str, text: str) -> Counts:
    stage.send(agent, "warm")
    stage.system.engine.counters.reset()
    assert stage.send(agent, text).status == 200
    return stage.system.engine.counters.counts


def test_a_text_turn_costs_the_same_at_ten_messages_and_at_three_thousand(stage: Stage) -> None:
    short, long = (_counted(stage, _agent_with_history(stage, length), "Hello.") for length in (10, 3_000))

    assert short == long
    assert short.calls == {"BatchGetItem": 2, "Query": 1, "TransactWriteItems": 2, "UpdateItem": 1}


def test_a_turn_with_a_memory_tool_costs_the_same_at_ten_messages_and_at_three_thousand(stage: Stage) -> None:
    short, long = (_counted(stage, _agent_with_history(stage, length), ONE_TOOL.text) for length in (10, 3_000))

    assert short == long
    assert short.calls == {"BatchGetItem": 2, "Query": 1, "TransactWriteItems": 4, "UpdateItem": 1}


def _agent_with_summary(stage: Stage, length: int) -> str:
    """An agent whose history of `length` messages is compacted but for its end."""
    agent = _agent_with_history(stage, length)
    with stage.system.acting():
        end = conversations.get(agent).next_seq
        _set_window(agent, [Segment(conversation=agent, first=end - 20)], end)
    stage.model.think = lambda request: says("A summary of all that.")
    settings = {"compaction_settings": {"mode": "all"}}
    answer = stage.system.call("messages", "POST", f"/v1/agents/{agent}/summarize", settings)
    assert (answer.body["num_messages_before"], answer.body["num_messages_after"]) == (21, 2)
    stage.model.think = stage.scene.think
    return agent


def test_a_turn_behind_a_summary_costs_the_same_at_a_hundred_messages_and_at_ten_thousand(stage: Stage) -> None:
    short, long = (_counted(stage, _agent_with_summary(stage, length), "Hello.") for length in (100, 10_000))

    assert short == long
    assert short.calls == {"BatchGetItem": 2, "Query": 1, "TransactWriteItems": 2, "UpdateItem": 1}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_turn_behind_a_summary_costs_the_same_at_a_hundred_thousand_messages(stage: Stage) -> None:
    short, long = (_counted(stage, _agent_with_summary(stage, length), "Hello.") for length in (100, 100_000))

    assert short == long


def test_a_compaction_costs_four_calls_beside_the_lease(stage: Stage) -> None:
    """Agent and conversation are read, then the window; all of it is written at once."""
    agent = _agent_with_summary(stage, 100)
    stage.send(agent, "warm")
    stage.system.engine.counters.reset()

    assert stage.system.call("messages", "POST", f"/v1/agents/{agent}/summarize", {}).status == 200

    assert stage.system.engine.counters.counts.calls == {"BatchGetItem": 2, "Query": 1, "TransactWriteItems": 2}


def test_every_item_that_a_text_turn_reads_is_needed(stage: Stage) -> None:
    """Agent, conversation; system message, block; the two messages of the window."""
    agent = _agent_with_history(stage, 10)

    assert _counted(stage, agent, "Hello.").items_read == 2 + 2 + 2


def test_a_window_of_segments_loads_its_segments_and_nothing_between(stage: Stage) -> None:
    agent = _agent_with_history(stage, 500)
    with stage.system.acting():
        end = conversations.get(agent).next_seq
        segments = [
            Segment(conversation=agent, first=11, last=12),
            Segment(conversation=agent, first=101, last=104),
            Segment(conversation=agent, first=end),
        ]
        _set_window(agent, segments, end)
    stage.system.engine.counters.reset()

    stage.send(agent, "Hello.")

    seen = [message.text for message in stage.model.requests[-1].messages[1:]]
    assert seen == [f"message {seq}" for seq in (11, 12, 101, 102, 103, 104)] + ["Hello."]
    counts = stage.system.engine.counters.counts
    assert (counts.calls["Query"], counts.items_read) == (3, 2 + 2 + 6)


def test_a_reset_window_grows_from_its_own_end(stage: Stage) -> None:
    agent = _agent_with_history(stage, 10)
    stage.send(agent, "One.")
    assert stage.system.call("agents", "PATCH", f"/v1/agents/{agent}/reset-messages", {}).status == 200

    stage.send(agent, "Two.")
    stage.send(agent, "Three.")

    seen = [message.text for message in stage.model.requests[-1].messages[1:]]
    assert seen == ["Two.", "Acknowledged.", "Three."]
