"""KeyConditionExpression: one partition, and a range of its sort keys."""

from collections.abc import Iterator
from dataclasses import dataclass

from infra.local.dynamodb.errors import invalid
from infra.local.dynamodb.expressions.conditions import expect_bounds
from infra.local.dynamodb.expressions.grammar import (
    Between,
    Call,
    Comparison,
    Condition,
    Group,
    Junction,
    Operand,
    PathOperand,
    ValueOperand,
    parsed_condition,
)
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.tokens import ExpressionError
from infra.local.dynamodb.schema import KeyAttribute, KeySchema
from infra.local.dynamodb.values import AttributeValue

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class KeyTest:
    """What one key attribute has to fulfil. `operator` is a comparator, `BETWEEN` or `begins_with`."""

    operator: str
    values: tuple[AttributeValue, ...]


@dataclass(frozen=True)
class KeyCondition:
    """The partition asked for, and the test of its sort keys (None: all of them)."""

    partition: AttributeValue
    sort: KeyTest | None


def bound_key_condition(text: str, keys: KeySchema, given: Placeholders) -> KeyCondition:
    """The key condition of a request, for the keys of a table or an index. Raises ExpressionError and DynamoError."""
    tests: dict[str, KeyTest] = {}
    for condition in _conjuncts(parsed_condition(text)):
        name, test = _key_test(condition, given)
        if name in tests:
            raise ExpressionError("KeyConditionExpressions must only contain one condition per key")
        tests[name] = test
    partition = tests.pop(keys.partition.name, None)
    if partition is None:
        raise invalid(f"Query condition missed key schema element: {keys.partition.name}")
    sort = tests.pop(keys.sort.name, None) if keys.sort else None
    if tests and keys.sort and sort is None:
        raise invalid(f"Query condition missed key schema element: {keys.sort.name}")
    if tests or partition.operator != "=":
        raise invalid("Query key condition not supported")
    _expect_type(keys.partition, partition)
    if keys.sort and sort:
        _expect_type(keys.sort, sort)
    return KeyCondition(partition.values[0], sort)


def _conjuncts(node: Condition) -> Iterator[Condition]:
    match node:
        case Group(condition):
            yield from _conjuncts(condition)
        case Junction("AND", parts):
            for part in parts:
                yield from _conjuncts(part)
        case Junction(word, _):
            raise ExpressionError(f"Invalid operator used in KeyConditionExpression: {word}")
        case _:
            yield node


def _key_test(node: Condition, given: Placeholders) -> tuple[str, KeyTest]:
    match node:
        case Comparison(comparator, PathOperand() as key, ValueOperand() as value) if comparator in _MIRRORED:
            return _name(key, given), KeyTest(comparator, _values(given, value))
        case Comparison(comparator, ValueOperand() as value, PathOperand() as key) if comparator in _MIRRORED:
            return _name(key, given), KeyTest(_MIRRORED[comparator], _values(given, value))
        case Between(PathOperand() as key, ValueOperand() as low, ValueOperand() as high):
            bounds = _values(given, low, high)
            expect_bounds(*bounds)
            return _name(key, given), KeyTest("BETWEEN", bounds)
        case Call("begins_with", (PathOperand() as key, ValueOperand() as prefix)):
            return _name(key, given), KeyTest("begins_with", _prefix(_values(given, prefix)))
    raise ExpressionError(f"Invalid operator used in KeyConditionExpression: {_operator(node)}")


def _name(key: Operand, given: Placeholders) -> str:
    if not isinstance(key, PathOperand) or len(key.path) > 1:
        raise ExpressionError("KeyConditionExpressions cannot have conditions on nested attributes")
    return str(given.path(key.path)[0])


def _values(given: Placeholders, *operands: ValueOperand) -> tuple[AttributeValue, ...]:
    return tuple(given.value(operand.name) for operand in operands)


def _prefix(values: tuple[AttributeValue, ...]) -> tuple[AttributeValue, ...]:
    (kind,) = values[0]
    if kind not in ("S", "B"):
        raise ExpressionError(
            f"Incorrect operand type for operator or function; operator or function: begins_with, operand type: {kind}"
        )
    return values


def _operator(node: Condition) -> str:
    match node:
        case Comparison(comparator, _, _):
            return comparator
        case Call(function, _):
            return function
    return type(node).__name__.upper()


def _expect_type(attribute: KeyAttribute, test: KeyTest) -> None:
    for value in test.values:
        if attribute.kind not in value:
            raise invalid(
                "One or more parameter values were invalid: Condition parameter type does not match schema type"
            )
        if value[attribute.kind] in ("", b""):
            raise invalid(
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an"
                f" empty {'string' if attribute.kind == 'S' else 'binary'} value. Key: {attribute.name}"
            )
