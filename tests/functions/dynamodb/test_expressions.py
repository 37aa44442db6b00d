"""Conditions, updates and projections mean the same on the local engine and on moto, save where moto is not AWS."""

import re
from decimal import Decimal
from typing import Any

import pytest

from tests.doubles.dynamodb import TableClient, key, number, plain, refused

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
    ":list": {"L": [{"S": "new"}]},
    ":none": {"L": []},
    ":set": {"SS": ["b", "c"]},
    ":numbers": {"NS": ["1", "7"]},
    ":tiny": number(1),
    ":huge": number("1E+21"),
}


def used(expression: str, values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The members that give an expression those placeholders that it uses."""
    found = set(re.findall(r"[:#]\w+", expression))
    request = {
        "ExpressionAttributeValues": {name: value for name, value in values.items() if name in found},
        "ExpressionAttributeNames": {name: value for name, value in names.items() if name in found},
    }
    return {member: given for member, given in request.items() if given}


def skip_if_moto_differs(table: TableClient, reason: str | None) -> None:
    if reason and not table.exact:
        pytest.skip(reason)


GONE = object()
"""Stands for no attribute."""

Case = tuple[str, Any, str | None]
"""An expression, what comes of it, and in what moto is known to differ from AWS."""

CONDITIONS: list[Case] = [
    ("attribute_exists(n)", True, None),
    ("attribute_not_exists(n)", False, None),
    ("attribute_not_exists(nope)", True, None),
    ("attribute_exists(m.b.c)", True, None),
    ("attribute_exists(#l[2].deep)", True, None),
    ("attribute_exists(#l[3])", False, None),
    ("attribute_exists(nope.deep)", False, None),
    ("n = :five", True, None),
    ("n <> :five", False, None),
    ("nope = :five", False, None),
    ("nope <> :five", True, None),
    ("n < :six", True, None),
    ("n > :six", False, None),
    ("n >= :five AND n <= :five", True, None),
    ("s > :he", True, None),
    ("nope < :six", False, None),
    ("n BETWEEN :one AND :six", True, None),
    ("nope BETWEEN :one AND :six", False, None),
    ("n IN (:one, :five)", True, None),
    ("s IN (:x, :a)", False, None),
    ("begins_with(s, :he)", True, None),
    ("begins_with(s, :lo)", False, None),
    ("begins_with(n, :he)", False, None),
    ("contains(s, :lo)", True, None),
    ("contains(tags, :a)", True, None),
    ("contains(nums, :one)", True, None),
    ("contains(#l, :x)", True, None),
    ("contains(#l, :a)", False, None),
    ("contains(nope, :a)", False, None),
    ("size(s) = :five", True, None),
    ("size(tags) = :two", True, None),
    ("size(m) > :one", True, None),
    ("size(#l) > :two", True, None),
    ("attribute_type(s, :S)", True, None),
    ("attribute_type(n, :S)", False, None),
    ("tags = :ba", True, None),
    ("m = :map", True, None),
    ("flag = :true", True, None),
    ("NOT n = :six", True, None),
    ("NOT (n = :five OR n = :six)", False, None),
    ("n = :six AND n = :six OR s = :hello", True, None),
    ("s = :hello OR n = :six AND n = :six", True, None),
    ("(s = :hello OR n = :six) AND n = :six", False, None),
    ("nope = :null", False, "moto takes a missing attribute for NULL"),
    ("s < :six", False, "moto raises TypeError"),
    ("s BETWEEN :one AND :six", False, "moto raises TypeError"),
    ("size(nope) > :one", False, "moto raises ValueError"),
    ("size(n) > :one", False, "moto raises ValueError"),
    ("begins_with(b, :ab)", True, "moto knows begins_with for texts only"),
    ("contains(b, :ab)", True, "moto knows no contains for binaries"),
    ("attribute_not_exists(#l[12])", True, "moto parses one digit only"),
    ("n = :five\n\tAND s = :hello", True, "moto knows no white space but the blank"),
    ("flag = :one", False, "moto compares True and 1 as equal"),
]

UPDATES: list[Case] = [
    ("SET n = :six", {"n": Decimal(6)}, None),
    ("SET n = n + :one, s = :he", {"n": Decimal(6), "s": "he"}, None),
    ("SET n = :six - n", {"n": Decimal(1)}, None),
    ("SET fresh = if_not_exists(fresh, :one)", {"fresh": Decimal(1)}, None),
    ("SET n = if_not_exists(n, :one)", {}, None),
    ("SET n = if_not_exists(count2, :one) + :one", {"n": Decimal(2)}, None),
    ("SET #l = list_append(#l, :list)", {"l": ["x", Decimal(1), {"deep": "y"}, "new"]}, None),
    ("SET #l = list_append(:list, #l)", {"l": ["new", "x", Decimal(1), {"deep": "y"}]}, None),
    ("SET fresh = list_append(if_not_exists(fresh, :none), :list)", {"fresh": ["new"]}, None),
    ("SET #l[0] = :six", {"l": [Decimal(6), Decimal(1), {"deep": "y"}]}, None),
    ("SET #l[9] = :six", {"l": ["x", Decimal(1), {"deep": "y"}, Decimal(6)]}, None),
    ("SET #l[2].deep = :he", {"l": ["x", Decimal(1), {"deep": "he"}]}, None),
    ("SET m.b.c = :he, m.d = :one", {"m": {"a": Decimal(1), "b": {"c": "he"}, "d": Decimal(1)}}, None),
    ("SET s = n, n = s", {"s": Decimal(5), "n": "hello"}, "moto reads what it has just written"),
    ("REMOVE n, nope", {"n": GONE}, None),
    ("REMOVE #l[1]", {"l": ["x", {"deep": "y"}]}, None),
    ("REMOVE #l[0], #l[1]", {"l": [{"deep": "y"}]}, "moto removes by the indexes of the shortened list"),
    ("REMOVE #l[7]", {}, None),
    ("REMOVE m.b", {"m": {"a": Decimal(1)}}, None),
    ("ADD n :one", {"n": Decimal(6)}, None),
    ("ADD fresh :one", {"fresh": Decimal(1)}, None),
    ("ADD tags :set", {"tags": {"a", "b", "c"}}, None),
    ("ADD fresh :set", {"fresh": {"b", "c"}}, None),
    ("DELETE tags :set", {"tags": {"a"}}, None),
    ("DELETE tags :ba", {"tags": GONE}, None),
    ("DELETE fresh :set", {}, None),
    ("SET n = :six REMOVE s ADD nums :numbers DELETE tags :set", {
        "n": Decimal(6), "s": GONE, "nums": {Decimal(1), Decimal("2.5"), Decimal(7)}, "tags": {"a"},
    }, None),
    ("SET n = :tiny + :huge", {"n": Decimal("1000000000000000000001")}, "moto cannot add numbers with exponents"),
]  # fmt: skip

BAD_UPDATES: list[Case] = [
    ("SET nope.deep = :one", "document path", None),
    ("SET n = nope", "attribute that does not exist", None),
    ("SET n = n + nope", "attribute that does not exist", None),
    ("SET s = s + :one", "incorrect data type", "moto says that the operand type is wrong"),
    ("SET n = n + :he", "Incorrect operand type", None),
    ("SET #l = list_append(n, :list)", "incorrect data type", "moto says that the operand type is wrong"),
    ("ADD s :one", "incorrect data type", None),
    ("ADD tags :numbers", "incorrect data type", None),
    ("ADD n :he", "operand type: STRING", "moto says that the data type is wrong"),
    ("DELETE n :one", "operand type: NUMBER", None),
    ("SET pk = :he", "part of the key", None),
    ("SET n = :one, n = :six", "overlap", None),
    ("SET m.b = :one REMOVE m.b.c", "overlap", None),
    ("SET n = :one SET s = :he", "once", None),
    ("SET n = ", "Syntax error", None),
    ("SET n = :undefined", "not defined", None),
    ("SET #undefined = :one", "not defined", "moto raises KeyError"),
    ("SET name = :one", "reserved keyword", None),
    ("REMOVE nope.deep", "document path", None),
    ("SET gsi1pk = :one", "ype", None),
    ("SET m.d = :one, m[1] = :six", "conflict", "moto does not compare the kinds of paths"),
    ("SET n = size(s)", "not allowed in an update expression", "moto calls it a syntax error"),
]


@pytest.mark.parametrize(("expression", "holds", "moto_differs"), CONDITIONS)
def test_condition(table: TableClient, expression: str, holds: bool, moto_differs: str | None) -> None:
    skip_if_moto_differs(table, moto_differs)
    item = {**key("p", "s"), **ITEM}
    table.put_item(Item=item)
    request = {"Item": item, "ConditionExpression": expression, **used(expression, VALUES, {"#l": "l"})}

    if holds:
        table.put_item(**request)
    else:
        with refused("ConditionalCheckFailedException"):
            table.put_item(**request)


@pytest.mark.parametrize(("expression", "after", "moto_differs"), UPDATES)
def test_update(table: TableClient, expression: str, after: dict[str, Any], moto_differs: str | None) -> None:
    skip_if_moto_differs(table, moto_differs)
    table.put("p", "s", **ITEM)

    table.update_item(Key=key("p", "s"), UpdateExpression=expression, **used(expression, VALUES, {"#l": "l"}))

    changed = {name: value for name, value in {**plain(ITEM), **after}.items() if value is not GONE}
    assert table.read("p", "s") == changed


@pytest.mark.parametrize(("expression", "text", "moto_differs"), BAD_UPDATES)
def test_update_that_does_not_fit(table: TableClient, expression: str, text: str, moto_differs: str | None) -> None:
    skip_if_moto_differs(table, moto_differs)
    table.put("p", "s", **ITEM)

    with refused("ValidationException", text):
        table.update_item(Key=key("p", "s"), UpdateExpression=expression, **used(expression, VALUES, {"#l": "l"}))

    assert table.read("p", "s") == plain(ITEM)


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        ("NONE", None),
        ("ALL_OLD", {"pk": "p", "sk": "s", "n": Decimal(5), "s": "hello"}),
        ("ALL_NEW", {"pk": "p", "sk": "s", "n": Decimal(6), "s": "hello"}),
        ("UPDATED_OLD", {"n": Decimal(5)}),
        ("UPDATED_NEW", {"n": Decimal(6)}),
    ],
)
def test_values_returned_by_an_update(table: TableClient, wanted: str, answer: dict[str, Any] | None) -> None:
    table.put("p", "s", n=number(5), s={"S": "hello"})

    found = table.update_item(
        Key=key("p", "s"),
        UpdateExpression="SET n = :six",
        ExpressionAttributeValues={":six": number(6)},
        ReturnValues=wanted,
    ).get("Attributes")

    assert (None if found is None else plain(found)) == answer


def test_update_creates_the_item_with_its_key(table: TableClient) -> None:
    table.update_item(Key=key("p", "new"), UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": number(1)})

    assert table.read("p", "new") == {"n": Decimal(1)}


def test_put_and_delete_return_the_old_item_when_asked(table: TableClient) -> None:
    table.put("p", "s", n=number(1))

    replaced = table.put_item(Item={**key("p", "s"), "n": number(2)}, ReturnValues="ALL_OLD")
    deleted = table.delete_item(Key=key("p", "s"), ReturnValues="ALL_OLD")
    again = table.delete_item(Key=key("p", "s"), ReturnValues="ALL_OLD")

    assert replaced["Attributes"]["n"] == number(1)
    assert deleted["Attributes"]["n"] == number(2)
    assert "Attributes" not in again


def test_failed_condition_shows_the_item_when_asked(table: TableClient) -> None:
    table.put("p", "s", n=number(1))

    with refused("ConditionalCheckFailedException") as caught:
        table.delete_item(
            Key=key("p", "s"),
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    assert caught.value.response["Item"] == {**key("p", "s"), "n": number(1)}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("projection", "part"),
    [
        ("n, s", {"n": Decimal(5), "s": "hello"}),
        ("m.b", {"m": {"b": {"c": "z"}}}),
        ("m.a, m.b.c", {"m": {"a": Decimal(1), "b": {"c": "z"}}}),
        ("nope", {}),
    ],
)
def test_projection(table: TableClient, projection: str, part: dict[str, Any]) -> None:
    table.put("p", "s", **ITEM)

    found = table.get_item(Key=key("p", "s"), ProjectionExpression=projection)

    assert plain(found["Item"]) == part


def test_binary_and_sets_come_back_as_they_were(table: TableClient) -> None:
    table.put("p", "s", **ITEM)

    assert table.read("p", "s") == plain(ITEM)
    assert table.read("p", "other") is None
