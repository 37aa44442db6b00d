"""Edits of a block's value, as pure functions on text. Their errors tell the model what to send instead."""

import re
from collections import Counter
from typing import Final

from agentkeep.errors import BadRequestError

END: Final = -1
"""As a line to insert after: the end of the text."""

_ARROW_NUMBER: Final = re.compile(r"^[ \t]*\d+[ \t]*→", re.MULTILINE)
_ANY_NUMBER: Final = re.compile(r"^[ \t]*(?:line[ \t]+)?\d+[ \t]*(?:→|:|\t)[ ]?", re.MULTILINE | re.IGNORECASE)
_QUOTED_CHARACTERS: Final = 200
_LISTED_PLACES: Final = 20
_LIKENESS_FLOOR: Final = 0.3


class MemoryEditError(BadRequestError):
    """An edit that was not made. The message is written for the model."""

    code = "MEMORY_EDIT_REFUSED"


class TextNotFoundError(MemoryEditError):
    """The text to replace does not occur in the block."""

    def __init__(self, value: str, old: str) -> None:
        super().__init__(
            f"Nothing was replaced: {quoted(old)} does not occur in the block."
            f" {_hint(value, old)} Send the text exactly as the block shows it, with its spaces and line breaks."
        )


class TextNotUniqueError(MemoryEditError):
    """The text to replace occurs more than once."""

    def __init__(self, value: str, old: str, starts: list[int]) -> None:
        places = ", ".join(str(value.count("\n", 0, start) + 1) for start in starts[:_LISTED_PLACES])
        more = " and further ones" if len(starts) > _LISTED_PLACES else ""
        super().__init__(
            f"Nothing was replaced: {quoted(old)} occurs {len(starts)} times, beginning on lines {places}{more}."
            " Add enough of the text around it to name one place."
        )


class EmptySearchError(MemoryEditError):
    """An empty text was to be replaced in a block that has content."""

    def __init__(self) -> None:
        super().__init__(
            "Nothing was replaced: the text to replace is empty."
            " To add text, insert it; to rewrite the block, rethink it."
        )


class LineOutOfRangeError(MemoryEditError):
    """The line to insert after does not exist."""

    def __init__(self, line: int, lines: int) -> None:
        super().__init__(
            f"Nothing was inserted: insert_line {line} is not a line of the block, which has {lines}."
            f" Send 0 for the beginning, 1 to {lines} to insert after that line, or -1 for the end."
        )


class LineNumbersError(MemoryEditError):
    """Line numbers were pasted along with the text."""

    def __init__(self) -> None:
        super().__init__(
            "Nothing was changed: the text carries line numbers, which are not part of the block."
            " Send the text alone, without the numbers in front of the lines."
        )


def insert(value: str, text: str, line: int = END) -> str:
    """`value` with `text` as new lines after line number `line`: 0 is the beginning, -1 the end.

    An empty value becomes `text`, whatever the line. Raises LineOutOfRangeError, LineNumbersError.
    """
    _refuse_line_numbers(text)
    if not value:
        return text
    lines = value.split("\n")
    if not END <= line <= len(lines):
        raise LineOutOfRangeError(line, len(lines))
    place = len(lines) if line == END else line
    return "\n".join([*lines[:place], text, *lines[place:]])


def replace_once(value: str, old: str, new: str) -> str:
    """`value` with its only occurrence of `old` replaced by `new`; an empty value accepts an empty `old`.

    Raises TextNotFoundError, TextNotUniqueError (occurrences may overlap), EmptySearchError, LineNumbersError.
    """
    if not old:
        return _fill(value, new)
    starts = _occurrences(value, old)
    if not starts:
        _refuse_numbered_search(value, old)
        raise TextNotFoundError(value, old)
    if len(starts) > 1:
        raise TextNotUniqueError(value, old, starts)
    _refuse_line_numbers(new)
    return value[: starts[0]] + new + value[starts[0] + len(old) :]


def replace_every(value: str, old: str, new: str) -> str:
    """`value` with every occurrence of `old` replaced by `new`, as core_memory_replace has always done.

    Raises TextNotFoundError, EmptySearchError, LineNumbersError.
    """
    if not old:
        return _fill(value, new)
    if old not in value:
        _refuse_numbered_search(value, old)
        raise TextNotFoundError(value, old)
    _refuse_line_numbers(new)
    return value.replace(old, new)


def rewrite(new: str) -> str:
    """`new` as the whole value. Raises LineNumbersError."""
    _refuse_line_numbers(new)
    return new


def quoted(text: str) -> str:
    """`text` between backticks, shortened to what an error message can hold."""
    return f"`{text}`" if len(text) <= _QUOTED_CHARACTERS else f"`{text[:_QUOTED_CHARACTERS]}...`"


def _fill(value: str, new: str) -> str:
    if value:
        raise EmptySearchError
    return rewrite(new)


def _occurrences(value: str, old: str) -> list[int]:
    starts = []
    start = value.find(old)
    while start >= 0:
        starts.append(start)
        start = value.find(old, start + 1)
    return starts


def _refuse_line_numbers(text: str) -> None:
    """Refuse text in which every line starts with an arrowed number; `1. buy milk` is content and stays."""
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and all(_ARROW_NUMBER.match(line) for line in lines):
        raise LineNumbersError


def _refuse_numbered_search(value: str, old: str) -> None:
    """Tell the model about line numbers only where leaving them out would have found the text."""
    bare = _ANY_NUMBER.sub("", old)
    if bare and bare != old and bare in value:
        raise LineNumbersError


def _hint(value: str, old: str) -> str:
    if not value:
        return "The block is empty."
    likeness, number, line = _nearest_line(value, old)
    if likeness < _LIKENESS_FLOOR:
        return f"The block has {value.count(chr(10)) + 1} lines and none is like it."
    return f"The nearest line is line {number}: {quoted(line)}."


def _nearest_line(value: str, old: str) -> tuple[float, int, str]:
    """Likeness (0 to 1), number and text of the line most like the first line of `old` that the value lacks."""
    lines = value.split("\n")
    present = set(lines)
    sought = [line for line in old.split("\n") if line.strip()] or [old]
    probe = _bigrams(next((line for line in sought if line not in present), sought[0]))
    return max(
        ((_likeness(probe, _bigrams(line)), number, line) for number, line in enumerate(lines, 1)),
        key=lambda candidate: candidate[0],
    )


def _bigrams(text: str) -> Counter[str]:
    folded = text.casefold().strip()
    return Counter(folded[start : start + 2] for start in range(max(len(folded) - 1, 1)))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Dice's coefficient of two bags of letter pairs: linear in their length, forgiving to typing slips."""
    return 2 * (one & other).total() / (one.total() + other.total())
