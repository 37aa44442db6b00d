"""A conversation as any provider can take it: system text first, every tool call with exactly one result.

Pure. Works on whatever a crash or an import left behind: an unpaired call gets an error result, a result without its
call is dropped, ids are made unique and fit the provider's rule, empty parts go, and reasoning stays only with the
provider that made it. No text of the user is lost.
"""

import hashlib
import json
import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from agentkeep.store.content import (
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    RedactedReasoningPart,
    TextPart,
    ToolCall,
    ToolReturn,
)

INTERRUPTED: Final = (
    "This call was interrupted before its result was recorded. It may or may not have taken effect; check before"
    " calling it again."
)
NO_OUTPUT: Final = "(no output)"
AFTER_PARTS: Final = "after_parts"
"""Attribute of a tool call that stood between content parts: how many of them came before it."""

_TOOL_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_UNFIT = re.compile("[\x00\ud800-\udfff]")
_MAX_NAME: Final = 64


@dataclass(frozen=True)
class PairedCall:
    """A tool call with its one result; `arguments` is the text of a JSON object.

    `position` is the number of the turn's parts that come before it.
    """

    id: str
    name: str
    arguments: str
    result: ToolReturn
    position: int


@dataclass(frozen=True)
class Turn:
    """What one side said. Never without content: a turn has parts, calls or both."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]
    calls: tuple[PairedCall, ...] = ()


@dataclass(frozen=True)
class History:
    """The system text and the turns after it, oldest first."""

    system: str
    turns: tuple[Turn, ...]


def rewrite(messages: Sequence[Message], provider: str, fits: Callable[[str], bool]) -> History:
    """The history for `provider`, a provider type; `fits` says whether it accepts a tool call id."""
    leading = _leading_system_messages(messages)
    rest = messages[leading:]
    results = _results(rest)
    names = _CallIds(fits)
    turns = (_turn(message, position, provider, results, names) for position, message in enumerate(rest))
    system = "\n\n".join(filter(None, (clean(message.text).strip() for message in messages[:leading])))
    return History(system, tuple(turn for turn in turns if turn is not None))


def clean(text: str) -> str:
    """The text without NUL, and with lone surrogates replaced: neither can be sent."""
    return _UNFIT.sub(lambda found: "" if found[0] == "\x00" else "\ufffd", text)


def arguments_text(text: str) -> str:
    """A call's arguments as the text of the JSON object that providers ask for; what is none is wrapped, not lost."""
    text = text.strip() or "{}"
    try:
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
        cleaned = _clean_value({} if value is None else value)
    except (ValueError, RecursionError):
        value, cleaned = None, clean(text)
    if isinstance(cleaned, dict):
        return text if cleaned == value else json.dumps(cleaned)
    return json.dumps({"malformed_arguments": cleaned})


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a JSON number")
    return value


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _clean_value(item) for key, item in value.items()}
    return value


def _leading_system_messages(messages: Sequence[Message]) -> int:
    return next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))


def _turn(
    message: Message,
    position: int,
    provider: str,
    results: Mapping[tuple[int, int], ToolReturn],
    ids: "_CallIds",
) -> Turn | None:
    if message.role == "tool":
        return None
    if message.role != "assistant":
        parts = tuple(_user_parts(message))
        return Turn("user", parts) if parts else None
    kept = [_assistant_part(part, message.provider == provider) for part in message.content]
    calls = tuple(
        _paired(call, results.get((position, index)), kept, ids) for index, call in enumerate(message.tool_calls)
    )
    parts = tuple(part for part in kept if part is not None)
    says_something = calls or any(isinstance(part, TextPart) for part in parts)
    return Turn("assistant", parts, calls) if says_something else None


def _user_parts(message: Message) -> Iterable[Part]:
    for part in message.content:
        if isinstance(part, TextPart):
            text = _text(part)
            if text and message.role == "system":
                yield TextPart(text=f"<system_message>\n{text.text}\n</system_message>")
            elif text:
                yield text
        elif isinstance(part, ImagePart) and (part.data or part.url):
            yield part


def _assistant_part(part: Part, own: bool) -> Part | None:
    match part:
        case TextPart():
            return _text(part)
        case ReasoningPart() if own and part.signature and part.reasoning == clean(part.reasoning):
            return part
        case RedactedReasoningPart() if own and part.data and part.data == clean(part.data):
            return part
    return None


def _text(part: TextPart) -> TextPart | None:
    text = clean(part.text)
    if not text.strip():
        return None
    return part if text == part.text else TextPart(text=text)


def _paired(call: ToolCall, result: ToolReturn | None, kept: Sequence[Part | None], ids: "_CallIds") -> PairedCall:
    before = (call.model_extra or {}).get(AFTER_PARTS, len(kept))
    return PairedCall(
        id=ids.take(call.id),
        name=_TOOL_NAME.sub("_", call.name)[:_MAX_NAME] or "unnamed_tool",
        arguments=arguments_text(call.arguments),
        result=result or ToolReturn(tool_call_id=call.id, name=call.name, status="error", content=INTERRUPTED),
        position=sum(part is not None for part in kept[:before]),
    )


def _results(messages: Sequence[Message]) -> dict[tuple[int, int], ToolReturn]:
    """The result of each call, by the positions of its message and of the call in it.

    A result belongs to the newest earlier call of its id, so ids that a model uses twice do not mix.
    """
    calls: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for position, message in enumerate(messages):
        for index, call in enumerate(message.tool_calls if message.role == "assistant" else ()):
            calls[call.id].append((position, index))
    results: dict[tuple[int, int], ToolReturn] = {}
    for position, message in enumerate(messages):
        for tool_return in message.tool_returns if message.role == "tool" else ():
            earlier = calls[tool_return.tool_call_id][: bisect_right(calls[tool_return.tool_call_id], (position, 0))]
            newest = [place for place in earlier if place[0] == earlier[-1][0]]
            free = next((place for place in newest if place not in results), None)
            if free is not None:
                results[free] = tool_return
    return results


class _CallIds:
    """Tool call ids as they leave: the model's own where the provider takes it, each only once."""

    def __init__(self, fits: Callable[[str], bool]) -> None:
        self._fits = fits
        self._uses: dict[str, int] = defaultdict(int)
        self._taken: set[str] = set()

    def take(self, identifier: str) -> str:
        self._uses[identifier] += 1
        taken = identifier
        if not self._fits(identifier) or identifier in self._taken:
            source = f"{identifier}#{self._uses[identifier]}".encode("utf-8", "surrogatepass")
            taken = f"call_{hashlib.sha256(source).hexdigest()[:24]}"
        self._taken.add(taken)
        return taken
