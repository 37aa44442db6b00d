"""Random keys, conditions and updates: the engine keeps DynamoDB's order, and does what moto does."""

import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.local.dynamodb.engine import Engine
from infra.local.dynamodb.keys import after_prefix, encoded
from infra.local.dynamodb.values import canonical_number
from tests.doubles.dynamodb import TableClient, engine_client, key, moto_client, new_table, number

quick = settings(max_examples=150, deadline=None)
repeatable = settings(quick, derandomize=True, database=None)
"""For comparing with moto, whose own mistakes must not fail one run in a hundred."""
numbers = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12)
exponents = st.tuples(st.integers(-(10**37), 10**37), st.integers(-90, 85)).map(lambda p: Decimal(p[0]).scaleb(p[1]))
_fresh = itertools.count()
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@quick
@given(st.one_of(numbers, exponents), st.one_of(numbers, exponents))
def test_encoded_numbers_sort_by_value(one: Decimal, two: Decimal) -> None:
    first, second = (encoded({"N": canonical_number(str(value))}) for value in (one, two))

    assert (first < second, first == second) == (one < two, one == two)


@quick
@given(st.one_of(numbers, exponents))
def test_canonical_number_is_the_same_number(value: Decimal) -> None:
    text = canonical_number(str(value))

    assert Decimal(text) == value
    assert canonical_number(text) == text
    assert "E" not in text


@quick
@given(texts, texts)
def test_encoded_texts_sort_by_utf_8(one: str, two: str) -> None:
    assert (encoded({"S": one}) < encoded({"S": two})) == (one.encode() < two.encode())


@quick
@given(st.binary(max_size=6), st.binary(max_size=4))
def test_what_starts_with_a_prefix_lies_before_its_end(rest: bytes, prefix: bytes) -> None:
    end = after_prefix(prefix)

    assert end is None or prefix + rest < end
    assert end is not None or set(prefix) <= {0xFF}


@pytest.fixture(scope="module")
def engine_table() -> Iterator[TableClient]:
    with Engine.in_memory() as engine:
        yield new_table(engine_client(engine), exact=True)


@pytest.fixture(scope="module")
def both(engine_table: TableClient) -> Iterator[tuple[TableClient, TableClient]]:
    with moto_client() as client:
        yield engine_table, new_table(client, exact=False)


@settings(quick, max_examples=25)
@given(st.sets(texts.filter(bool), min_size=1, max_size=12), st.integers(1, 4), st.booleans())
def test_walk_in_pages_is_the_sorted_partition(
    engine_table: TableClient, sorts: set[str], limit: int, forward: bool
) -> None:
    partition = f"partition {next(_fresh)}"
    for sort in sorts:
        engine_table.put(partition, sort)
    request: dict[str, Any] = {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition}},
        "Limit": limit,
        "ScanIndexForward": forward,
    }

    walked = []
    while True:
        answer = engine_table.query(**request)
        walked += [item["sk"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            break
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    assert walked == sorted(sorts, key=str.encode, reverse=not forward)


VALUES: dict[str, Any] = {
    ":n": number(3),
    ":m": number("-1.5"),
    ":s": {"S": "ab"},
    ":t": {"S": "a"},
    ":l": {"L": [number(3), {"S": "a"}]},
    ":set": {"SS": ["a", "ab"]},
    ":nums": {"NS": ["3", "7"]},
    ":map": {"M": {"x": number(3), "y": {"S": "ab"}}},
}
ATTRIBUTES = ("n", "k", "s", "t", "l1", "set1", "map1")
paths = st.sampled_from([*ATTRIBUTES, "map1.x", "map1.y", "l1[0]", "l1[1]", "nope"])
number_paths = st.sampled_from(["n", "k", "map1.x", "nope"])
comparators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
atoms = st.one_of(
    st.builds("{} = {}".format, paths, st.sampled_from(list(VALUES))),
    st.builds("{} <> {}".format, paths, st.sampled_from(list(VALUES))),
    st.builds("{} {} {}".format, st.sampled_from(["n", "k"]), comparators, st.sampled_from([":n", ":m"])),
    st.builds("{} BETWEEN :m AND :n".format, st.sampled_from(["n", "k"])),
    st.builds("{} IN ({}, {})".format, paths, st.sampled_from(list(VALUES)), st.sampled_from(list(VALUES))),
    st.builds("attribute_exists({})".format, paths),
    st.builds("attribute_not_exists({})".format, paths),
    st.builds("begins_with({}, :t)".format, paths),
    st.builds("contains({}, {})".format, st.sampled_from(["s", "set1", "l1"]), st.sampled_from([":t", ":s"])),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("(NOT {})".format, inner),
    ),
    max_leaves=5,
)
items = st.fixed_dictionaries(
    {},
    optional={
        "n": st.sampled_from([number(3), number(-2), number("3.0")]),
        "k": st.sampled_from([number("-1.5"), number(100)]),
        "s": st.sampled_from([{"S": "ab"}, {"S": "abc"}, {"S": "b"}]),
        "t": st.sampled_from([{"S": "a"}, {"S": ""}]),
        "l1": st.sampled_from([{"L": [number(3), {"S": "a"}]}, {"L": [{"S": "ab"}]}, {"L": []}]),
        "set1": st.sampled_from([{"SS": ["ab", "a"]}, {"SS": ["b"]}]),
        "map1": st.sampled_from([{"M": {"x": number(3), "y": {"S": "ab"}}}, {"M": {"x": number(1)}}, {"M": {}}]),
    },
)


def _used(expression: str) -> dict[str, Any]:
    words = expression.replace(",", " ").replace(")", " ").replace("(", " ").split()
    return {name: value for name, value in VALUES.items() if name in words}


def _tried(table: TableClient, operation: str, **request: Any) -> str:
    try:
        getattr(table, operation)(**request)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "done"


@repeatable
@given(items, conditions)
def test_condition_holds_on_both_or_on_neither(
    both: tuple[TableClient, TableClient], item: dict[str, Any], condition: str
) -> None:
    request: dict[str, Any] = {"Item": {**key("p", "condition"), **item}, "ConditionExpression": condition}
    if values := _used(condition):
        request["ExpressionAttributeValues"] = values
    for table in both:
        table.put("p", "condition", **item)

    one, two = (_tried(table, "put_item", **request) for table in both)

    assert one == two


set_paths = st.sampled_from(["n", "k", "s", "t", "l1", "set1", "nope", "map1.x", "map1.y"])
"""Without `map1`: moto then writes below what is no map any more, and says nothing."""
read_paths = st.sampled_from(["n", "k", "s", "t", "nope", "map1.x"])
"""Without sets, lists and maps: moto then keeps one object in two attributes."""
operands = st.one_of(
    st.sampled_from(list(VALUES)),
    st.builds("if_not_exists({}, {})".format, read_paths, st.sampled_from(list(VALUES))),
    st.builds("{} + :n".format, number_paths),
    st.builds("{} - :m".format, number_paths),
    st.builds("list_append(if_not_exists({}, :l), :l)".format, st.sampled_from(["l1", "nope"])),
)
sections = st.tuples(
    st.lists(st.builds("{} = {}".format, set_paths, operands), max_size=2),
    st.lists(st.sampled_from([*ATTRIBUTES, "map1.x", "nope"]), max_size=1),
    st.lists(st.builds("{} {}".format, st.sampled_from(["n", "fresh"]), st.sampled_from([":n", ":m"])), max_size=1),
    st.lists(st.sampled_from(["set1 :set"]), max_size=1),
)


def _update(parts: tuple[list[str], ...]) -> str:
    words = zip(("SET", "REMOVE", "ADD", "DELETE"), parts, strict=True)
    return " ".join(f"{word} {', '.join(actions)}" for word, actions in words if actions)


@repeatable
@given(items, st.lists(sections.map(_update).filter(bool), min_size=1, max_size=3))
def test_sequence_of_updates_has_the_same_outcome_on_both(
    both: tuple[TableClient, TableClient], item: dict[str, Any], updates: list[str]
) -> None:
    """A sequence ends with its first refusal: moto leaves refused updates half done."""
    for table in both:
        table.put("p", "update", **item)

    for update in updates:
        request: dict[str, Any] = {"Key": key("p", "update"), "UpdateExpression": update}
        if values := _used(update):
            request["ExpressionAttributeValues"] = values
        before = both[0].read("p", "update")
        one, two = (_tried(table, "update_item", **request) for table in both)
        assert one == two, update
        if one != "done":
            assert both[0].read("p", "update") == before
            return
        assert both[0].read("p", "update") == both[1].read("p", "update"), update
