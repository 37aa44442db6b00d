"""A stretch of conversation as text to be summarized, shortened where it would not fit. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from agentkeep.store.content import ImagePart, Message, Part, TextPart, ToolReturn

_ENTRY_CHARACTERS: Final = (20_000, 4_000, 1_000, 300, 100)
"""How long one entry may be, tried in this order until all fit."""


def transcript(messages: Sequence[Message], characters: int) -> str:
    """The messages in at most so many characters: long entries lose their middle first, then the oldest ones go."""
    for longest in _ENTRY_CHARACTERS:
        entries = [shortened(entry, longest) for message in messages for entry in _entries(message)]
        if sum(len(entry) + 1 for entry in entries) <= characters:
            return "\n".join(entries)
    return "(...)\n" + "\n".join(entries)[-max(characters - 6, 0) :]


def shortened(text: str, characters: int) -> str:
    """The text, or its beginning and end with a note of how much is missing between them."""
    if len(text) <= characters:
        return text
    note = f" (... {len(text) - characters} characters left out ...) "
    half = max(characters - len(note), 0) // 2
    return f"{text[:half]}{note}{text[len(text) - half :]}"


def last_words(messages: Sequence[Message], characters: int) -> str:
    """The newest things that users said, newest last, as a list that takes at most so many characters."""
    lines: list[str] = []
    for message in reversed(messages):
        if message.role == "user" and message.compaction is None and message.text.strip():
            line = f"- {shortened(' '.join(message.text.split()), 400)}"
            characters -= len(line) + 1
            if characters < 0:
                break
            lines.append(line)
    return "\n".join(reversed(lines))


def _entries(message: Message) -> Iterator[str]:
    said = _text(message.content)
    if message.compaction is not None:
        yield f"[earlier summary] {summary_of(message)}"
    elif said:
        speaker = f"{message.role} {message.name}" if message.name else message.role
        yield f"[{message.created_at:%Y-%m-%d %H:%M} {speaker}] {said}"
    for call in message.tool_calls:
        yield f"[assistant calls {call.name}] {call.arguments}"
    for returned in message.tool_returns:
        failed = "failed" if returned.status == "error" else "returned"
        yield f"[{returned.name} {failed}] {_returned(returned)}"


def summary_of(message: Message) -> str:
    """The summary in a message that stands for older ones, without its introduction to the model."""
    last = message.content[-1] if message.content else None
    return last.text if isinstance(last, TextPart) else ""


def _returned(returned: ToolReturn) -> str:
    return returned.content if isinstance(returned.content, str) else _text(returned.content)


def _text(content: Sequence[Part]) -> str:
    """What a reader needs of it: reasoning stays out, an image is named."""
    shown = (part.text if isinstance(part, TextPart) else "(an image)" for part in content
             if isinstance(part, TextPart | ImagePart))  # fmt: skip
    return "\n".join(shown).strip()
