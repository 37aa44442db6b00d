"""The same script on the local engine and on moto: what the library relies on means the same on both."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from infra.local.dynamodb.engine import Engine
from tests.functions.dynamodb_doubles import (
    TableClient,
    engine_client,
    key,
    moto_client,
    new_table,
    number,
    plain,
    refused,
)


@pytest.fixture(scope="module", params=["engine", "moto"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "moto":
        with moto_client() as found:
            yield found
    else:
        with Engine.in_memory() as engine:
            yield engine_client(engine)


@pytest.fixture
def table(client: Any, request: pytest.FixtureRequest) -> TableClient:
    return new_table(client, exact="engine" in request.node.callspec.id)


ITEM: dict[str, Any] = {
    "n": number(5),
    "s": {"S": "hello"},
    "b": {"B": b"ab\xff"},
    "flag": {"BOOL": True},
    "empty": {"NULL": True},
    "tags": {"SS": ["a", "b"]},
    "nums": {"NS": ["1", "2.5"]},
    "l": {"L": [{"S": "x"}, number(1), {"M": {"deep": {"S": "y"}}}]},
    "m": {"M": {"a": number(1), "b": {"M": {"c": {"S": "z"}}}}},
}
VALUES: dict[str, Any] = {
    ":one": number(1),
    ":two": number(2),
    ":five": number("5.0"),
    ":six": number(6),
    ":hello": {"S": "hello"},
    ":he": {"S": "he"},
    ":lo": {"S": "lo"},
    ":a": {"S": "a"},
    ":x": {"S": "x"},
    ":ba": {"SS": ["b", "a"]},
    ":ab": {"B": b"ab"},
    ":map": {"M": {"b": {"M": {"c": {"S": "z"}}}, "a": number("1.0")}},
    ":true": {"BOOL": True},
    ":null": {"NULL": True},
    ":S": {"S": "S"},
}


def only_exact(*case: Any, reason: str) -> Any:
    """A case in which moto is known to differ from AWS."""
    return pytest.param(*case, reason)


CONDITIONS: list[Any] = [
    ("attribute_exists(n)", True),
    ("attribute_not_exists(n)", False),
    ("attribute_not_exists(nope)", True),
    ("attribute_exists(m.b.c)", True),
    ("attribute_exists(#l[2].deep)", True),
    ("attribute_exists(#l[3])", False),
    ("attribute_exists(nope.deep)", False),
    ("n = :five", True),
    ("n <> :five", False),
    ("nope = :five", False),
    ("nope <> :five", True),
    ("n < :six", True),
    ("n > :six", False),
    ("n >= :five AND n <= :five", True),
    ("s > :he", True),
    ("nope < :six", False),
    ("n BETWEEN :one AND :six", True),
    ("nope BETWEEN :one AND :six", False),
    ("n IN (:one, :five)", True),
    ("s IN (:x, :a)", False),
    ("begins_with(s, :he)", True),
    ("begins_with(s, :lo)", False),
    ("begins_with(n, :he)", False),
    ("contains(s, :lo)", True),
    ("contains(tags, :a)", True),
    ("contains(nums, :one)", True),
    ("contains(#l, :x)", True),
    ("contains(#l, :a)", False),
    ("contains(nope, :a)", False),
    ("size(s) = :five", True),
    ("size(tags) = :two", True),
    ("size(m) > :one", True),
    ("size(#l) > :two", True),
    ("attribute_type(s, :S)", True),
    ("attribute_type(n, :S)", False),
    ("tags = :ba", True),
    ("m = :map", True),
    ("flag = :true", True),
    ("NOT n = :six", True),
    ("NOT (n = :five OR n = :six)", False),
    ("n = :six AND n = :six OR s = :hello", True),
    ("s = :hello OR n = :six AND n = :six", True),
    ("(s = :hello OR n = :six) AND n = :six", False),
    only_exact("nope = :null", False, reason="moto takes a missing attribute for NULL"),
    only_exact("s < :six", False, reason="moto raises TypeError"),
    only_exact("s BETWEEN :one AND :six", False, reason="moto raises TypeError"),
    only_exact("size(nope) > :one", False, reason="moto raises ValueError"),
    only_exact("size(n) > :one", False, reason="moto raises ValueError"),
    only_exact("begins_with(b, :ab)", True, reason="moto knows begins_with for texts only"),
    only_exact("contains(b, :ab)", True, reason="moto knows no contains for binaries"),
    only_exact("attribute_not_exists(#l[12])", True, reason="moto parses one digit only"),
    only_exact("n = :five\n\tAND s = :hello", True, reason="moto knows no white space but the blank"),
    only_exact("flag = :one", False, reason="moto compares True and 1 as equal"),
]


@pytest.mark.parametrize(("expression", "holds", "moto_differs"), [c if hasattr(c, "values") else (*c, None) for c in CONDITIONS])
def test_condition(table: TableClient, expression: str, holds: bool, moto_differs: str | None) -> None:
    if moto_differs and not table.exact:
        pytest.skip(moto_differs)
    item = {**key("p", "s"), **ITEM}
    table.put_item(Item=item)
    used = {name: value for name, value in VALUES.items() if f"{name} " in f"{expression} ".translate(_SEPARATORS)}
    request: dict[str, Any] = {"Item": item, "ConditionExpression": expression}
    if used:
        request["ExpressionAttributeValues"] = used
    if "#l" in expression:
        request["ExpressionAttributeNames"] = {"#l": "l"}

    if holds:
        table.put_item(**request)
    else:
        with refused("ConditionalCheckFailedException"):
            table.put_item(**request)


_SEPARATORS = str.maketrans(",)\n", "   ")
