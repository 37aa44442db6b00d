"""An Anthropic message, read into a model answer. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentkeep.models import answers, failures
from agentkeep.models.history import AFTER_PARTS
from agentkeep.models.interface import Finish, ModelAnswer, ModelRequest
from agentkeep.store.content import Part, ReasoningPart, RedactedReasoningPart, TextPart, ToolCall, Usage

PROVIDER: Final = "anthropic"
_FINISH: Final[Mapping[str, Finish]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def read(document: Mapping[str, Any], request: ModelRequest, request_id: str | None) -> ModelAnswer:
    """The answer in a decoded `message`. Raises a ModelError when there is none in it."""
    blocks = document.get("content")
    if document.get("type") == "error":
        raise failures.from_response(request.provider, 500, document, {})
    if not isinstance(blocks, list):
        raise failures.unreadable(request.provider, "no content in the message")
    content, calls = _content_and_calls([block for block in blocks if isinstance(block, dict)])
    unique = answers.with_unique_ids(calls, request.messages)
    finish: Finish = _FINISH.get(str(document.get("stop_reason")), "tool_calls" if unique else "stop")
    explanation = (document.get("stop_details") or {}).get("explanation")
    return ModelAnswer(
        content=answers.refused(content, explanation) if finish == "refusal" else content,
        tool_calls=unique,
        finish=finish,
        usage=_usage(document.get("usage") or {}),
        provider=PROVIDER,
        model=str(document.get("model") or request.model),
        request_id=request_id or document.get("id"),
    )


def _content_and_calls(blocks: Sequence[Mapping[str, Any]]) -> tuple[list[Part], list[ToolCall]]:
    content: list[Part] = []
    calls: list[tuple[int, Mapping[str, Any]]] = []
    for block in blocks:
        part = _part(block)
        if part is not None:
            content.append(part)
        elif block.get("type") == "tool_use":
            calls.append((len(content), block))
    return content, [_call(block, before, len(content)) for before, block in calls]


def _part(block: Mapping[str, Any]) -> Part | None:
    match block.get("type"):
        case "text" if str(block.get("text") or "").strip():
            return TextPart(text=str(block["text"]))
        case "thinking":
            return ReasoningPart(reasoning=str(block.get("thinking") or ""), signature=block.get("signature"))
        case "redacted_thinking":
            return RedactedReasoningPart(data=str(block.get("data") or ""))
    return None


def _call(block: Mapping[str, Any], before: int, parts: int) -> ToolCall:
    """A call; one that stood between parts says so, since thinking blocks must go back in their place."""
    given = block.get("input")
    call = {
        "id": str(block.get("id") or ""),
        "name": str(block.get("name") or ""),
        "arguments": given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False),
    }
    return ToolCall.model_validate({**call, AFTER_PARTS: before} if before < parts else call)


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Anthropic counts cached and newly cached input beside `input_tokens`; the prompt is all three."""
    cached, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
    prompt = _count(usage, "input_tokens") + cached + written
    completion = _count(usage, "output_tokens")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cached_input_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=_count(usage.get("output_tokens_details") or {}, "thinking_tokens"),
        context_tokens=prompt + completion,
    )


def _count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0
