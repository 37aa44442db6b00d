"""Rules of AWS that moto does not have, kept by the local engine: limits, tokens, starting keys, exact refusals."""

from collections.abc import Callable
from typing import Any

import pytest
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from agentkeep import clock
from infra.local.dynamodb.engine import OPERATIONS, Engine
from infra.local.dynamodb.errors import DynamoError
from infra.local.dynamodb.expressions.reserved import RESERVED
from infra.local.dynamodb.values import checked_item, item_size
from tests.doubles.dynamodb import TableClient, key, number, refused

FIVE = ["a", "b", "c", "d", "e"]


@pytest.fixture
def table(exact_table: TableClient) -> TableClient:
    return exact_table


@pytest.fixture
def five(table: TableClient) -> TableClient:
    """Items a to e in partition p."""
    for sort in FIVE:
        table.put("p", sort, gsi1pk={"S": "g"}, gsi1sk={"S": "same"})
    return table


def query(**values: str) -> dict[str, Any]:
    """The members of a Query for partition p."""
    return {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {f":{name}": {"S": value} for name, value in {"pk": "p", **values}.items()},
    }


def test_reserved_words_are_those_that_moto_knows() -> None:
    assert frozenset(ReservedKeywords.get_reserved_keywords()) == RESERVED


def add_one(table: TableClient, token: str, amount: int = 1) -> None:
    """Adds to a counter in a transaction with a token."""
    update = {
        "TableName": table.name,
        "Key": key("p", "count"),
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": number(amount)},
    }
    table.client.transact_write_items(TransactItems=[{"Update": update}], ClientRequestToken=token)


def test_same_token_and_content_is_done_once(table: TableClient) -> None:
    add_one(table, "token-once")
    add_one(table, "token-once")

    assert table.read("p", "count") == {"n": 1}


def test_same_token_with_other_content_is_refused(table: TableClient) -> None:
    add_one(table, "token-other")

    with refused("IdempotentParameterMismatchException"):
        add_one(table, "token-other", amount=2)


def test_token_is_forgotten_after_ten_minutes(table: TableClient, monkeypatch: pytest.MonkeyPatch) -> None:
    add_one(table, "token-old")
    monkeypatch.setenv("AGENTKEEP_CLOCK_OFFSET_SECONDS", "601")

    add_one(table, "token-old")

    assert table.read("p", "count") == {"n": 2}


def test_cancelled_transaction_leaves_its_token_free(table: TableClient) -> None:
    check = {"TableName": table.name, "Key": key("p", "gate"), "ConditionExpression": "attribute_exists(pk)"}
    put = {"TableName": table.name, "Item": key("p", "x")}
    request = {"TransactItems": [{"ConditionCheck": check}, {"Put": put}], "ClientRequestToken": "token-cancelled"}
    with refused("TransactionCanceledException"):
        table.client.transact_write_items(**request)
    table.put("p", "gate")

    table.client.transact_write_items(**request)

    assert table.read("p", "x") == {}


def test_misfit_with_the_stored_item_is_a_reason_of_the_transaction(table: TableClient) -> None:
    table.put("p", "s", n={"S": "text"})
    update = {
        "TableName": table.name,
        "Key": key("p", "s"),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": number(1)},
    }

    with refused("TransactionCanceledException", "[ValidationError]"):
        table.client.transact_write_items(TransactItems=[{"Update": update}])


def test_page_that_reaches_its_limit_has_a_next_key_even_at_the_end(five: TableClient) -> None:
    answer = five.query(**query(), Limit=5)

    assert answer["LastEvaluatedKey"] == key("p", "e")
    assert five.query(**query(), ExclusiveStartKey=answer["LastEvaluatedKey"])["Items"] == []


def test_index_with_equal_sort_keys_is_walked_once(five: TableClient) -> None:
    request: dict[str, Any] = {
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}},
        "Limit": 2,
    }
    first = five.query(**request)
    second = five.query(**request, ExclusiveStartKey=first["LastEvaluatedKey"])
    third = five.query(**request, ExclusiveStartKey=second["LastEvaluatedKey"])

    assert [item["sk"]["S"] for page in (first, second, third) for item in page["Items"]] == FIVE


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ({"pk": {"S": "p"}}, "does not match the schema"),
        (key("q", "a"), "outside query boundaries"),
        (key("p", "z"), "range key predicate"),
    ],
)
def test_starting_key_outside_of_the_query_is_refused(five: TableClient, start: dict[str, Any], text: str) -> None:
    request = query(end="c")
    request["KeyConditionExpression"] += " AND sk < :end"

    with refused("ValidationException", text):
        five.query(**request, ExclusiveStartKey=start)


Mistake = Callable[[TableClient], Any]
MISTAKES: dict[str, tuple[str, Mistake]] = {
    "index key of another type": ("Type mismatch for Index Key", lambda t: t.put("p", "s", gsi1pk=number(1))),
    "39 digits": ("38 significant digits", lambda t: t.put("p", "s", n=number("1" * 39))),
    "number too large": ("overflow", lambda t: t.put("p", "s", n=number("1E+126"))),
    "number too small": ("underflow", lambda t: t.put("p", "s", n=number("1E-131"))),
    "no number": ("cannot be converted", lambda t: t.put("p", "s", n=number("NaN"))),
    "set with a value twice": ("duplicates", lambda t: t.put("p", "s", nums={"NS": ["1", "1.0"]})),
    "NULL false": ("must have the value of true", lambda t: t.put("p", "s", x={"NULL": False})),
    "two types at once": ("more than one datatypes", lambda t: t.put("p", "s", x={"S": "a", "N": "1"})),
    "33 levels": ("Nesting Levels", lambda t: t.put("p", "s", x=nested(33))),
    "empty prefix": (
        "empty string value",
        lambda t: t.query(
            KeyConditionExpression="pk = :p AND begins_with(sk, :e)",
            ExpressionAttributeValues={":p": {"S": "p"}, ":e": {"S": ""}},
        ),
    ),
    "bounds in the wrong order": (
        "upper bound",
        lambda t: t.query(
            KeyConditionExpression="pk = :p AND sk BETWEEN :a AND :b",
            ExpressionAttributeValues={":p": {"S": "p"}, ":a": {"S": "b"}, ":b": {"S": "a"}},
        ),
    ),
    "OR in a key condition": (
        "Invalid operator used in KeyConditionExpression: OR",
        lambda t: t.query(KeyConditionExpression="pk = :p OR sk = :p", ExpressionAttributeValues={":p": {"S": "p"}}),
    ),
    "filter on a key": (
        "Filter Expression can only contain non-primary key attributes",
        lambda t: t.query(**query(), FilterExpression="sk = :pk"),
    ),
    "attribute that the index does not have": (
        "does not project",
        lambda t: t.query(
            IndexName="gsi1",
            KeyConditionExpression="gsi1pk = :g",
            ExpressionAttributeValues={":g": {"S": "g"}},
            ProjectionExpression="n",
        ),
    ),
    "unused value": (
        "unused in expressions: keys: {:unused}",
        lambda t: t.query(**query(unused="x")),
    ),
    "names without an expression": (
        "only be specified when using expressions",
        lambda t: t.get_item(Key=key("p", "s"), ExpressionAttributeNames={"#n": "n"}),
    ),
    "unknown function": (
        "Invalid function name; function: starts_with",
        lambda t: t.put_item(Item=key("p", "s"), ConditionExpression="starts_with(pk, sk)"),
    ),
    "overlapping projection": (
        "overlap",
        lambda t: t.get_item(Key=key("p", "s"), ProjectionExpression="m, m.a"),
    ),
    "legacy parameter": (
        "does not support the parameter Expected",
        lambda t: t.put_item(Item=key("p", "s"), Expected={"pk": {"Exists": False}}),
    ),
    "consumed capacity": (
        "does not support the parameter ReturnConsumedCapacity",
        lambda t: t.get_item(Key=key("p", "s"), ReturnConsumedCapacity="TOTAL"),
    ),
    "expression of more than 4 KB": (
        "maximum allowed size",
        lambda t: t.put_item(Item=key("p", "s"), ConditionExpression="attribute_exists(a)" + " " * 4096),
    ),
    "expression that nests without end": (
        "nested too deeply",
        lambda t: t.put_item(Item=key("p", "s"), ConditionExpression="NOT " * 200 + "attribute_exists(a)"),
    ),
}


def nested(levels: int) -> dict[str, Any]:
    """A value of lists in lists."""
    value: dict[str, Any] = {"S": "deep"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_refused_with_its_reason(table: TableClient, mistake: str) -> None:
    text, make = MISTAKES[mistake]

    with refused("ValidationException", text):
        make(table)


def test_transaction_of_more_than_4_mb_is_refused(table: TableClient) -> None:
    puts = [
        {"Put": {"TableName": table.name, "Item": {**key("p", str(n)), "x": {"S": "x" * 400_000}}}} for n in range(11)
    ]

    with refused("ValidationException", "4 MB"):
        table.client.transact_write_items(TransactItems=puts)

    assert table.read("p", "0") is None


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ({"text": {"S": "é"}}, 4 + 2),
        ({"n": number("-12.5")}, 1 + 4),
        ({"b": {"B": b"\x00\x01"}}, 1 + 2),
        ({"t": {"BOOL": True}, "u": {"NULL": True}}, 4),
        ({"l": {"L": [{"S": "ab"}, {"S": "c"}]}}, 1 + 3 + 2 + 3),
        ({"m": {"M": {"k": {"S": "ab"}}}}, 1 + 3 + 1 + 1 + 2),
    ],
)
def test_item_is_measured_by_the_rule_of_aws(attributes: dict[str, Any], size: int) -> None:
    assert item_size(checked_item(attributes)) == size


def test_item_of_exactly_400_kb_is_stored(table: TableClient) -> None:
    rest = len("pk") + len("p") + len("sk") + len("s") + len("x")

    table.put("p", "s", x={"S": "x" * (400 * 1024 - rest)})

    with refused("ValidationException", "Item size has exceeded"):
        table.put("p", "s", x={"S": "x" * (400 * 1024 - rest + 1)})


@pytest.mark.parametrize(
    ("written", "kept"),
    [("007", "7"), ("1.500", "1.5"), ("-0", "0"), ("1E3", "1000"), ("1e-3", "0.001"), (".5", "0.5")],
)
def test_numbers_come_back_in_one_form(table: TableClient, written: str, kept: str) -> None:
    table.put("p", "s", n=number(written))

    assert table.get_item(Key=key("p", "s"))["Item"]["n"] == {"N": kept}


def test_unknown_operation_is_an_error(engine: Engine) -> None:
    with pytest.raises(DynamoError, match="UnknownOperationException"):
        engine.call("ExecuteStatement", {"Statement": "SELECT"})

    assert "ExecuteStatement" not in OPERATIONS


def test_lone_surrogate_is_refused(engine: Engine, table: TableClient) -> None:
    with pytest.raises(DynamoError, match="lone surrogate"):
        engine.call("PutItem", {"TableName": table.name, "Item": {**key("p", "s"), "x": {"S": "\ud800"}}})


def test_expired_item_is_deleted_by_the_sweep_as_the_service(engine: Engine, table: TableClient) -> None:
    now = clock.epoch_ms() // 1000
    table.client.update_time_to_live(
        TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"}
    )
    table.put("p", "old", expires_at=number(now - 10))
    table.put("p", "new", expires_at=number(now + 100))
    table.put("p", "text", expires_at={"S": "never"})

    assert table.read("p", "old") is not None
    assert engine.sweep() == 1

    assert [item["sk"]["S"] for item in table.query(**query())["Items"]] == ["new", "text"]


def test_unused_definitions_are_refused(engine: Engine) -> None:
    with pytest.raises(DynamoError, match="not used"):
        engine.call(
            "CreateTable",
            {
                "TableName": "too-much",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "other", "AttributeType": "S"},
                ],
            },
        )
