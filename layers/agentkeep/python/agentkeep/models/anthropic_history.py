"""The history in the shape of Anthropic's Messages API.

Rules (Messages API reference, "Handle tool calls", "Thinking in tool and multi-turn workflows", "Prompt caching"):
the first and the last message are the user's; roles alternate; the results of a turn's calls open the next user
message; thinking blocks go back unchanged, in place, never last; text blocks are not blank; ids match
`^[a-zA-Z0-9_-]+$`; at most four blocks carry `cache_control`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from agentkeep.models import history
from agentkeep.models.history import PairedCall, Turn
from agentkeep.store.content import ImagePart, Message, Part, ReasoningPart, RedactedReasoningPart, TextPart

PROVIDER: Final = "anthropic"
CONVERSATION_STARTS: Final = "(The conversation starts with what you said.)"
GO_ON: Final = "(Go on.)"
_ID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_DATA_URL = re.compile(r"^data:(?P<media_type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.+)$", re.DOTALL)
_MEDIA_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MEMORY_STARTS = re.compile(r"^<memory_blocks>$", re.MULTILINE)
_CACHED: Final = {"cache_control": {"type": "ephemeral"}}
Block = dict[str, Any]


def system_and_messages(messages: Sequence[Message], keep_thinking: bool) -> tuple[list[Block], list[Block]]:
    """The `system` blocks and the `messages` for this context window, with their cache breakpoints.

    `keep_thinking` false leaves out thinking blocks, for a request that turns thinking off.
    """
    rewritten = history.rewrite(messages, PROVIDER, lambda identifier: _ID.match(identifier) is not None)
    merged: list[Block] = []
    for turn in rewritten.turns:
        for role, blocks in _messages(turn, keep_thinking):
            _append(merged, role, blocks)
    _open_and_close_with_user(merged)
    merged[-1]["content"][-1].update(_CACHED)
    return list(_system(rewritten.system)), merged


def opens_with_thinking(messages: Sequence[Block]) -> bool:
    """Whether a request in the middle of a tool loop may ask for thinking by budget: its turn began with thinking."""
    if len(messages) < 2 or messages[-1]["content"][0]["type"] != "tool_result":
        return True
    return messages[-2]["content"][0]["type"] in ("thinking", "redacted_thinking")


def _system(text: str) -> Iterator[Block]:
    """The instructions before the memory blocks stay the same when memory changes, so they are cached on their own."""
    memory = _MEMORY_STARTS.search(text)
    pieces = (text[: memory.start()], text[memory.start() :]) if memory else (text,)
    for piece in pieces:
        if piece.strip():
            yield {"type": "text", "text": piece, **_CACHED}


def _messages(turn: Turn, keep_thinking: bool) -> Iterator[tuple[str, list[Block]]]:
    if turn.role == "user":
        yield "user", list(filter(None, map(_block, turn.parts)))
        return
    yield "assistant", _assistant_blocks(turn, keep_thinking)
    if turn.calls:
        yield "user", list(map(_tool_result, turn.calls))


def _append(merged: list[Block], role: str, blocks: list[Block]) -> None:
    if merged and merged[-1]["role"] == role:
        merged[-1]["content"].extend(blocks)
    elif blocks:
        merged.append({"role": role, "content": blocks})


def _open_and_close_with_user(merged: list[Block]) -> None:
    if not merged or merged[0]["role"] != "user":
        merged.insert(0, {"role": "user", "content": [{"type": "text", "text": CONVERSATION_STARTS}]})
    if merged[-1]["role"] != "user":
        merged.append({"role": "user", "content": [{"type": "text", "text": GO_ON}]})


def _assistant_blocks(turn: Turn, keep_thinking: bool) -> list[Block]:
    blocks: list[Block] = []
    for position, part in enumerate(turn.parts):
        blocks.extend(_tool_use(call) for call in turn.calls if call.position == position)
        block = _block(part)
        if block and (keep_thinking or block["type"] == "text"):
            blocks.append(block)
    blocks.extend(_tool_use(call) for call in turn.calls if call.position >= len(turn.parts))
    while blocks and blocks[-1]["type"] not in ("text", "tool_use"):
        blocks.pop()
    return blocks


def _tool_use(call: PairedCall) -> Block:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}


def _tool_result(call: PairedCall) -> Block:
    content = call.result.content
    blocks = _text_blocks(content) if isinstance(content, str) else list(filter(None, map(_block, content)))
    result: Block = {
        "type": "tool_result",
        "tool_use_id": call.id,
        "content": blocks or _text_blocks(history.NO_OUTPUT),
    }
    if call.result.status == "error":
        result["is_error"] = True
    return result


def _text_blocks(text: str) -> list[Block]:
    cleaned = history.clean(text)
    return [{"type": "text", "text": cleaned}] if cleaned.strip() else []


def _block(part: Part) -> Block | None:
    match part:
        case TextPart():
            return next(iter(_text_blocks(part.text)), None)
        case ImagePart():
            return _image(part)
        case ReasoningPart():
            return {"type": "thinking", "thinking": part.reasoning, "signature": part.signature}
        case RedactedReasoningPart():
            return {"type": "redacted_thinking", "data": part.data}


def _image(part: ImagePart) -> Block:
    found = _DATA_URL.match(part.url or "")
    media_type, data = (found["media_type"], found["data"]) if found else (part.media_type, part.data)
    if data and media_type in _MEDIA_TYPES:
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
    if part.url and not part.url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    return {"type": "text", "text": f"(An image of type {media_type}, which this model cannot see.)"}
