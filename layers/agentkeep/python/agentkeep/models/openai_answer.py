"""An OpenAI chat completion, read into a model answer. Pure, and patient with compatible servers."""

import json
from collections.abc import Mapping
from typing import Any, Final

from agentkeep.models import answers, failures
from agentkeep.models.interface import Finish, ModelAnswer, ModelRequest
from agentkeep.models.tokens import estimate_tokens
from agentkeep.store.content import Part, ReasoningPart, TextPart, ToolCall, Usage

PROVIDER: Final = "openai"
_FINISH: Final[Mapping[str, Finish]] = {"length": "length", "content_filter": "refusal"}


def read(document: Mapping[str, Any], request: ModelRequest, request_id: str | None) -> ModelAnswer:
    """The answer in a decoded `chat.completion`. Raises a ModelError when there is none in it."""
    message, reason = _message(document, request.provider)
    calls = answers.with_unique_ids(_calls(message), request.messages)
    refusal = message.get("refusal")
    finish: Finish = "refusal" if refusal else _FINISH.get(reason, "tool_calls" if calls else "stop")
    content = _content(message)
    return ModelAnswer(
        content=answers.refused(content, refusal) if finish == "refusal" else content,
        tool_calls=calls,
        finish=finish,
        usage=_usage(document.get("usage"), request, content),
        provider=PROVIDER,
        model=str(document.get("model") or request.model),
        request_id=request_id or document.get("id"),
    )


def _message(document: Mapping[str, Any], provider: str) -> tuple[Mapping[str, Any], str]:
    """The first choice's message. Some servers answer 200 with an error in the body, status in its `code`."""
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
        return choice["message"], str(choice.get("finish_reason"))
    error = document.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        raise failures.from_response(provider, code, document, {})
    raise failures.unreadable(provider, str(error) if error else "no choices in the completion")


def _content(message: Mapping[str, Any]) -> list[Part]:
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    parts: list[Part] = [ReasoningPart(reasoning=reasoning)] if isinstance(reasoning, str) else []
    text = message.get("content")
    if isinstance(text, list):
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    return [*parts, TextPart(text=text)] if isinstance(text, str) and text.strip() else parts


def _calls(message: Mapping[str, Any]) -> list[ToolCall]:
    return [
        ToolCall(
            id=str(call.get("id") or ""),
            name=str(call["function"].get("name") or ""),
            arguments=_arguments(call["function"].get("arguments")),
        )
        for call in message.get("tool_calls") or ()
        if isinstance(call, dict) and isinstance(call.get("function"), dict)
    ]


def _arguments(arguments: Any) -> str:
    if arguments is None:
        return "{}"
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _usage(usage: Any, request: ModelRequest, content: list[Part]) -> Usage:
    if not isinstance(usage, dict):
        return _estimated(request, content)
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    inputs, outputs = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=_count(usage, "total_tokens") or prompt + completion,
        cached_input_tokens=_count(inputs, "cached_tokens"),
        cache_write_tokens=_count(inputs, "cache_write_tokens"),
        reasoning_tokens=_count(outputs, "reasoning_tokens"),
        context_tokens=prompt + completion,
    )


def _estimated(request: ModelRequest, content: list[Part]) -> Usage:
    prompt = estimate_tokens(request.messages)
    completion = sum(estimate_tokens(part.text) for part in content if isinstance(part, TextPart))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        context_tokens=prompt + completion,
    )


def _count(counts: Any, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if isinstance(value, int) else 0
