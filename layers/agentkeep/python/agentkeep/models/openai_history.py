"""The history in the shape of OpenAI's chat completions.

Rules (API reference, chat completions): results follow their call at once, before anything else; ids have at most 40
characters; only user messages hold images; content is never empty.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from agentkeep.models import history
from agentkeep.models.history import History, PairedCall, Turn
from agentkeep.store.content import ImagePart, Message, Part, TextPart

PROVIDER: Final = "openai"
_MAX_ID: Final = 40
_DETAILS: Final = ("auto", "low", "high")


def chat_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The `messages` of a chat completion for this context window."""
    rewritten = history.rewrite(messages, PROVIDER, _fits)
    return list(_chat_messages(rewritten))


def _fits(identifier: str) -> bool:
    return 0 < len(identifier) <= _MAX_ID and identifier.isascii() and identifier.isprintable()


def _chat_messages(rewritten: History) -> Iterator[dict[str, Any]]:
    if rewritten.system:
        yield {"role": "system", "content": rewritten.system}
    for turn in rewritten.turns:
        if turn.role == "user":
            yield {"role": "user", "content": _content(turn.parts)}
        else:
            yield _assistant(turn)
            yield from map(_tool, turn.calls)
            yield from _returned_images(turn.calls)


def _assistant(turn: Turn) -> dict[str, Any]:
    text = "\n".join(part.text for part in turn.parts if isinstance(part, TextPart))
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if turn.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.calls
        ]
    return message


def _tool(call: PairedCall) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call.id, "content": _result_text(call)}


def _result_text(call: PairedCall) -> str:
    content = call.result.content
    if isinstance(content, str):
        return history.clean(content) or history.NO_OUTPUT
    texts = [history.clean(part.text) for part in content if isinstance(part, TextPart) and part.text]
    images = sum(isinstance(part, ImagePart) for part in content)
    return "\n".join(texts + ["(The image follows in the next message.)"] * bool(images)) or history.NO_OUTPUT


def _returned_images(calls: Sequence[PairedCall]) -> Iterator[dict[str, Any]]:
    for call in calls:
        content = call.result.content
        images = [part for part in content if isinstance(part, ImagePart)] if isinstance(content, list) else []
        shown = [_image(part) for part in images if part.data or part.url]
        if shown:
            label = {"type": "text", "text": f"Image returned by {call.name} (call {call.id}):"}
            yield {"role": "user", "content": [label, *shown]}


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    texts = [part for part in parts if isinstance(part, TextPart)]
    if len(texts) == len(parts) == 1:
        return texts[0].text
    return [
        {"type": "text", "text": part.text} if isinstance(part, TextPart) else _image(part)
        for part in parts
        if isinstance(part, TextPart | ImagePart)
    ]


def _image(part: ImagePart) -> dict[str, Any]:
    image = {"url": part.url or f"data:{part.media_type};base64,{part.data}"}
    if part.detail in _DETAILS:
        image["detail"] = part.detail
    return {"type": "image_url", "image_url": image}
