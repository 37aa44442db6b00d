"""Calls of models over loopback, through the real SDKs, against a provider that refuses what providers refuse."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentkeep.models import (
    ContextWindowExceededError,
    EmptyAnswerError,
    Environment,
    ModelAnswer,
    ModelError,
    ModelRequest,
    complete,
)
from agentkeep.models.errors import InvalidAnswerError, ModelTimeoutError, ProviderUnavailableError
from agentkeep.store.content import ImagePart, Message, ReasoningPart, RedactedReasoningPart, TextPart, ToolSchema
from tests.doubles.messages import message, returned
from tests.doubles.provider import BAD_KEY, ScriptedProvider
from tests.doubles.provider_replies import Reply, call, fail, overflow, say

OPENAI, ANTHROPIC = "openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"
BOTH = pytest.mark.parametrize("handle", [OPENAI, ANTHROPIC])
TOOL = ToolSchema(name="memory_insert", description="Adds a line.", parameters={"type": "object", "properties": {}})
Ask = Callable[..., ModelAnswer]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedProvider]:
    """A provider for all tests of this module."""
    with ScriptedProvider() as running:
        yield running


@pytest.fixture
def provider(server: ScriptedProvider) -> ScriptedProvider:
    """The provider with an empty script and no requests yet."""
    server.reset()
    return server


@pytest.fixture
def ask(provider: ScriptedProvider) -> Ask:
    """Sends messages to a model of the provider; texts are the user's."""

    def asking(handle: str, *said: str | Message, **fields: Any) -> ModelAnswer:
        sent = [message("user", each) if isinstance(each, str) else each for each in said]
        environment = Environment({**provider.environment, **fields.pop("environment", {})})
        messages = [message("system", "Be kind.\n\n<memory_blocks>\nTea\n</memory_blocks>"), *sent]
        return complete(ModelRequest(handle, messages, **{"timeout_seconds": 20.0, **fields}, environment=environment))

    return asking


def statuses(provider: ScriptedProvider) -> list[int]:
    return [seen.status for seen in provider.calls]


@BOTH
def test_a_text_is_answered(handle: str, provider: ScriptedProvider, ask: Ask) -> None:
    provider.script(say("Hello.", usage={"prompt": 50, "completion": 5, "cached": 40, "reasoning": 2}))

    answer = ask(handle, "Hi")

    assert (answer.content, answer.tool_calls, answer.finish) == ([TextPart(text="Hello.")], [], "stop")
    assert answer.provider == handle.partition("/")[0]
    assert answer.request_id
    assert answer.usage.completion_tokens == 5
    assert (answer.usage.cached_input_tokens, answer.usage.reasoning_tokens) == (40, 2)


@BOTH
def test_a_tool_is_called_and_its_result_taken_up(handle: str, provider: ScriptedProvider, ask: Ask) -> None:
    provider.script(call("memory_insert", {"label": "human"}), say("Noted."))

    first = ask(handle, "I like tea", tools=[TOOL])
    asked = message("assistant", *first.content, tool_calls=first.tool_calls, provider=first.provider)
    second = ask(handle, "I like tea", asked, returned((first.tool_calls[0].id, "done")), tools=[TOOL])

    assert (first.finish, first.tool_calls[0].arguments) == ("tool_calls", '{"label": "human"}')
    assert second.content == [TextPart(text="Noted.")]


@BOTH
def test_a_conversation_that_broke_off_in_a_tool_call_goes_on(
    handle: str, provider: ScriptedProvider, ask: Ask
) -> None:
    provider.script(call("memory_insert", {}))
    broken = ask(handle, "I like tea", tools=[TOOL])
    left = message("assistant", *broken.content, tool_calls=broken.tool_calls, provider=broken.provider)

    ask(handle, "I like tea", left, "Are you there?", tools=[TOOL])

    assert statuses(provider) == [200, 200]


@pytest.mark.parametrize("written", ['{"label": ', "not json"])
def test_malformed_arguments_come_back_as_written_and_are_accepted_afterwards(
    written: str, provider: ScriptedProvider, ask: Ask
) -> None:
    provider.script(call("memory_insert", written))

    answer = ask(OPENAI, "I like tea", tools=[TOOL])
    asked = message("assistant", tool_calls=answer.tool_calls, provider="openai")
    for handle in (OPENAI, ANTHROPIC):
        ask(handle, "I like tea", asked, returned((answer.tool_calls[0].id, "Not JSON."), status="error"), tools=[TOOL])

    assert answer.tool_calls[0].arguments == written
    assert statuses(provider) == [200, 200, 200]


@BOTH
@pytest.mark.parametrize(
    ("status", "error_type", "attempts"),
    [
        (400, "llm_bad_request", 1),
        (401, "llm_authentication", 1),
        (402, "llm_insufficient_credits", 1),
        (403, "llm_permission_denied", 1),
        (404, "llm_not_found", 1),
        (422, "llm_unprocessable_entity", 1),
        (429, "llm_rate_limit", 3),
        (500, "llm_error", 3),
        (503, "llm_error", 3),
    ],
)
def test_a_refusal_keeps_its_status_and_is_retried_where_that_may_help(
    handle: str, status: int, error_type: str, attempts: int, provider: ScriptedProvider, ask: Ask
) -> None:
    provider.script(*[fail(status, "the reason")] * 3)

    with pytest.raises(ModelError) as raised:
        ask(handle, "Hi")

    assert (raised.value.status, raised.value.error_type) == (status, error_type)
    assert raised.value.detail == f"{status}: the reason"
    assert statuses(provider) == [status] * attempts


@BOTH
def test_a_rate_limit_that_passes_is_not_seen(handle: str, provider: ScriptedProvider, ask: Ask) -> None:
    provider.script(fail(429), fail(503), say("Hello."))

    assert ask(handle, "Hi").content == [TextPart(text="Hello.")]
    assert statuses(provider) == [429, 503, 200]


@BOTH
def test_a_wrong_key_is_an_authentication_error(handle: str, provider: ScriptedProvider, ask: Ask) -> None:
    with pytest.raises(ModelError) as raised:
        ask(handle, "Hi", environment={"OPENAI_API_KEY": BAD_KEY, "ANTHROPIC_API_KEY": BAD_KEY})

    assert raised.value.error_type == "llm_authentication"


@BOTH
def test_a_context_that_is_too_long_is_told_apart(handle: str, provider: ScriptedProvider, ask: Ask) -> None:
    provider.script(overflow())

    with pytest.raises(ContextWindowExceededError):
        ask(handle, "Hi")
    with pytest.raises(ContextWindowExceededError):
        ask(handle, "x" * 500_000)


@BOTH
@pytest.mark.parametrize("empty", [Reply(), say(""), say("  \n")])
def test_an_empty_answer_is_asked_for_once_more(
    handle: str, empty: Reply, provider: ScriptedProvider, ask: Ask
) -> None:
    provider.script(empty, say("Hello."), empty, empty)

    assert ask(handle, "Hi").content == [TextPart(text="Hello.")]
    with pytest.raises(EmptyAnswerError, match="empty content in"):
        ask(handle, "Hi")
    assert len(provider.calls) == 4


@BOTH
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"choices": []}', b'{"choices'])
def test_an_answer_that_cannot_be_read_is_an_error(
    handle: str, body: bytes, provider: ScriptedProvider, ask: Ask
) -> None:
    provider.script(Reply(body=body))

    with pytest.raises(InvalidAnswerError) as raised:
        ask(handle, "Hi")

    assert raised.value.stop_reason == "invalid_llm_response"


@BOTH
def test_a_connection_that_breaks_is_tried_again(handle: str, provider: ScriptedProvider, ask: Ask) -> None:
    provider.script(say("Hello.", cut=True), say("Hello."))

    assert ask(handle, "Hi").content == [TextPart(text="Hello.")]


@BOTH
def test_a_provider_that_is_not_there_is_unavailable(handle: str, provider: ScriptedProvider, ask: Ask) -> None:
    nowhere = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}

    with pytest.raises(ProviderUnavailableError):
        ask(handle, "Hi", environment=nowhere)


@BOTH
@pytest.mark.parametrize("slow", [say("Late.", wait=3.0), Reply(trickle=True)])
def test_a_call_ends_with_its_time(handle: str, slow: Reply, provider: ScriptedProvider, ask: Ask) -> None:
    provider.script(slow)
    started = time.monotonic()

    with pytest.raises(ModelTimeoutError) as raised:
        ask(handle, "Hi", timeout_seconds=0.5)

    assert raised.value.status == 504
    assert time.monotonic() - started < 2


def test_thinking_goes_back_signed_and_redacted_to_anthropic_and_not_to_openai(
    provider: ScriptedProvider, ask: Ask
) -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    provider.script(call("memory_insert", {}, thinking="Tea, noted.", redacted="encrypted"))

    answer = ask(ANTHROPIC, "I like tea", tools=[TOOL], settings=thinking)
    stored = message("assistant", *answer.content, tool_calls=answer.tool_calls, provider="anthropic")
    result = returned((answer.tool_calls[0].id, "done"))
    for handle in (ANTHROPIC, OPENAI):
        ask(handle, "I like tea", stored, result, tools=[TOOL], settings=thinking)

    assert isinstance(answer.content[0], ReasoningPart) and answer.content[0].signature
    assert answer.content[1] == RedactedReasoningPart(data="encrypted")
    kinds = [block["type"] for block in provider.calls[1].body["messages"][1]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "tool_use"]
    assert "thinking" not in str(provider.calls[2].body)


def test_thinking_survives_a_memory_edit_on_models_that_bind_it_to_the_prompt(
    provider: ScriptedProvider, ask: Ask
) -> None:
    handle = "anthropic/claude-opus-5-5"
    provider.script(call("memory_insert", {}, thinking="Tea, noted."))
    answer = ask(handle, "I like tea", tools=[TOOL])
    stored = message("assistant", *answer.content, tool_calls=answer.tool_calls, provider="anthropic")
    edited = message("system", "Be kind.\n\n<memory_blocks>\nTea, no milk\n</memory_blocks>")

    history = [edited, message("user", "I like tea"), stored, returned((answer.tool_calls[0].id, "done"))]
    complete(ModelRequest(handle, history, [TOOL], timeout_seconds=20.0, environment=Environment(provider.environment)))

    assert statuses(provider) == [200, 200]


def test_reasoning_of_an_openai_shaped_server_is_shown(provider: ScriptedProvider, ask: Ask) -> None:
    provider.script(say("4", thinking="2+2"))

    assert ask(OPENAI, "2+2?").content == [ReasoningPart(reasoning="2+2"), TextPart(text="4")]


@BOTH
def test_images_are_accepted(handle: str, provider: ScriptedProvider, ask: Ask) -> None:
    pictures = [ImagePart(media_type="image/png", data="aGk="), ImagePart(url="https://example.com/a.png")]

    ask(handle, message("user", "See", *pictures))

    assert statuses(provider) == [200]


@pytest.mark.parametrize(
    "handle", ["openai/gpt-5", "openai/gpt-5.4", "openai/o3", "anthropic/claude-3-5-haiku-20241022"]
)
def test_every_setting_at_once_is_accepted_by_models_of_every_kind(
    handle: str, provider: ScriptedProvider, ask: Ask
) -> None:
    settings = {
        "temperature": 0.7,
        "max_output_tokens": 4096,
        "parallel_tool_calls": True,
        "reasoning": {"reasoning_effort": "low"},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }

    ask(handle, "Hi", tools=[TOOL], settings=settings, tool_choice="auto")

    assert statuses(provider) == [200]


def test_a_message_can_carry_its_own_script(provider: ScriptedProvider, ask: Ask) -> None:
    said = 'Please.\n@call memory_insert {"label": "human"}\n@then\n@say Noted.'

    first = ask(OPENAI, said, tools=[TOOL])
    asked = message("assistant", tool_calls=first.tool_calls, provider="openai")
    second = ask(OPENAI, said, asked, returned((first.tool_calls[0].id, "done")), tools=[TOOL])

    assert first.tool_calls[0].arguments == '{"label": "human"}'
    assert second.content == [TextPart(text="Noted.")]
