"""The grammar of conditions: ConditionExpression, FilterExpression and KeyConditionExpression share it.

Source: "Condition and filter expressions, operators, and functions" in the developer guide, with its precedence:
comparators, IN, BETWEEN and functions; parentheses; NOT; AND; OR.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from infra.local.dynamodb.expressions.tokens import ExpressionError, Path, Reader

COMPARATORS: Final = ("=", "<>", "<", "<=", ">", ">=")
OPERANDS_OF: Final = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
UPDATE_FUNCTIONS: Final = frozenset({"if_not_exists", "list_append"})
_MAX_OPERATORS: Final = 300
_MAX_DEPTH: Final = 100
_MAX_OPTIONS: Final = 100


@dataclass(frozen=True, slots=True)
class PathOperand:
    """What is at a path of the item."""

    path: Path


@dataclass(frozen=True, slots=True)
class ValueOperand:
    """A value of the request, by its placeholder."""

    name: str


@dataclass(frozen=True, slots=True)
class SizeOperand:
    """The size of another operand."""

    measured: PathOperand | ValueOperand


Operand = PathOperand | ValueOperand | SizeOperand


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands and one of COMPARATORS."""

    comparator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    """An operand inside of two bounds, both included."""

    operand: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class Membership:
    """An operand that equals one of several."""

    operand: Operand
    options: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function that is true or false."""

    function: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions that hold all (AND) or of which one holds (OR)."""

    word: Literal["AND", "OR"]
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A condition in parentheses."""

    condition: "Condition"


Condition = Comparison | Between | Membership | Call | Not | Junction | Group


@lru_cache(maxsize=4096)
def parsed_condition(text: str) -> Condition:
    """The tree of a condition, placeholders unresolved. Raises ExpressionError."""
    return _Grammar(text).whole()


class _Grammar:
    def __init__(self, text: str) -> None:
        self._reader = Reader(text)
        self._operators = 0
        self._depth = 0

    def whole(self) -> Condition:
        condition = self._either()
        self._reader.expect_end()
        return condition

    def _count(self) -> None:
        self._operators += 1
        if self._operators > _MAX_OPERATORS:
            raise ExpressionError(f"The expression contains too many operators; maximum operators: {_MAX_OPERATORS}")

    def _either(self) -> Condition:
        parts = [self._all()]
        while self._reader.accept_word("OR"):
            self._count()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Junction("OR", tuple(parts))

    def _all(self) -> Condition:
        parts = [self._negated()]
        while self._reader.accept_word("AND"):
            self._count()
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else Junction("AND", tuple(parts))

    def _negated(self) -> Condition:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ExpressionError(f"The expression is nested too deeply; maximum depth: {_MAX_DEPTH}")
        condition = self._single() if not self._reader.accept_word("NOT") else Not(self._after_not())
        self._depth -= 1
        return condition

    def _after_not(self) -> Condition:
        self._count()
        return self._negated()

    def _single(self) -> Condition:
        if self._reader.accept("("):
            return self._group()
        if self._at_function() and self._reader.token.text != "size":
            return self._call()
        return self._comparison(self._operand())

    def _group(self) -> Condition:
        inner = self._either()
        self._reader.expect(")")
        if isinstance(inner, Group):
            raise ExpressionError("The expression has redundant parentheses;")
        return Group(inner)

    def _comparison(self, left: Operand) -> Condition:
        self._count()
        if comparator := self._reader.accept(*COMPARATORS):
            return Comparison(comparator, left, self._operand())
        if self._reader.accept_word("BETWEEN"):
            return self._between(left)
        if self._reader.accept_word("IN"):
            return self._membership(left)
        if isinstance(left, SizeOperand):
            raise _misused("size")
        raise self._reader.error()

    def _between(self, operand: Operand) -> Condition:
        low = self._operand()
        if self._reader.accept_word("AND") is None:
            raise self._reader.error()
        return Between(operand, low, self._operand())

    def _membership(self, operand: Operand) -> Condition:
        self._reader.expect("(")
        options = self._operands()
        if len(options) > _MAX_OPTIONS:
            raise ExpressionError(f"Too many operands for IN; maximum operands: {_MAX_OPTIONS}")
        return Membership(operand, options)

    def _operands(self) -> tuple[Operand, ...]:
        operands = [self._operand()]
        while self._reader.accept(","):
            operands.append(self._operand())
        self._reader.expect(")")
        return tuple(operands)

    def _operand(self) -> Operand:
        if self._at_function():
            return self._size()
        if self._reader.token.kind == "value":
            return ValueOperand(self._reader.take().text)
        return PathOperand(self._reader.path())

    def _at_function(self) -> bool:
        following = self._reader.following()
        return self._reader.token.kind == "word" and (following.kind, following.text) == ("mark", "(")

    def _size(self) -> Operand:
        name = self._reader.token.text
        if name != "size" and name in OPERANDS_OF:
            raise _misused(name)
        (measured,) = self._call().arguments
        if isinstance(measured, SizeOperand):
            raise _misused("size")
        return SizeOperand(measured)

    def _call(self) -> Call:
        self._count()
        function = self._reader.take().text
        if function in UPDATE_FUNCTIONS:
            raise ExpressionError(f"The function is not allowed in a condition expression; function: {function}")
        if function not in OPERANDS_OF:
            raise ExpressionError(f"Invalid function name; function: {function}")
        self._reader.expect("(")
        arguments = self._operands()
        if len(arguments) != OPERANDS_OF[function]:
            raise ExpressionError(
                "Incorrect number of operands for operator or function;"
                f" operator or function: {function}, number of operands: {len(arguments)}"
            )
        return Call(function, arguments)


def _misused(function: str) -> ExpressionError:
    return ExpressionError(f"The function is not allowed to be used this way in an expression; function: {function}")
