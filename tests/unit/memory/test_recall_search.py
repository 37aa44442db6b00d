"""Finding words in messages."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkeep.memory.recall import ConversationQuery, Hit, matches
from agentkeep.store.content import ImagePart, Message, TextPart, ToolCall, ToolReturn

MakeMessage = Callable[..., Message]


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


@pytest.fixture
def talk(make_message: MakeMessage) -> list[Message]:
    return [
        make_message("system", "Kafka is in the instructions"),
        make_message("user", "Our Kafka consumer rebalances", "2026-03-01T23:30:00Z"),
        make_message("assistant", "How often does it rebalance?", "2026-03-02T00:10:00Z"),
        make_message("user", "KAFKA every four minutes", "2026-03-02T12:00:00Z"),
        make_message("user", "Lunch was good", "2026-03-03T12:00:00Z"),
    ]


def test_any_case_and_parts_of_words_are_found(talk: list[Message]) -> None:
    hits = matches(talk, ConversationQuery("kafka REBALANC"))

    assert texts(hits) == ["Our Kafka consumer rebalances"]
    assert hits[0].score == 1.0


def test_equal_hits_come_newest_first(talk: list[Message]) -> None:
    assert texts(matches(talk, ConversationQuery("kafka"))) == [
        "KAFKA every four minutes",
        "Our Kafka consumer rebalances",
    ]


def test_without_a_full_match_messages_with_most_words_come_first(talk: list[Message]) -> None:
    hits = matches(talk, ConversationQuery("kafka consumer crashes"))

    assert [(hit.text, round(hit.score, 2)) for hit in hits] == [("Our Kafka consumer rebalances", 0.67)]


def test_no_word_found_is_no_hit(talk: list[Message]) -> None:
    assert matches(talk, ConversationQuery("postgres")) == []


def test_without_text_everything_in_the_filters_is_found(talk: list[Message]) -> None:
    assert texts(matches(talk, ConversationQuery(roles=("assistant",)))) == ["How often does it rebalance?"]
    assert len(matches(talk, ConversationQuery("  "))) == 4


def test_a_text_without_words_is_looked_for_as_it_stands(make_message: MakeMessage) -> None:
    messages = [make_message("user", "nice \U0001f600"), make_message("user", "nice")]

    assert texts(matches(messages, ConversationQuery("\U0001f600"))) == ["nice \U0001f600"]


def test_both_ends_of_the_time_are_included(talk: list[Message]) -> None:
    query = ConversationQuery(
        start=datetime(2026, 3, 2, 0, 10, tzinfo=UTC), end=datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
    )

    assert texts(matches(talk, query)) == ["KAFKA every four minutes", "How often does it rebalance?"]


def test_the_limit_keeps_the_best(talk: list[Message]) -> None:
    assert texts(matches(talk, ConversationQuery("kafka", limit=1))) == ["KAFKA every four minutes"]


def test_a_hit_says_where_it_is_from(make_message: MakeMessage) -> None:
    message = make_message("user", "hello", id="message-1", conversation="conv-9")

    assert matches([message], ConversationQuery("hello")) == [
        Hit("message-1", "conv-9", "user", "hello", message.created_at, 1.0)
    ]


def test_what_a_search_left_in_the_history_is_not_found_again(make_message: MakeMessage) -> None:
    call = ToolCall(id="c1", name="conversation_search", arguments='{"query": "kafka"}')
    found = ToolReturn(tool_call_id="c1", name="conversation_search", content="kafka")
    messages = [
        make_message("assistant", "I look for kafka", tool_calls=[call]),
        make_message("tool", "", tool_returns=[found]),
    ]

    assert matches(messages, ConversationQuery("kafka", roles=("user", "assistant", "tool"))) == []


def test_tool_returns_are_searched_when_asked_for(make_message: MakeMessage) -> None:
    returned = ToolReturn(
        tool_call_id="c1", name="look_up", content=[TextPart(text="offset 42"), ImagePart(url="https://example.org")]
    )
    messages = [make_message("tool", "", tool_returns=[returned])]

    assert texts(matches(messages, ConversationQuery("offset", roles=("tool",)))) == ["offset 42"]
    assert matches(messages, ConversationQuery("offset")) == []


def test_what_a_legacy_agent_sent_is_found(make_message: MakeMessage) -> None:
    call = ToolCall(id="c1", name="send_message", arguments='{"message": "The invoice is paid"}')

    assert texts(matches([make_message("assistant", "", tool_calls=[call])], ConversationQuery("invoice"))) == [
        "The invoice is paid"
    ]


@pytest.mark.parametrize("arguments", ["{broken", "[]", '{"message": 3}', "[" * 100_000])
def test_unreadable_arguments_of_send_message_are_passed_over(make_message: MakeMessage, arguments: str) -> None:
    call = ToolCall(id="c1", name="send_message", arguments=arguments)

    assert matches([make_message("assistant", "", tool_calls=[call])], ConversationQuery("")) == []


@given(words=st.lists(st.sampled_from(["Tea", "cake", "NORTH", "ßtraße"]), min_size=1, max_size=4))
def test_a_message_is_found_by_its_own_words_in_any_order(make_message: MakeMessage, words: list[str]) -> None:
    message = make_message("user", " ".join(words))

    (hit,) = matches([message], ConversationQuery(" ".join(reversed(words)).upper()))

    assert hit.score == 1.0
