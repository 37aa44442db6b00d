"""UpdateExpression bound to a request: makes the new item. Every operand is read from the item as it was before.

Elements of lists are removed from the last to the first and after everything else, so that every index of the
expression means the list as it was.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from infra.local.dynamodb.errors import DynamoError, invalid
from infra.local.dynamodb.expressions.documents import expect_disjoint, lookup
from infra.local.dynamodb.expressions.grammar import PathOperand, ValueOperand
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.projections import Projection
from infra.local.dynamodb.expressions.tokens import ExpressionError, Path
from infra.local.dynamodb.expressions.update_grammar import (
    Action,
    Arithmetic,
    IfNotExists,
    ListAppend,
    MergeAction,
    Operand,
    RemoveAction,
    SetAction,
    parsed_update,
)
from infra.local.dynamodb.values import AttributeValue, Item, number_sum

_Getter = Callable[[Item], AttributeValue | None]
_NOUNS: Final = {
    "S": "STRING", "N": "NUMBER", "B": "BINARY", "BOOL": "BOOLEAN", "NULL": "NULL", "L": "LIST", "M": "MAP",
}  # fmt: skip
_SETS: Final = frozenset({"SS", "NS", "BS"})


@dataclass(frozen=True)
class Assignment:
    """A path and the value it gets; a value of None takes the path away."""

    path: Path
    value: _Getter


class Update:
    """Applies an update expression to items."""

    def __init__(self, assignments: Iterable[Assignment]) -> None:
        self._assignments = tuple(assignments)
        expect_disjoint(self.paths)

    @classmethod
    def bound(cls, text: str, given: Placeholders, key_names: frozenset[str]) -> "Update":
        """The update of a request. Raises ExpressionError, and ValidationException for a write to a key attribute."""
        update = cls(_assignment(action, given) for action in parsed_update(text))
        for path in update.paths:
            if path[0] in key_names:
                raise invalid(
                    f"One or more parameter values were invalid: Cannot update attribute {path[0]}."
                    " This attribute is part of the key"
                )
        return update

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every path that the update writes to or removes."""
        return tuple(assignment.path for assignment in self._assignments)

    @property
    def touched(self) -> Projection:
        """Cuts an item down to what the update is about, for UPDATED_OLD and UPDATED_NEW."""
        return Projection(self.paths)

    def __call__(self, old: Item) -> Item:
        """The new item. Raises ValidationException when the update does not fit what is there."""
        values = {assignment.path: assignment.value(old) for assignment in self._assignments}
        nested = {path[0] for path in values if len(path) > 1}
        new = {name: _copy(value) if name in nested else value for name, value in old.items()}
        for path in sorted(path for path, value in values.items() if value is not None):
            _assign(new, path, values[path])
        for path in sorted((path for path, value in values.items() if value is None), reverse=True):
            _assign(new, path, None)
        return new


def _assignment(action: Action, given: Placeholders) -> Assignment:
    path = given.path(action.path)
    match action:
        case SetAction(_, operand):
            return Assignment(path, _required(_getter(operand, given)))
        case MergeAction(word, _, name):
            return Assignment(path, _merge(word, path, given.value(name)))
        case RemoveAction(_):
            return Assignment(path, lambda _: None)


def _copy(value: AttributeValue) -> AttributeValue:
    if "M" in value:
        return {"M": {name: _copy(part) for name, part in value["M"].items()}}
    if "L" in value:
        return {"L": [_copy(element) for element in value["L"]]}
    return value


def _assign(item: Item, path: Path, value: AttributeValue | None) -> None:
    container = _container(item, path)
    last = path[-1]
    if isinstance(last, str):
        if value is None:
            container.pop(last, None)
        else:
            container[last] = value
    elif last < len(container):
        container[last : last + 1] = [] if value is None else [value]
    elif value is not None:
        container.append(value)


def _container(item: Item, path: Path) -> Any:
    """The dict or the list that the last part of `path` stands in."""
    if len(path) == 1:
        return item
    parent = lookup(item, path[:-1]) or {}
    kind = "L" if isinstance(path[-1], int) else "M"
    if kind not in parent:
        raise invalid("The document path provided in the update expression is invalid for update")
    return parent[kind]


def _getter(operand: Operand, given: Placeholders) -> _Getter:
    match operand:
        case PathOperand(raw):
            path = given.path(raw)
            return lambda item: lookup(item, path)
        case ValueOperand(name):
            value = given.value(name)
            return lambda _: value
        case IfNotExists(raw, otherwise):
            return _if_not_exists(given.path(raw), _getter(otherwise, given))
        case ListAppend(left, right):
            _expect_literal("list_append", "L", (left, right), given)
            return _appended(_getter(left, given), _getter(right, given))
        case Arithmetic(sign, left, right):
            _expect_literal(sign, "N", (left, right), given)
            return _sum(1 if sign == "+" else -1, _getter(left, given), _getter(right, given))


def _expect_literal(function: str, kind: str, operands: Iterable[Operand], given: Placeholders) -> None:
    for operand in operands:
        if isinstance(operand, ValueOperand) and kind not in given.value(operand.name):
            (actual,) = given.value(operand.name)
            raise ExpressionError(
                "Incorrect operand type for operator or function;"
                f" operator or function: {function}, operand type: {actual}"
            )


def _required(get: _Getter) -> _Getter:
    def required(item: Item) -> AttributeValue:
        value = get(item)
        if value is None:
            raise invalid("The provided expression refers to an attribute that does not exist in the item")
        return value

    return required


def _if_not_exists(path: Path, otherwise: _Getter) -> _Getter:
    def found(item: Item) -> AttributeValue | None:
        value = lookup(item, path)
        return value if value is not None else otherwise(item)

    return found


def _typed(get: _Getter, kind: str) -> Callable[[Item], Any]:
    required = _required(get)

    def content(item: Item) -> Any:
        value = required(item)
        if value is None or kind not in value:
            raise _wrong_type()
        return value[kind]

    return content


def _appended(left: _Getter, right: _Getter) -> _Getter:
    first, second = _typed(left, "L"), _typed(right, "L")
    return lambda item: {"L": [*first(item), *second(item)]}


def _sum(sign: int, left: _Getter, right: _Getter) -> _Getter:
    first, second = _typed(left, "N"), _typed(right, "N")
    return lambda item: {"N": number_sum(first(item), second(item), sign)}


def _merge(word: str, path: Path, value: AttributeValue) -> _Getter:
    ((kind, content),) = value.items()
    if kind not in _SETS and not (word == "ADD" and kind == "N"):
        raise ExpressionError(
            "Incorrect operand type for operator or function;"
            f" operator or function: {word}, operand type: {_NOUNS.get(kind, kind)}"
        )

    def merged(item: Item) -> AttributeValue | None:
        there = lookup(item, path)
        if there is not None and kind not in there:
            raise _wrong_type()
        if kind == "N":
            return {"N": number_sum(there["N"] if there else "0", content, 1)}
        members = set(there[kind]) if there else set()
        members = members | set(content) if word == "ADD" else members - set(content)
        return {kind: sorted(members)} if members else None

    return merged


def _wrong_type() -> DynamoError:
    return invalid("An operand in the update expression has an incorrect data type")
