"""The grammar of UpdateExpression: SET, REMOVE, ADD and DELETE, each at most once.

Source: "Using update expressions in DynamoDB" in the developer guide.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from infra.local.dynamodb.expressions.grammar import OPERANDS_OF, UPDATE_FUNCTIONS, PathOperand, ValueOperand
from infra.local.dynamodb.expressions.tokens import ExpressionError, Path, Reader

_MAX_DEPTH: Final = 50


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The sum or the difference of two numbers."""

    sign: Literal["+", "-"]
    left: "Operand"
    right: "Operand"


@dataclass(frozen=True, slots=True)
class IfNotExists:
    """What is at a path or, if nothing is there, another operand."""

    path: Path
    otherwise: "Operand"


@dataclass(frozen=True, slots=True)
class ListAppend:
    """Two lists made one."""

    left: "Operand"
    right: "Operand"


Operand = PathOperand | ValueOperand | IfNotExists | ListAppend | Arithmetic


@dataclass(frozen=True, slots=True)
class SetAction:
    """SET path = operand."""

    path: Path
    operand: Operand


@dataclass(frozen=True, slots=True)
class RemoveAction:
    """REMOVE path."""

    path: Path


@dataclass(frozen=True, slots=True)
class MergeAction:
    """ADD path value, or DELETE path value."""

    word: Literal["ADD", "DELETE"]
    path: Path
    value: str


Action = SetAction | RemoveAction | MergeAction


@lru_cache(maxsize=2048)
def parsed_update(text: str) -> tuple[Action, ...]:
    """The actions of an update, placeholders unresolved. Raises ExpressionError."""
    return _Grammar(text).whole()


class _Grammar:
    def __init__(self, text: str) -> None:
        self._reader = Reader(text)
        self._depth = 0
        self._sections: dict[str, Callable[[], Action]] = {
            "SET": self._set,
            "REMOVE": self._remove,
            "ADD": self._add,
            "DELETE": self._delete,
        }

    def whole(self) -> tuple[Action, ...]:
        actions: list[Action] = []
        seen: set[str] = set()
        while word := self._reader.accept_word(*self._sections):
            if word in seen:
                raise ExpressionError(f'The "{word}" section can only be used once in an update expression;')
            seen.add(word)
            actions.append(self._sections[word]())
            while self._reader.accept(","):
                actions.append(self._sections[word]())
        self._reader.expect_end()
        return tuple(actions)

    def _set(self) -> Action:
        path = self._reader.path()
        self._reader.expect("=")
        return SetAction(path, self._sum())

    def _remove(self) -> Action:
        return RemoveAction(self._reader.path())

    def _add(self) -> Action:
        return MergeAction("ADD", self._reader.path(), self._reader.expect_value())

    def _delete(self) -> Action:
        return MergeAction("DELETE", self._reader.path(), self._reader.expect_value())

    def _sum(self) -> Operand:
        left = self._operand()
        if mark := self._reader.accept("+", "-"):
            return Arithmetic("+" if mark == "+" else "-", left, self._operand())
        return left

    def _operand(self) -> Operand:
        if self._reader.accept("("):
            inner = self._sum()
            self._reader.expect(")")
            return inner
        following = self._reader.following()
        if self._reader.token.kind == "word" and (following.kind, following.text) == ("mark", "("):
            return self._call()
        if self._reader.token.kind == "value":
            return ValueOperand(self._reader.take().text)
        return PathOperand(self._reader.path())

    def _call(self) -> Operand:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ExpressionError(f"The expression is nested too deeply; maximum depth: {_MAX_DEPTH}")
        function = self._reader.take().text
        if function in OPERANDS_OF:
            raise ExpressionError(f"The function is not allowed in an update expression; function: {function}")
        if function not in UPDATE_FUNCTIONS:
            raise ExpressionError(f"Invalid function name; function: {function}")
        self._reader.expect("(")
        operands = [self._operand()]
        while self._reader.accept(","):
            operands.append(self._operand())
        self._reader.expect(")")
        self._depth -= 1
        return _function(function, operands)


def _function(function: str, operands: list[Operand]) -> Operand:
    if len(operands) != 2:
        raise ExpressionError(
            "Incorrect number of operands for operator or function;"
            f" operator or function: {function}, number of operands: {len(operands)}"
        )
    first, second = operands
    if function == "list_append":
        return ListAppend(first, second)
    if not isinstance(first, PathOperand):
        raise ExpressionError(f"Operator or function requires a document path; operator or function: {function}")
    return IfNotExists(first.path, second)
