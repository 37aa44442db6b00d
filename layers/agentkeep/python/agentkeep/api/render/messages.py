"""Messages as clients see them: a stored message shows as one entry for each thing it says or does.

The entries of a message share its id and differ in `otid`, which is the id with its last byte counting them, as in
Letta. A call of `send_message`, by which agents of older types talk, shows as an assistant message.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, groupby
from typing import Any, Literal

from agentkeep import clock, ids
from agentkeep.api.render.times import message_date
from agentkeep.loop.events import CompactionStarted
from agentkeep.store.content import (
    CompactionStats,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    RedactedReasoningPart,
    TextPart,
    ToolCall,
    ToolReturn,
)

Json = dict[str, Any]
MessageType = Literal[
    "system_message", "user_message", "assistant_message", "reasoning_message", "hidden_reasoning_message",
    "tool_call_message", "tool_return_message", "approval_request_message", "approval_response_message",
    "summary_message", "event_message",
]  # fmt: skip


@dataclass(frozen=True)
class MessageView:
    """How one caller wants to see messages.

    `types`: only these, None for all. `tool_name` and `tool_kwarg`: the tool by which an agent of an older type talks
    and the argument that holds what it says; shown as an assistant message unless `use_assistant_message` is false.
    `compactions`: whether summaries of older messages, and the beginning of writing one, are shown.
    """

    types: frozenset[MessageType] | None = None
    use_assistant_message: bool = True
    tool_name: str = "send_message"
    tool_kwarg: str = "message"
    newest_first: bool = False
    compactions: bool = True

    def show(self, message: Message | CompactionStarted) -> list[Json]:
        """The entries of one message, in the order of the list that they go into."""
        if isinstance(message, CompactionStarted):
            return self._kept([_compaction_event(message)])
        shown = [_entry(message, position, fields) for position, fields in enumerate(self._entries(message))]
        kept = self._kept(shown)
        return kept[::-1] if self.newest_first else kept

    def _kept(self, shown: Sequence[Json]) -> list[Json]:
        hidden = () if self.compactions else ("summary_message", "event_message")
        types = (entry["message_type"] for entry in shown)
        wanted = ((self.types is None or each in self.types) and each not in hidden for each in types)
        return list(compress(shown, wanted))

    def show_all(self, messages: Iterable[Message]) -> list[Json]:
        """The entries of several messages, which are in the order of the list."""
        return [entry for message in messages for entry in self.show(message)]

    def _entries(self, message: Message) -> Iterator[Json]:
        if message.role == "tool":
            yield from self._returns(message.tool_returns)
        elif message.role == "assistant":
            said = {call.id: text for call in message.tool_calls if (text := self._said(call)) is not None}
            yield from _spoken(message.content, aloud=not said)
            yield from ({"message_type": "assistant_message", "content": text} for text in said.values())
            yield from _calls([call for call in message.tool_calls if call.id not in said])
        elif message.compaction is not None:
            yield _summary(message, message.compaction)
        elif message.role == "user":
            yield {"message_type": "user_message", "name": message.name, "content": _content(message.content)}
        else:
            yield {"message_type": "system_message", "name": message.name, "content": message.text}

    def _said(self, call: ToolCall) -> str | None:
        """What a call says to the user, if it is the tool for that and its arguments can be read."""
        if not self.use_assistant_message or call.name != self.tool_name:
            return None
        try:
            said = json.loads(call.arguments).get(self.tool_kwarg)
        except (ValueError, AttributeError, RecursionError):
            return None
        return said if isinstance(said, str) else None

    def _returns(self, returns: Sequence[ToolReturn]) -> Iterator[Json]:
        """The returns of a step in one entry, without those of calls that are shown as speech."""
        spoken = self.tool_name if self.use_assistant_message else None
        shown = [each for each in returns if each.name != spoken or each.status == "error"]
        if shown:
            fields = [_tool_return(each) for each in shown]
            first = fields[0] | {"tool_return": _text(shown[0].content)}
            del first["type"]
            yield {"message_type": "tool_return_message", "name": shown[0].name, **first, "tool_returns": fields}


def _entry(message: Message, position: int, fields: Json) -> Json:
    given = message.otid if message.role in ("user", "system") else None
    return {
        "id": message.id,
        "date": message_date(message.created_at),
        "name": None,
        "otid": given or _otid(message.id, position),
        "sender_id": message.sender_id,
        "step_id": message.step_id,
        "is_err": None,
        "seq_id": None,
        "run_id": message.run_id,
        **fields,
    }


def _compaction_event(event: CompactionStarted) -> Json:
    """The beginning of a compaction: for the caller's eyes, in no history."""
    return {
        "id": ids.new("message"),
        "date": message_date(clock.now()),
        "name": None,
        "message_type": "event_message",
        "otid": None,
        "sender_id": None,
        "step_id": None,
        "is_err": None,
        "seq_id": None,
        "run_id": event.run_id,
        "event_type": "compaction",
        "event_data": {
            "trigger": event.trigger,
            "context_token_estimate": event.tokens,
            "context_window": event.context_window,
        },
    }


def _summary(message: Message, stats: CompactionStats) -> Json:
    shown = stats.model_dump(mode="json", exclude={"note"})
    return {"message_type": "summary_message", "summary": _text(message.content[-1:]), "compaction_stats": shown}


def _otid(message_id: str, position: int) -> str:
    uuid = message_id.partition("-")[2]
    return f"{uuid[:-2]}{int(uuid[-2:], 16) & 0x80 | position & 0x7F:02x}"


def _spoken(content: Sequence[Part], *, aloud: bool) -> Iterator[Json]:
    """Thoughts and text of a model, in its order. Text beside speech by tool is what an older agent thinks."""
    for kind, parts in groupby(content, key=type):
        if kind is ReasoningPart:
            yield from (_thought(part) for part in parts if isinstance(part, ReasoningPart))
        elif kind is RedactedReasoningPart:
            yield from (_hidden(part) for part in parts if isinstance(part, RedactedReasoningPart))
        elif text := _text(list(parts)):
            yield {"message_type": "assistant_message", "content": text} if aloud else _inner(text)


def _thought(part: ReasoningPart) -> Json:
    source = "reasoner_model" if part.is_native else "non_reasoner_model"
    signature = part.signature
    return {"message_type": "reasoning_message", "source": source, "reasoning": part.reasoning, "signature": signature}


def _inner(text: str) -> Json:
    return {
        "message_type": "reasoning_message",
        "source": "non_reasoner_model",
        "reasoning": text,
        "signature": None,
    }


def _hidden(part: RedactedReasoningPart) -> Json:
    return {"message_type": "hidden_reasoning_message", "state": "redacted", "hidden_reasoning": part.data}


def _calls(calls: Sequence[ToolCall]) -> Iterator[Json]:
    if calls:
        shown = [{"name": call.name, "arguments": call.arguments, "tool_call_id": call.id} for call in calls]
        yield {"message_type": "tool_call_message", "tool_call": shown[0], "tool_calls": shown}


def _tool_return(answer: ToolReturn) -> Json:
    return {
        "type": "tool",
        "tool_return": answer.content if isinstance(answer.content, str) else _content(answer.content),
        "status": answer.status,
        "tool_call_id": answer.tool_call_id,
        "stdout": answer.stdout,
        "stderr": answer.stderr,
    }


def _content(parts: Sequence[Part]) -> str | list[Json]:
    """One text as text, anything else as a list of parts."""
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return [part_content(part) for part in parts if isinstance(part, TextPart | ImagePart)]


def part_content(part: TextPart | ImagePart) -> Json:
    """Text or an image as the API writes it."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text, "signature": part.signature}
    if part.url is not None:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    source = {"type": "base64", "media_type": part.media_type, "data": part.data or "", "detail": part.detail}
    return {"type": "image", "source": source}


def _text(content: "str | Sequence[Part]") -> str:
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content if isinstance(part, TextPart))
