"""Requests and answers in OpenAI's shape."""

import json
from typing import Any

import pytest

from agentkeep.models import openai_answer, openai_request
from agentkeep.models.environment import Environment
from agentkeep.models.errors import InvalidAnswerError, ModelRateLimitError
from agentkeep.models.history import INTERRUPTED
from agentkeep.models.interface import ModelRequest
from agentkeep.models.openai_history import chat_messages
from agentkeep.store.content import ImagePart, ReasoningPart, TextPart, ToolReturn, ToolSchema
from tests.doubles.messages import called, message, returned

TOOL = ToolSchema(name="memory_insert", description="Adds a line.", parameters={"type": "object", "properties": {}})


def request(handle: str = "openai/gpt-4o-mini", **fields: Any) -> ModelRequest:
    return ModelRequest(
        handle, [message("system", "Be kind."), message("user", "Hi")], environment=Environment(), **fields
    )


def completion(message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "choices": [{"message": message, "finish_reason": "stop", **fields}]}


def test_a_turn_with_a_tool_is_sent_call_then_result() -> None:
    history = [
        message("user", "I like tea"),
        called(("call_1", "memory_insert", '{"a": 1}')),
        returned(("call_1", "ok")),
    ]

    sent = chat_messages([message("system", "Be kind."), *history])

    assert sent == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "I like tea"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "memory_insert", "arguments": '{"a": 1}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
    ]


def test_a_call_that_a_crash_left_unanswered_gets_an_error_result() -> None:
    sent = chat_messages([called(("call_1", "memory_insert", "{}")), message("user", "Are you there?")])

    assert [entry["role"] for entry in sent] == ["assistant", "tool", "user"]
    assert sent[1]["content"] == INTERRUPTED


def test_a_result_without_its_call_is_dropped() -> None:
    sent = chat_messages([message("user", "Hi"), returned(("call_9", "late"))])

    assert sent == [{"role": "user", "content": "Hi"}]


def test_a_result_that_came_after_the_next_message_is_put_beside_its_call() -> None:
    sent = chat_messages([called(("call_1", "t", "{}")), message("user", "Wait"), returned(("call_1", "done"))])

    assert [(entry["role"], entry["content"]) for entry in sent[1:]] == [("tool", "done"), ("user", "Wait")]


def test_ids_used_twice_are_told_apart_and_keep_their_results() -> None:
    history = [called(("call_0", "t", "{}")), returned(("call_0", "first")), called(("call_0", "t", "{}"))]

    sent = chat_messages([*history, returned(("call_0", "second"))])

    ids = [entry["tool_calls"][0]["id"] for entry in sent if entry["role"] == "assistant"]
    results = {entry["tool_call_id"]: entry["content"] for entry in sent if entry["role"] == "tool"}
    assert ids[0] == "call_0" and ids[1] != "call_0"
    assert results == {ids[0]: "first", ids[1]: "second"}


def test_ids_longer_than_forty_characters_are_shortened_with_their_results() -> None:
    sent = chat_messages([called(("toolu_" + "x" * 60, "t", "{}")), returned(("toolu_" + "x" * 60, "ok"))])

    assert len(sent[0]["tool_calls"][0]["id"]) <= 40
    assert sent[1]["tool_call_id"] == sent[0]["tool_calls"][0]["id"]


@pytest.mark.parametrize("written", ["{", '"text"', '{"n": NaN}', "[1]"])
def test_malformed_arguments_are_wrapped_into_an_object(written: str) -> None:
    sent = chat_messages([called(("call_1", "t", written)), returned(("call_1", "Not JSON."))])

    arguments = json.loads(sent[0]["tool_calls"][0]["function"]["arguments"])
    assert list(arguments) == ["malformed_arguments"]


def test_system_messages_further_down_become_marked_user_messages() -> None:
    sent = chat_messages([message("system", "Be kind."), message("user", "Hi"), message("system", "Budget is low.")])

    assert [entry["role"] for entry in sent] == ["system", "user", "user"]
    assert sent[2]["content"] == "<system_message>\nBudget is low.\n</system_message>"


def test_images_are_sent_as_urls_and_returned_ones_in_a_user_message() -> None:
    picture = ImagePart(media_type="image/png", data="aGk=", detail="high")
    answer = ToolReturn(tool_call_id="call_1", name="t", content=[TextPart(text="A plot."), picture])

    sent = chat_messages(
        [message("user", "See", picture), called(("call_1", "t", "{}")), message("tool", tool_returns=[answer])]
    )

    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "high"}}
    assert sent[0]["content"] == [{"type": "text", "text": "See"}, image]
    assert sent[2]["content"].startswith("A plot.")
    assert sent[3]["role"] == "user" and sent[3]["content"][1] == image


def test_reasoning_and_empty_answers_are_not_sent() -> None:
    thought = ReasoningPart(reasoning="hm", signature="s")
    history = [message("user", "Hi"), message("assistant", thought, provider="openai"), message("assistant", " ")]

    assert chat_messages(history) == [{"role": "user", "content": "Hi"}]


def test_settings_of_a_plain_model() -> None:
    settings = {
        "temperature": 0.2,
        "max_output_tokens": 500,
        "parallel_tool_calls": True,
        "reasoning": {"reasoning_effort": "low"},
    }

    body = openai_request.build(request(tools=[TOOL], settings=settings, tool_choice="required"))

    sent = {name: value for name, value in body.items() if name not in ("model", "messages", "tools")}
    assert sent == {"temperature": 0.2, "max_tokens": 500, "parallel_tool_calls": True, "tool_choice": "required"}


def test_settings_of_a_reasoning_model() -> None:
    settings = {
        "temperature": 0.2,
        "max_output_tokens": 500,
        "reasoning": {"reasoning_effort": "low"},
        "verbosity": "high",
    }

    body = openai_request.build(request("openai/o3", tools=[TOOL], settings=settings))

    sent = {name: value for name, value in body.items() if name not in ("model", "messages", "tools")}
    assert sent == {"max_completion_tokens": 500, "reasoning_effort": "low", "verbosity": "high"}


def test_newer_models_reason_only_without_tools() -> None:
    settings = {"reasoning": {"reasoning_effort": "high"}}

    assert openai_request.build(request("openai/gpt-5.4", settings=settings))["reasoning_effort"] == "high"
    assert (
        openai_request.build(request("openai/gpt-5.4", settings=settings, tools=[TOOL]))["reasoning_effort"] == "none"
    )


def test_without_tools_nothing_about_tools_is_sent() -> None:
    body = openai_request.build(request(settings={"parallel_tool_calls": True}, tool_choice="auto"))

    assert set(body) == {"model", "messages"}


def test_a_strict_tool_is_sent_as_it_is_and_chosen_by_name() -> None:
    strict = TOOL.model_copy(update={"strict": True})

    body = openai_request.build(request(tools=[strict], tool_choice="memory_insert"))

    function = {"name": "memory_insert", "description": "Adds a line.", "parameters": TOOL.parameters, "strict": True}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "memory_insert"}}


@pytest.mark.parametrize(("kind", "sent"), [("json_schema", True), ("json_object", True), ("text", False)])
def test_the_response_format_goes_along_unless_it_is_text(kind: str, sent: bool) -> None:
    body = openai_request.build(request(settings={"response_format": {"type": kind}}))

    assert ("response_format" in body) is sent


def test_usage_is_read_with_cached_and_reasoning_tokens() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 12},
    }

    read = openai_answer.read({**completion({"content": "Hi"}), "usage": usage}, request(), "req-1").usage

    assert (read.prompt_tokens, read.completion_tokens, read.total_tokens) == (100, 20, 120)
    assert (read.cached_input_tokens, read.reasoning_tokens, read.context_tokens) == (64, 12, 120)


def test_a_server_that_counts_no_tokens_gets_an_estimate() -> None:
    usage = openai_answer.read(completion({"content": "x" * 40}), request(), None).usage

    assert usage.completion_tokens == 10
    assert usage.prompt_tokens > 0


def test_malformed_arguments_stay_as_the_model_wrote_them() -> None:
    call = {"id": "call_1", "function": {"name": "t", "arguments": '{"a": '}}

    answer = openai_answer.read(completion({"content": None, "tool_calls": [call]}), request(), None)

    assert answer.finish == "tool_calls"
    assert answer.tool_calls[0].arguments == '{"a": '


def test_calls_without_ids_or_with_old_ones_get_new_ids() -> None:
    calls = [{"function": {"name": "t", "arguments": {"a": 1}}}, {"id": "call_0", "function": {"name": "t"}}]
    asked = ModelRequest("openai/x", [called(("call_0", "t", "{}"))], environment=Environment())

    answer = openai_answer.read(completion({"tool_calls": calls}), asked, None)

    assert len({call.id for call in answer.tool_calls} | {"", "call_0"}) == 4
    assert [call.arguments for call in answer.tool_calls] == ['{"a": 1}', "{}"]


@pytest.mark.parametrize(
    ("reason", "refusal", "finish", "text"),
    [
        ("length", None, "length", "Hal"),
        ("content_filter", None, "refusal", "Hal"),
        ("stop", "I cannot help with that.", "refusal", "Hal"),
    ],
)
def test_why_the_model_stopped(reason: str, refusal: str | None, finish: str, text: str) -> None:
    document = completion({"content": "Hal", "refusal": refusal}, finish_reason=reason)

    answer = openai_answer.read(document, request(), None)

    assert answer.finish == finish
    assert answer.content == [TextPart(text=text)]


def test_a_refusal_without_text_says_why() -> None:
    answer = openai_answer.read(completion({"content": None, "refusal": "I will not."}), request(), None)

    assert answer.content == [TextPart(text="I will not.")]


def test_reasoning_of_compatible_servers_is_kept() -> None:
    answer = openai_answer.read(completion({"content": "4", "reasoning_content": "2+2"}), request(), None)

    assert answer.content == [ReasoningPart(reasoning="2+2"), TextPart(text="4")]


@pytest.mark.parametrize("document", [{}, {"choices": []}, {"choices": [{}]}, {"choices": "x"}, {"error": "no"}])
def test_a_document_without_an_answer_is_an_error(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswerError):
        openai_answer.read(document, request(), None)


def test_an_error_inside_a_good_status_counts_by_its_code() -> None:
    with pytest.raises(ModelRateLimitError):
        openai_answer.read({"error": {"code": 429, "message": "slow down"}}, request(), None)
