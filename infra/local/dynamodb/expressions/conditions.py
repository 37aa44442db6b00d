"""Conditions bound to a request: tests that an item passes or fails. An item that does not exist is tested as `{}`."""

import operator
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from infra.local.dynamodb.expressions.documents import lookup, path_text
from infra.local.dynamodb.expressions.grammar import (
    Between,
    Call,
    Comparison,
    Condition,
    Group,
    Junction,
    Membership,
    Not,
    Operand,
    PathOperand,
    SizeOperand,
    ValueOperand,
    parsed_condition,
)
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.tokens import ExpressionError
from infra.local.dynamodb.keys import KEY_KINDS
from infra.local.dynamodb.values import AttributeValue, Item

Test = Callable[[Item], bool]
_Getter = Callable[[Item], AttributeValue | None]
_KINDS: Final = ("B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M")
_MEASURED_KINDS: Final = frozenset({"S", "B", "SS", "NS", "BS", "L", "M"})
_ORDERINGS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def bound_condition(text: str, placeholders: Placeholders) -> Test:
    """The test of a condition expression. Raises ExpressionError for what is wrong whatever the item is."""
    return _bound(parsed_condition(text), placeholders)


def attributes_of(text: str, placeholders: Placeholders) -> frozenset[str]:
    """The attributes that a condition looks into."""
    paths = (placeholders.path(operand.path) for operand in _path_operands(parsed_condition(text)))
    return frozenset(str(path[0]) for path in paths)


def _path_operands(node: Condition | Operand) -> Iterator[PathOperand]:
    if isinstance(node, PathOperand):
        yield node
    for below in _below(node):
        yield from _path_operands(below)


def _below(node: Condition | Operand) -> Iterable[Condition | Operand]:
    match node:
        case Comparison(_, left, right):
            return left, right
        case Between(operand, low, high):
            return operand, low, high
        case Membership(operand, options):
            return operand, *options
        case Call(_, arguments):
            return arguments
        case Not(condition) | Group(condition):
            return (condition,)
        case Junction(_, parts):
            return parts
        case SizeOperand(measured):
            return (measured,)
    return ()


def _bound(node: Condition, given: Placeholders) -> Test:
    match node:
        case Junction("AND", parts):
            return _every([_bound(part, given) for part in parts])
        case Junction(_, parts):
            return _some([_bound(part, given) for part in parts])
        case Not(condition):
            return _opposite(_bound(condition, given))
        case Group(condition):
            return _bound(condition, given)
        case Comparison(comparator, left, right):
            return _comparison(comparator, left, right, given)
        case Between(operand, low, high):
            return _between(operand, low, high, given)
        case Membership(operand, options):
            return _some([_equal(_getter(operand, given), _getter(option, given)) for option in options])
        case Call(function, arguments):
            return _CALLS[function](arguments, given)


def _every(tests: list[Test]) -> Test:
    return lambda item: all(test(item) for test in tests)


def _some(tests: list[Test]) -> Test:
    return lambda item: any(test(item) for test in tests)


def _opposite(test: Test) -> Test:
    return lambda item: not test(item)


def _getter(operand: Operand, given: Placeholders) -> _Getter:
    match operand:
        case PathOperand(raw):
            path = given.path(raw)
            if len(path) == 1:
                name = str(path[0])
                return lambda item: item.get(name)
            return lambda item: lookup(item, path)
        case ValueOperand(name):
            value = given.value(name)
            return lambda _: value
        case SizeOperand(measured):
            _expect_kind("size", measured, given, _MEASURED_KINDS)
            return _size(_getter(measured, given))


def _size(measured: _Getter) -> _Getter:
    def size(item: Item) -> AttributeValue | None:
        value = measured(item)
        if value is None:
            return None
        ((kind, content),) = value.items()
        return {"N": str(len(content))} if kind in _MEASURED_KINDS else None

    return size


def _comparison(comparator: str, left: Operand, right: Operand, given: Placeholders) -> Test:
    if isinstance(left, PathOperand) and isinstance(right, PathOperand):
        path = given.path(left.path)
        if path == given.path(right.path):
            raise ExpressionError(
                "The first operand must be distinct from the remaining operands for this operator or function;"
                f" operator: {comparator}, first operand: {path_text(path)}"
            )
    if comparator in ("=", "<>"):
        equal = _equal(_getter(left, given), _getter(right, given))
        return equal if comparator == "=" else _opposite(equal)
    for operand in (left, right):
        _expect_kind(comparator, operand, given, KEY_KINDS)
    return _ordered(_ORDERINGS[comparator], _getter(left, given), _getter(right, given))


def _equal(left: _Getter, right: _Getter) -> Test:
    def equal(item: Item) -> bool:
        value = left(item)
        return value is not None and value == right(item)

    return equal


def _ordered(ordering: Callable[[Any, Any], bool], left: _Getter, right: _Getter) -> Test:
    def ordered(item: Item) -> bool:
        one, two = left(item), right(item)
        return one is not None and two is not None and in_order(ordering, one, two)

    return ordered


def in_order(ordering: Callable[[Any, Any], bool], one: AttributeValue, two: AttributeValue) -> bool:
    """Whether two texts, numbers or binaries are ordered so. False for values of different or other types."""
    ((kind, first),) = one.items()
    if kind not in two or kind not in KEY_KINDS:
        return False
    second = two[kind]
    return ordering(Decimal(first), Decimal(second)) if kind == "N" else ordering(first, second)


def _between(operand: Operand, low: Operand, high: Operand, given: Placeholders) -> Test:
    for each in (operand, low, high):
        _expect_kind("BETWEEN", each, given, KEY_KINDS)
    if isinstance(low, ValueOperand) and isinstance(high, ValueOperand):
        expect_bounds(given.value(low.name), given.value(high.name))
    value = _getter(operand, given)
    above = _ordered(operator.le, _getter(low, given), value)
    below = _ordered(operator.le, value, _getter(high, given))
    return _every([above, below])


def expect_bounds(low: AttributeValue, high: AttributeValue) -> None:
    """Raises ExpressionError unless the bounds of a BETWEEN have one type and are in order."""
    if set(low) != set(high):
        raise _bad_bounds("same data type for lower and upper bounds", low, high)
    if not in_order(operator.le, low, high):
        raise _bad_bounds("upper bound to be greater than or equal to lower bound", low, high)


def _bad_bounds(requirement: str, low: AttributeValue, high: AttributeValue) -> ExpressionError:
    shown = ["{" + ":".join(map(str, *value.items())) + "}" for value in (low, high)]
    return ExpressionError(
        f"The BETWEEN operator requires {requirement}; lower bound operand: AttributeValue: {shown[0]},"
        f" upper bound operand: AttributeValue: {shown[1]}"
    )


def _expect_kind(function: str, operand: Operand, given: Placeholders, kinds: Iterable[str]) -> None:
    if not isinstance(operand, ValueOperand):
        return
    (kind,) = given.value(operand.name)
    if kind not in kinds:
        raise ExpressionError(
            f"Incorrect operand type for operator or function; operator or function: {function}, operand type: {kind}"
        )


def _existing(function: str, arguments: tuple[Operand, ...], given: Placeholders) -> Test:
    (operand,) = arguments
    if not isinstance(operand, PathOperand):
        raise ExpressionError(f"Operator or function requires a document path; operator or function: {function}")
    found = _getter(operand, given)
    return lambda item: found(item) is not None


def _exists(arguments: tuple[Operand, ...], given: Placeholders) -> Test:
    return _existing("attribute_exists", arguments, given)


def _not_exists(arguments: tuple[Operand, ...], given: Placeholders) -> Test:
    return _opposite(_existing("attribute_not_exists", arguments, given))


def _has_type(arguments: tuple[Operand, ...], given: Placeholders) -> Test:
    operand, wanted = arguments
    _expect_kind("attribute_type", wanted, given, ("S",))
    if isinstance(wanted, ValueOperand) and given.value(wanted.name)["S"] not in _KINDS:
        raise ExpressionError(
            f"Invalid attribute type name found; type: {given.value(wanted.name)['S']},"
            f" valid types: {{{','.join(_KINDS)}}}"
        )
    found, kind = _getter(operand, given), _getter(wanted, given)
    return lambda item: (kind(item) or {}).get("S") in (found(item) or {})


def _begins_with(arguments: tuple[Operand, ...], given: Placeholders) -> Test:
    for operand in arguments:
        _expect_kind("begins_with", operand, given, ("S", "B"))
    whole, start = (_getter(operand, given) for operand in arguments)

    def begins(item: Item) -> bool:
        one, two = whole(item), start(item)
        if one is None or two is None:
            return False
        ((kind, content),) = one.items()
        return kind in ("S", "B") and kind in two and content.startswith(two[kind])

    return begins


def _contains(arguments: tuple[Operand, ...], given: Placeholders) -> Test:
    whole, part = (_getter(operand, given) for operand in arguments)

    def contains(item: Item) -> bool:
        one, two = whole(item), part(item)
        return one is not None and two is not None and _holds(one, two)

    return contains


def _holds(whole: AttributeValue, part: AttributeValue) -> bool:
    ((kind, content),) = whole.items()
    if kind == "L":
        return part in content
    member_kind = kind[:1] if kind in ("SS", "NS", "BS", "S", "B") else None
    return member_kind in part and part[str(member_kind)] in content


_CALLS: Final[dict[str, Callable[[tuple[Operand, ...], Placeholders], Test]]] = {
    "attribute_exists": _exists,
    "attribute_not_exists": _not_exists,
    "attribute_type": _has_type,
    "begins_with": _begins_with,
    "contains": _contains,
}
