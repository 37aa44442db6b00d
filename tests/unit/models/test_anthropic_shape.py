"""Requests and answers in Anthropic's shape."""

from typing import Any

import pytest

from agentkeep.models import anthropic_answer, anthropic_request
from agentkeep.models.anthropic_history import CONVERSATION_STARTS, GO_ON, system_and_messages
from agentkeep.models.environment import Environment
from agentkeep.models.errors import InvalidAnswerError, ModelError
from agentkeep.models.interface import ModelRequest
from agentkeep.store.content import (
    ImagePart,
    Message,
    ReasoningPart,
    RedactedReasoningPart,
    TextPart,
    ToolReturn,
    ToolSchema,
)
from tests.doubles.messages import called, message, returned

TOOL = ToolSchema(name="memory_insert", description="Adds a line.", parameters={"type": "object", "properties": {}})
INSTRUCTIONS = "Be kind. Blocks stand between <memory_blocks> tags.\n\n"
MEMORY = "<memory_blocks>\nblocks\n</memory_blocks>"
SYSTEM = INSTRUCTIONS + MEMORY
CACHED = {"cache_control": {"type": "ephemeral"}}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}}


def request(model: str = "claude-haiku-4-5", *history: Message, **fields: Any) -> ModelRequest:
    messages = [message("system", SYSTEM), *(history or (message("user", "Hi"),))]
    return ModelRequest(f"anthropic/{model}", messages, environment=Environment(), **fields)


def sent(*history: Message, keep_thinking: bool = True) -> list[dict[str, Any]]:
    """The messages without their cache marks."""
    _, messages = system_and_messages(history, keep_thinking)
    return [{**entry, "content": [_bare(block) for block in entry["content"]]} for entry in messages]


def _bare(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "cache_control"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_a_turn_with_tools_opens_the_next_user_message_with_the_results() -> None:
    calls = called(("toolu_1", "memory_insert", '{"a": 1}'), ("toolu_2", "memory_insert", "{}"), text="One moment.")
    answers = returned(("toolu_2", "second"), ("toolu_1", "first"))

    messages = sent(message("user", "Note this"), calls, answers, message("user", "And?"))

    assert messages == [
        {"role": "user", "content": [text("Note this")]},
        {
            "role": "assistant",
            "content": [
                text("One moment."),
                {"type": "tool_use", "id": "toolu_1", "name": "memory_insert", "input": {"a": 1}},
                {"type": "tool_use", "id": "toolu_2", "name": "memory_insert", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("first")]},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": [text("second")]},
                text("And?"),
            ],
        },
    ]


def test_a_failed_call_is_marked_and_an_interrupted_one_too() -> None:
    messages = sent(
        message("user", "Hi"),
        called(("toolu_1", "t", "{}"), ("toolu_2", "t", "{}")),
        returned(("toolu_1", "No."), status="error"),
    )

    assert [block["is_error"] for block in messages[-1]["content"]] == [True, True]


def test_messages_of_one_side_are_merged() -> None:
    messages = sent(
        message("user", "One"), message("user", "Two"), message("assistant", "A"), message("assistant", "B")
    )

    assert [entry["role"] for entry in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"] == [text("One"), text("Two")]


def test_the_user_begins_and_ends() -> None:
    messages = sent(message("assistant", "Welcome!"))

    assert [entry["content"][0]["text"] for entry in messages] == [CONVERSATION_STARTS, "Welcome!", GO_ON]


def test_the_instructions_before_the_memory_blocks_are_cached_on_their_own() -> None:
    system, messages = system_and_messages([message("system", SYSTEM), message("user", "Hi")], keep_thinking=True)

    assert [block["text"] for block in system] == [INSTRUCTIONS, MEMORY]
    assert all(block["cache_control"] == {"type": "ephemeral"} for block in system)
    assert messages == [{"role": "user", "content": [{**text("Hi"), **CACHED}]}]


def test_reasoning_goes_back_to_the_provider_that_made_it_and_to_no_other() -> None:
    own = message(
        "assistant",
        ReasoningPart(reasoning="hm", signature="s"),
        RedactedReasoningPart(data="x"),
        "Hi",
        provider="anthropic",
    )
    other = message("assistant", ReasoningPart(reasoning="hm", signature="s"), "Hello", provider="openai")
    unsigned = message("assistant", ReasoningPart(reasoning="hm"), "Hey", provider="anthropic")

    messages = sent(
        message("user", "1"), own, message("user", "2"), other, message("user", "3"), unsigned, message("user", "4")
    )

    assert messages[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        text("Hi"),
    ]
    assert messages[3]["content"] == [text("Hello")]
    assert messages[5]["content"] == [text("Hey")]


def test_thinking_between_calls_goes_back_in_its_place() -> None:
    document = {
        "content": [
            {"type": "thinking", "thinking": "a", "signature": "s1"},
            {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}},
            {"type": "thinking", "thinking": "b", "signature": "s2"},
            {"type": "tool_use", "id": "toolu_2", "name": "t", "input": {}},
        ]
    }
    answer = anthropic_answer.read(document, request(), None)
    stored = message("assistant", *answer.content, tool_calls=answer.tool_calls, provider="anthropic")

    messages = sent(message("user", "Go"), Message.model_validate_json(stored.model_dump_json()))

    kinds = [(block["type"], block.get("id") or block.get("thinking")) for block in messages[1]["content"]]
    assert kinds == [("thinking", "a"), ("tool_use", "toolu_1"), ("thinking", "b"), ("tool_use", "toolu_2")]


def test_images_by_data_by_address_and_of_an_unknown_type() -> None:
    by_data = ImagePart(media_type="image/png", data="aGk=")
    by_url = ImagePart(url="https://example.com/a.png")
    data_url = ImagePart(url="data:image/gif;base64,aGk=")
    unknown = ImagePart(media_type="image/tiff", data="aGk=")

    content = sent(message("user", by_data, by_url, data_url, unknown))[0]["content"]

    assert content == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "aGk="}},
        text("(An image of type image/tiff, which this model cannot see.)"),
    ]


def test_an_image_that_a_tool_returned_stays_in_its_result() -> None:
    answer = ToolReturn(tool_call_id="toolu_1", name="t", content=[ImagePart(data="aGk=")])

    messages = sent(message("user", "Plot"), called(("toolu_1", "t", "{}")), message("tool", tool_returns=[answer]))

    assert messages[-1]["content"][0]["content"][0]["type"] == "image"


@pytest.mark.parametrize(
    ("model", "settings", "thinking"),
    [
        ("claude-3-5-haiku-20241022", THINKING, None),
        ("claude-haiku-4-5", {}, None),
        ("claude-haiku-4-5", THINKING, {"type": "enabled", "budget_tokens": 2000}),
        (
            "claude-3-7-sonnet-20250219",
            {"thinking": {"type": "enabled", "budget_tokens": 5}},
            {"type": "enabled", "budget_tokens": 1024},
        ),
        ("claude-sonnet-4-6", THINKING, {"type": "adaptive", "display": "summarized"}),
        ("claude-opus-5", {"thinking": {"type": "disabled"}}, {"type": "disabled"}),
        ("claude-sonnet-5-5", {"thinking": {"type": "disabled"}}, {"type": "between_tools"}),
    ],
)
def test_thinking_as_each_generation_takes_it(
    model: str, settings: dict[str, Any], thinking: dict[str, Any] | None
) -> None:
    assert anthropic_request.build(request(model, settings=settings)).body.get("thinking") == thinking


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-sonnet-4-6"])
def test_a_model_that_has_to_call_a_tool_does_not_think(model: str) -> None:
    forced = anthropic_request.build(request(model, tools=[TOOL], settings=THINKING, tool_choice="required")).body
    free = anthropic_request.build(request(model, tools=[TOOL], settings=THINKING, tool_choice="none")).body

    assert "thinking" not in forced and "thinking" in free


@pytest.mark.parametrize("settings", [{}, THINKING, {"thinking": {"type": "disabled"}}])
def test_models_that_bind_thinking_to_the_prompt_are_asked_to_drop_what_memory_edits_break(
    settings: dict[str, Any],
) -> None:
    built = anthropic_request.build(request("claude-opus-5-5", settings=settings))

    assert built.body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert built.headers == {"anthropic-beta": anthropic_request.BINDING_CONTROLS}


def test_thinking_off_on_such_a_model_sends_no_old_thinking() -> None:
    thought = message("assistant", ReasoningPart(reasoning="hm", signature="s"), "Hi", provider="anthropic")
    asked = request(
        "claude-haiku-5-5",
        message("user", "1"),
        thought,
        message("user", "2"),
        settings={"thinking": {"type": "disabled"}},
    )

    messages = anthropic_request.build(asked).body["messages"]

    assert messages[1]["content"] == [text("Hi")]


def test_thinking_by_budget_pauses_in_a_tool_loop_that_began_without_it() -> None:
    started_elsewhere = called(("call_1", "t", "{}"), provider="openai")
    loop = (message("user", "Go"), started_elsewhere, returned(("call_1", "ok")))

    assert "thinking" not in anthropic_request.build(request("claude-haiku-4-5", *loop, settings=THINKING)).body


@pytest.mark.parametrize(
    ("settings", "max_tokens"),
    [({}, 16_384), ({"max_output_tokens": 900}, 900), ({"max_output_tokens": 900, **THINKING}, 2_900)],
)
def test_max_tokens_is_always_sent_and_leaves_room_after_thinking(settings: dict[str, Any], max_tokens: int) -> None:
    assert anthropic_request.build(request(settings=settings)).body["max_tokens"] == max_tokens


def test_a_model_with_a_small_output_limit_is_not_asked_for_more() -> None:
    assert anthropic_request.build(request("claude-3-5-haiku-20241022")).body["max_tokens"] == 8_192


def test_temperature_is_sent_where_it_is_taken() -> None:
    older = anthropic_request.build(request("claude-haiku-4-5", settings={"temperature": 1.7}))
    newer = anthropic_request.build(request("claude-opus-5-5", settings={"temperature": 0.2}))

    assert older.body["extra_body"] == {"temperature": 1.0}
    assert older.headers == {"anthropic-version": "2023-06-01"}
    assert "extra_body" not in newer.body


@pytest.mark.parametrize(
    ("model", "choice", "expected"),
    [
        ("claude-haiku-4-5", None, {"type": "auto", "disable_parallel_tool_use": True}),
        ("claude-haiku-4-5", "none", {"type": "none"}),
        ("claude-haiku-4-5", "required", {"type": "any", "disable_parallel_tool_use": True}),
        (
            "claude-haiku-4-5",
            "memory_insert",
            {"type": "tool", "name": "memory_insert", "disable_parallel_tool_use": True},
        ),
        ("claude-opus-5-5", "required", {"type": "auto", "disable_parallel_tool_use": True}),
    ],
)
def test_tool_choice(model: str, choice: str | None, expected: dict[str, Any]) -> None:
    assert anthropic_request.build(request(model, tools=[TOOL], tool_choice=choice)).body["tool_choice"] == expected


def test_parallel_calls_are_allowed_by_the_settings_only() -> None:
    built = anthropic_request.build(request(tools=[TOOL], settings={"parallel_tool_calls": True}))

    assert built.body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": False}


def test_effort_and_schema_go_into_the_output_config() -> None:
    wanted = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}

    body = anthropic_request.build(request(settings={"effort": "low", "response_format": wanted})).body

    assert body["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}}


def test_an_answer_with_thinking_text_and_a_call() -> None:
    document = {
        "id": "msg_1",
        "model": "claude-haiku-4-5-20251001",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Noting."},
            {"type": "tool_use", "id": "toolu_1", "name": "memory_insert", "input": {"label": "human"}},
        ],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 70,
            "cache_creation_input_tokens": 20,
            "output_tokens": 30,
            "output_tokens_details": {"thinking_tokens": 12},
        },
    }

    answer = anthropic_answer.read(document, request(), "req_1")

    assert answer.content == [
        ReasoningPart(reasoning="hm", signature="s"),
        RedactedReasoningPart(data="x"),
        TextPart(text="Noting."),
    ]
    assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [
        ("toolu_1", "memory_insert", '{"label": "human"}')
    ]
    assert (answer.finish, answer.model, answer.request_id) == ("tool_calls", "claude-haiku-4-5-20251001", "req_1")
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (100, 30, 130)
    assert (usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (70, 20, 12)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("end_turn", "stop"),
    ],
)
def test_why_the_model_stopped(reason: str, finish: str) -> None:
    document = {"content": [text("Hal")], "stop_reason": reason}

    assert anthropic_answer.read(document, request(), None).finish == finish


def test_a_refusal_without_text_says_why() -> None:
    document = {"content": [], "stop_reason": "refusal", "stop_details": {"explanation": "Not this."}}

    assert anthropic_answer.read(document, request(), None).content == [TextPart(text="Not this.")]


@pytest.mark.parametrize("document", [{}, {"content": None}, {"content": "Hi"}])
def test_a_document_without_content_is_an_error(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswerError):
        anthropic_answer.read(document, request(), None)


def test_an_error_inside_a_good_status_is_an_error() -> None:
    with pytest.raises(ModelError, match="failed while working"):
        anthropic_answer.read({"type": "error", "error": {"type": "api_error", "message": "no"}}, request(), None)
