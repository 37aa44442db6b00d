"""Any history, however it was left, becomes one that a strict provider takes, and keeps every word of the user."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkeep.models import anthropic_history, anthropic_request, openai_request
from agentkeep.models.environment import Environment
from agentkeep.models.history import clean
from agentkeep.models.interface import ModelRequest
from agentkeep.store.content import (
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    RedactedReasoningPart,
    TextPart,
    ToolCall,
    ToolReturn,
    ToolSchema,
)
from tests.doubles import provider_rules
from tests.doubles.messages import message

PROVIDERS = st.sampled_from([None, "openai", "anthropic", "demo"])
TEXTS = st.one_of(st.sampled_from(["", " ", "\n", "hi", "a\x00b", "\ud800", "🎉"]), st.text(max_size=20))
USUAL_IDS = st.sampled_from(["", "call_1", "call_2", "toolu_1", "x" * 41, "a b", "é", "functions.f:0"])
IDS = st.one_of(USUAL_IDS, st.text(max_size=8))
NAMES = st.sampled_from(["memory_insert", "send message", "", "n" * 80, "tool.name", "é"])
GOOD_ARGUMENTS = st.sampled_from(["", "{}", '{"a": 1}', "null", '{"\\ud800": "x"}'])
BAD_ARGUMENTS = st.sampled_from(["[1]", "{", '{"a": NaN}', '{"a": 1e999}', '"\\ud800"'])
ARGUMENTS = st.one_of(GOOD_ARGUMENTS, BAD_ARGUMENTS, st.text(max_size=10))
CLAUDES = ["claude-3-5-haiku-20241022", "claude-haiku-4-5", "claude-opus-5-5"]
IMAGES = st.builds(
    ImagePart,
    media_type=st.sampled_from(["image/png", "image/tiff"]),
    data=st.sampled_from([None, "aGk="]),
    url=st.sampled_from([None, "https://example.com/a.png", "data:image/png;base64,aGk="]),
    detail=st.sampled_from([None, "high", "enormous"]),
)
TEXT_PARTS = st.builds(TextPart, text=TEXTS)
PARTS: st.SearchStrategy[Part] = st.one_of(TEXT_PARTS, TEXT_PARTS, IMAGES)
OTHERS_REASONING: st.SearchStrategy[Part] = st.one_of(
    st.builds(ReasoningPart, reasoning=TEXTS, signature=st.sampled_from([None, "", "theirs"])),
    st.builds(RedactedReasoningPart, data=TEXTS),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Messages in any order: calls without returns, returns without calls, ids used twice, empty messages."""
    return [_message(draw) for _ in range(draw(st.integers(0, 10)))]


def _message(draw: st.DrawFn) -> Message:
    role = draw(st.sampled_from(["system", "user", "assistant", "assistant", "tool", "tool"]))
    if role == "tool":
        returns = st.builds(
            ToolReturn,
            tool_call_id=IDS,
            name=NAMES,
            status=st.sampled_from(["success", "error"]),
            content=st.one_of(TEXTS, st.lists(PARTS, max_size=2)),
        )
        return message("tool", tool_returns=draw(st.lists(returns, max_size=3)))
    if role != "assistant":
        return message(role, *draw(st.lists(PARTS, max_size=3)))
    calls = st.builds(ToolCall, id=IDS, name=NAMES, arguments=ARGUMENTS)
    content = draw(st.lists(st.one_of(PARTS, OTHERS_REASONING), max_size=3))
    provider = draw(PROVIDERS)
    if provider == "anthropic":
        content = [_signed(part) for part in content]
    return message("assistant", *content, tool_calls=draw(st.lists(calls, max_size=3)), provider=provider)


def _signed(part: Part) -> Part:
    """Reasoning as Anthropic would have made it, so that the strict reader knows its own."""
    if not isinstance(part, ReasoningPart) or part.signature != "theirs":
        return part
    reasoning = clean(part.reasoning)
    return ReasoningPart(reasoning=reasoning, signature=provider_rules.signature(reasoning, {}))


def _request(handle: str, history: list[Message]) -> ModelRequest:
    tools = [ToolSchema(name="memory_insert", description="", parameters={"type": "object", "properties": {}})]
    return ModelRequest(handle, history, tools, {"temperature": 0.5}, environment=Environment())


def _users_texts(history: list[Message]) -> list[str]:
    parts = (part for sent in history if sent.role == "user" for part in sent.content)
    texts = (clean(part.text) for part in parts if isinstance(part, TextPart))
    return [text for text in texts if text.strip()]


def _all_strings(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@given(histories(), st.sampled_from(["openai/gpt-4o-mini", "openai/gpt-5", "openai/gpt-5.4"]))
@settings(max_examples=150, deadline=None)
def test_openai_takes_any_history(history: list[Message], handle: str) -> None:
    body = openai_request.build(_request(handle, [message("system", "Be kind."), *history]))

    provider_rules.refuse_openai(body)

    sent = _all_strings(body["messages"])
    assert all(json.dumps(text, ensure_ascii=False)[1:-1] in sent for text in _users_texts(history))


@given(histories(), st.sampled_from(CLAUDES), st.booleans())
@settings(max_examples=150, deadline=None)
def test_anthropic_takes_any_history(history: list[Message], model: str, thinks: bool) -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2000}} if thinks else {}
    request = _request(f"anthropic/{model}", history)
    built = anthropic_request.build(
        ModelRequest(request.handle, history, request.tools, thinking, environment=Environment())
    )

    provider_rules.refuse_anthropic({**built.body, **built.body.get("extra_body", {})}, built.headers)

    sent = _all_strings(built.body["messages"])
    assert all(json.dumps(text, ensure_ascii=False)[1:-1] in sent for text in _users_texts(history))


@given(histories())
@settings(max_examples=100, deadline=None)
def test_the_same_history_is_sent_in_the_same_bytes(history: list[Message]) -> None:
    first = anthropic_history.system_and_messages(history, keep_thinking=True)
    again = anthropic_history.system_and_messages([sent.model_copy(deep=True) for sent in history], keep_thinking=True)

    assert _all_strings(first) == _all_strings(again)
