"""Tokens of an expression, and what every grammar of the language shares: document paths and syntax errors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

Path = tuple[str | int, ...]
"""A document path: names or `#placeholders` of attributes, and indexes of list elements."""

MAX_EXPRESSION_BYTES: Final = 4096
_TOKEN: Final = re.compile(
    r"(?P<name>#\w+)|(?P<value>:\w+)|(?P<word>[A-Za-z_]\w*)|(?P<number>[0-9]+)|(?P<mark><>|<=|>=|[=<>+\-(),.\[\]])",
    re.ASCII,
)
_SPACE: Final = re.compile(r"\s*", re.ASCII)
_END: Final = "<EOF>"


class ExpressionError(Exception):
    """What is wrong with an expression, without the words that say which expression it is."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an expression. `kind` is name, value, word, number, mark or end."""

    kind: str
    text: str
    start: int


def _tokens(text: str) -> Iterator[Token]:
    position = _SPACE.match(text).end()  # type: ignore[union-attr]  # matches the empty text as well
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ExpressionError(f'Syntax error; token: "{text[position]}", near: "{text[position : position + 10]}"')
        yield Token(str(found.lastgroup), found.group(), position)
        position = _SPACE.match(text, found.end()).end()  # type: ignore[union-attr]
    yield Token("end", _END, len(text))


class Reader:
    """Reads the tokens of one expression from left to right."""

    def __init__(self, text: str) -> None:
        if not text.strip():
            raise ExpressionError("The expression can not be empty;")
        if len(text.encode()) > MAX_EXPRESSION_BYTES:
            raise ExpressionError(
                f"Expression size has exceeded the maximum allowed size; expression size: {len(text.encode())}"
            )
        self._text = text
        self._tokens = list(_tokens(text))
        self._position = 0

    @property
    def token(self) -> Token:
        """The next token, not yet taken."""
        return self._tokens[self._position]

    def following(self) -> Token:
        """The token after the next one."""
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Takes the next token."""
        token = self.token
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def accept(self, *marks: str) -> str | None:
        """Takes the next token if it is one of `marks`."""
        return self.take().text if self.token.kind == "mark" and self.token.text in marks else None

    def accept_word(self, *words: str) -> str | None:
        """Takes the next token if it is one of `words` (in capitals, written in any case)."""
        if self.token.kind == "word" and self.token.text.upper() in words:
            return self.take().text.upper()
        return None

    def expect(self, mark: str) -> None:
        """Takes `mark`, which has to come next."""
        if self.accept(mark) is None:
            raise self.error()

    def expect_value(self) -> str:
        """Takes a `:value` placeholder, which has to come next."""
        if self.token.kind != "value":
            raise self.error()
        return self.take().text

    def expect_end(self) -> None:
        """Makes sure that nothing is left."""
        if self.token.kind != "end":
            raise self.error()

    def error(self) -> ExpressionError:
        """The error for the next token, with its neighbours as DynamoDB quotes them."""
        first = self._tokens[max(self._position - 1, 0)]
        last = self.following()
        near = self._text[first.start : last.start + (len(last.text) if last.kind != "end" else 0)].strip()
        return ExpressionError(f'Syntax error; token: "{self.token.text}", near: "{near}"')

    def path(self) -> Path:
        """Takes a document path such as `#a.b[2]`."""
        parts: list[str | int] = [self._part()]
        while mark := self.accept(".", "["):
            if mark == ".":
                parts.append(self._part())
            else:
                parts.append(self._element())
        return tuple(parts)

    def _part(self) -> str:
        if self.token.kind not in ("name", "word"):
            raise self.error()
        return self.take().text

    def _element(self) -> int:
        if self.token.kind != "number":
            raise self.error()
        index = int(self.take().text)
        self.expect("]")
        return index
