"""One stored message, several entries: what clients see, checked with letta-client's own models."""

from typing import Any

import pytest
from letta_client.types.agents import Message as LettaMessage
from pydantic import TypeAdapter

from agentkeep.api.render.messages import MessageView
from agentkeep.store.content import ImagePart, Message, ReasoningPart, RedactedReasoningPart, TextPart
from tests.unit.api.records import RUN, STEP, message, tool_call, tool_return

KNOWN = TypeAdapter[Any](LettaMessage)


def show(record: Message, **view: Any) -> list[dict[str, Any]]:
    """The entries of a message, each read by letta-client first."""
    shown = MessageView(**view).show(record)
    for entry in shown:
        assert KNOWN.validate_python(entry).message_type == entry["message_type"]
    return shown


def test_text_is_an_assistant_message() -> None:
    assert show(message()) == [
        {
            "id": "message-019a1b2c-3d4e-4f60-8a7b-0123456789ab",
            "date": "2026-03-02T12:00:00+00:00",
            "name": None,
            "otid": "019a1b2c-3d4e-4f60-8a7b-012345678980",
            "sender_id": None,
            "step_id": STEP,
            "is_err": None,
            "seq_id": None,
            "run_id": RUN,
            "message_type": "assistant_message",
            "content": "Hello.",
        }
    ]


def test_thoughts_text_and_calls_are_entries_of_one_id_and_distinct_otids() -> None:
    shown = show(
        message(
            content=[
                ReasoningPart(reasoning="Hm.", signature="sig"),
                RedactedReasoningPart(data="xyz"),
                TextPart(text="I will note it."),
            ],
            tool_calls=[tool_call(number=1), tool_call("memory_replace", "{}", number=2)],
        )
    )

    assert [entry["message_type"] for entry in shown] == [
        "reasoning_message",
        "hidden_reasoning_message",
        "assistant_message",
        "tool_call_message",
    ]
    assert len({entry["id"] for entry in shown}) == 1
    assert [entry["otid"][-2:] for entry in shown] == ["80", "81", "82", "83"]
    assert (shown[0]["source"], shown[0]["reasoning"], shown[0]["signature"]) == ("reasoner_model", "Hm.", "sig")
    assert (shown[1]["state"], shown[1]["hidden_reasoning"]) == ("redacted", "xyz")
    assert shown[3]["tool_call"] == {
        "name": "memory_insert",
        "arguments": '{"label":"human"}',
        "tool_call_id": "call_1",
    }
    assert [call["tool_call_id"] for call in shown[3]["tool_calls"]] == ["call_1", "call_2"]


def test_thoughts_between_texts_stay_where_they_were() -> None:
    parts = [TextPart(text="One."), ReasoningPart(reasoning="Hm."), TextPart(text="Two,"), TextPart(text=" three.")]

    shown = show(message(content=parts))

    assert [entry.get("content") or entry["reasoning"] for entry in shown] == ["One.", "Hm.", "Two, three."]


def test_thoughts_that_the_model_did_not_mark_as_such_say_so() -> None:
    assert show(message(content=[ReasoningPart(reasoning="Hm.", is_native=False)]))[0]["source"] == "non_reasoner_model"


def test_an_empty_text_beside_a_call_is_not_shown() -> None:
    assert [entry["message_type"] for entry in show(message(text="", tool_calls=[tool_call()]))] == [
        "tool_call_message"
    ]


def test_several_returns_are_one_entry() -> None:
    record = message(
        "tool",
        None,
        tool_returns=[
            tool_return("Done.", number=1, stdout=["a"], stderr=[]),
            tool_return([TextPart(text="No."), ImagePart(data="aGk=")], "look", 2, status="error"),
        ],
    )

    [entry] = show(record)

    assert entry["name"] == "memory_insert"
    assert (entry["tool_return"], entry["status"], entry["tool_call_id"]) == ("Done.", "success", "call_1")
    assert (entry["stdout"], entry["stderr"]) == (["a"], [])
    assert [each["status"] for each in entry["tool_returns"]] == ["success", "error"]
    assert entry["tool_returns"][1]["tool_return"][1]["source"]["data"] == "aGk="


def test_what_a_user_sent_keeps_its_otid_name_and_sender() -> None:
    [entry] = show(message("user", "Hi.", otid="mine", name="ann", sender_id="agent-x"))

    assert (entry["message_type"], entry["content"]) == ("user_message", "Hi.")
    assert (entry["otid"], entry["name"], entry["sender_id"]) == ("mine", "ann", "agent-x")


def test_parts_of_a_user_message_are_a_list() -> None:
    parts = [
        TextPart(text="See:"),
        ImagePart(data="aGk=", media_type="image/gif"),
        ImagePart(url="https://a.example/b"),
    ]

    [entry] = show(message("user", content=parts))

    assert entry["content"] == [
        {"type": "text", "text": "See:", "signature": None},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/gif", "data": "aGk=", "detail": None},
        },
        {"type": "image", "source": {"type": "url", "url": "https://a.example/b"}},
    ]


def test_the_system_message_is_text() -> None:
    assert show(message("system", "You remember."))[0]["content"] == "You remember."


LEGACY = message(
    text="She likes tea.",
    tool_calls=[
        tool_call("send_message", '{"message": "Tea, then."}', 1),
        tool_call("core_memory_append", "{}", 2),
    ],
)


def test_an_older_agent_talks_by_a_tool_and_thinks_in_its_text() -> None:
    shown = show(LEGACY)

    assert [entry["message_type"] for entry in shown] == ["reasoning_message", "assistant_message", "tool_call_message"]
    assert (shown[0]["reasoning"], shown[0]["source"]) == ("She likes tea.", "non_reasoner_model")
    assert shown[1]["content"] == "Tea, then."
    assert [call["name"] for call in shown[2]["tool_calls"]] == ["core_memory_append"]


def test_talking_by_a_tool_can_be_shown_as_it_is() -> None:
    shown = show(LEGACY, use_assistant_message=False)

    assert [entry["message_type"] for entry in shown] == ["assistant_message", "tool_call_message"]
    assert [call["name"] for call in shown[1]["tool_calls"]] == ["send_message", "core_memory_append"]


def test_the_tool_to_talk_by_can_have_another_name() -> None:
    record = message(text=None, tool_calls=[tool_call("say", '{"words": "Hi."}')])

    assert show(record, tool_name="say", tool_kwarg="words")[0]["content"] == "Hi."


@pytest.mark.parametrize("arguments", ["{", "[]", "{}", '{"message": 5}', "[" * 100_000])
def test_speech_that_cannot_be_read_is_shown_as_the_call_it_is(arguments: str) -> None:
    record = message(text=None, tool_calls=[tool_call("send_message", arguments)])

    assert [entry["message_type"] for entry in show(record)] == ["tool_call_message"]


def test_the_return_of_speech_is_shown_only_when_it_failed() -> None:
    spoken = tool_return("None", "send_message", 1)
    noted = tool_return("Noted.", "core_memory_append", 2)
    failed = tool_return("No text.", "send_message", 3, status="error")

    assert show(message("tool", None, tool_returns=[spoken])) == []
    [entry] = show(message("tool", None, tool_returns=[spoken, noted, failed]))
    assert [each["tool_return"] for each in entry["tool_returns"]] == ["Noted.", "No text."]


def test_only_the_types_that_were_asked_for_are_shown() -> None:
    shown = show(LEGACY, types=frozenset({"assistant_message"}))

    assert [entry["content"] for entry in shown] == ["Tea, then."]


def test_newest_first_turns_the_entries_of_a_message_round_too() -> None:
    user, answer = message("user", "One."), message(text="Two.", tool_calls=[tool_call()])

    shown = MessageView(newest_first=True).show_all([answer, user])

    assert [entry["message_type"] for entry in shown] == ["tool_call_message", "assistant_message", "user_message"]
