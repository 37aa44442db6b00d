"""The same script on the local engine and on moto: queries, pages, indexes, batches, transactions and errors."""

from collections.abc import Callable
from itertools import chain
from typing import Any, cast

import pytest

from tests.doubles.dynamodb import TableClient, key, new_table, number, refused

TEN = [f"{n:03d}" for n in range(10)]


@pytest.fixture
def ten(table: TableClient) -> TableClient:
    """Items 000 to 009 in partition p, one in partition q."""
    for n, sort in enumerate(TEN):
        table.put("p", sort, n=number(n), gsi1pk={"S": f"even#{n % 2}"}, gsi1sk={"S": sort}, s={"S": "text"})
    table.put("q", "000")
    return table


def sorts(answer: dict[str, Any]) -> list[str]:
    """The sort keys of an answer's items."""
    return [item["sk"]["S"] for item in answer["Items"]]


def pages(operation: Callable[..., dict[str, Any]], **request: Any) -> list[list[str]]:
    """The sort keys of every page of a walk to its end."""
    found = []
    while True:
        answer = operation(**request)
        found.append(sorts(answer))
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def query(condition: str, **values: str) -> dict[str, Any]:
    """The members of a Query for `pk = :pk` and a condition on the sort key."""
    return {
        "KeyConditionExpression": f"pk = :pk{condition}",
        "ExpressionAttributeValues": {f":{name}": {"S": value} for name, value in {"pk": "p", **values}.items()},
    }


@pytest.mark.parametrize(
    ("condition", "values", "found"),
    [
        ("", {}, TEN),
        (" AND sk = :a", {"a": "003"}, ["003"]),
        (" AND sk < :a", {"a": "002"}, ["000", "001"]),
        (" AND sk <= :a", {"a": "002"}, ["000", "001", "002"]),
        (" AND sk > :a", {"a": "007"}, ["008", "009"]),
        (" AND sk >= :a", {"a": "008"}, ["008", "009"]),
        (" AND sk BETWEEN :a AND :b", {"a": "003", "b": "005"}, ["003", "004", "005"]),
        (" AND begins_with(sk, :a)", {"a": "00"}, TEN),
        (" AND begins_with(sk, :a)", {"a": "1"}, []),
    ],
)
def test_query_gives_the_stretch_asked_for_in_order(
    ten: TableClient, condition: str, values: dict[str, str], found: list[str]
) -> None:
    assert sorts(ten.query(**query(condition, **values))) == found
    assert sorts(ten.query(**query(condition, **values), ScanIndexForward=False)) == found[::-1]


@pytest.mark.parametrize("forward", [True, False])
def test_pages_cover_everything_once(ten: TableClient, forward: bool) -> None:
    walked = pages(ten.query, **query(""), Limit=3, ScanIndexForward=forward)

    assert [len(page) for page in walked] == [3, 3, 3, 1]
    assert list(chain(*walked)) == (TEN if forward else TEN[::-1])


def test_walk_goes_on_where_the_last_item_was_deleted(ten: TableClient) -> None:
    first = ten.query(**query(""), Limit=4)
    ten.delete_item(Key=first["LastEvaluatedKey"])

    rest = ten.query(**query(""), ExclusiveStartKey=first["LastEvaluatedKey"])

    assert sorts(rest) == TEN[4:]


def test_index_is_queried_by_its_own_keys_and_gives_keys_only(ten: TableClient) -> None:
    request = {
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :pk AND gsi1sk > :sk",
        "ExpressionAttributeValues": {":pk": {"S": "even#0"}, ":sk": {"S": "003"}},
    }

    answer = ten.query(**request)

    assert sorts(answer) == ["004", "006", "008"]
    assert answer["Items"][0] == {**key("p", "004"), "gsi1pk": {"S": "even#0"}, "gsi1sk": {"S": "004"}}
    assert pages(ten.query, **request, Limit=2) == [["004", "006"], ["008"]]


def test_item_leaves_the_index_with_its_index_key(ten: TableClient) -> None:
    request = {
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "even#1"}},
    }
    ten.update_item(Key=key("p", "001"), UpdateExpression="REMOVE gsi1pk")
    ten.delete_item(Key=key("p", "003"))
    ten.update_item(
        Key=key("p", "005"), UpdateExpression="SET gsi1sk = :last", ExpressionAttributeValues={":last": {"S": "zzz"}}
    )

    assert sorts(ten.query(**request)) == ["007", "009", "005"]


def test_filter_drops_after_counting(ten: TableClient) -> None:
    request = query("")
    request["ExpressionAttributeValues"][":n"] = number(6)

    answer = ten.query(**request, FilterExpression="n > :n")

    assert sorts(answer) == ["007", "008", "009"]
    assert (answer["Count"], answer["ScannedCount"]) == (3, 10)


def test_limit_counts_before_the_filter(ten: TableClient) -> None:
    request = query("")
    request["ExpressionAttributeValues"][":n"] = number(6)

    answer = ten.query(**request, FilterExpression="n > :n", Limit=8)

    assert sorts(answer) == ["007"]
    assert (answer["Count"], answer["ScannedCount"]) == (1, 8)
    assert answer["LastEvaluatedKey"] == key("p", "007")


def test_count_comes_without_items(ten: TableClient) -> None:
    answer = ten.query(**query(""), Select="COUNT")

    assert answer["Count"] == 10
    assert "Items" not in answer


def test_scan_gives_every_item_once(ten: TableClient) -> None:
    walked = pages(ten.scan, Limit=4)

    assert sorted(chain(*walked)) == sorted([*TEN, "000"])


def test_scan_segments_share_the_table(ten: TableClient) -> None:
    parts = [pages(ten.scan, Segment=segment, TotalSegments=3) for segment in range(3)]

    assert sorted(sort for part in parts for page in part for sort in page) == sorted([*TEN, "000"])


def test_page_ends_at_one_megabyte(table: TableClient) -> None:
    for n in range(6):
        table.put("p", f"{n}", text={"S": "x" * 240_000})

    assert pages(table.query, **query("")) == [["0", "1", "2", "3"], ["4", "5"]]


def test_batch_get_finds_what_there_is(ten: TableClient) -> None:
    keys = [key("p", "001"), key("p", "nope"), key("q", "000")]

    answer = ten.client.batch_get_item(RequestItems={ten.name: {"Keys": keys, "ProjectionExpression": "pk, sk"}})

    assert sorted(item["pk"]["S"] for item in answer["Responses"][ten.name]) == ["p", "q"]
    assert not answer["UnprocessedKeys"]


def test_batch_write_puts_and_deletes(ten: TableClient) -> None:
    requests = [{"PutRequest": {"Item": key("p", "new")}}, {"DeleteRequest": {"Key": key("p", "000")}}]

    answer = ten.client.batch_write_item(RequestItems={ten.name: requests})

    assert not answer["UnprocessedItems"]
    assert sorts(ten.query(**query(""))) == [*TEN[1:], "new"]


def parts(table: TableClient, check: str = "attribute_exists(pk)") -> list[dict[str, Any]]:
    """A transaction of all four kinds; `check` is the condition of the last."""
    one = {":one": number(1)}
    return [
        {"Put": {"TableName": table.name, "Item": key("t", "put"), "ConditionExpression": "attribute_not_exists(pk)"}},
        {
            "Update": {
                "TableName": table.name,
                "Key": key("p", "001"),
                "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": one,
            }
        },
        {"Delete": {"TableName": table.name, "Key": key("p", "002")}},
        {"ConditionCheck": {"TableName": table.name, "Key": key("p", "003"), "ConditionExpression": check}},
    ]


def test_transaction_does_all_of_it(ten: TableClient) -> None:
    ten.client.transact_write_items(TransactItems=parts(ten))

    assert ten.read("t", "put") == {}
    assert (ten.read("p", "001") or {})["n"] == 2
    assert ten.read("p", "002") is None


def test_transaction_does_nothing_when_a_condition_fails_and_says_which(ten: TableClient) -> None:
    with refused("TransactionCanceledException", "[None, None, None, ConditionalCheckFailed]") as caught:
        ten.client.transact_write_items(TransactItems=parts(ten, "attribute_not_exists(pk)"))

    reasons = caught.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "None", "None", "ConditionalCheckFailed"]
    assert ten.read("t", "put") is None
    assert (ten.read("p", "001") or {})["n"] == 1
    assert ten.read("p", "002") is not None


def test_reason_shows_the_item_when_asked(ten: TableClient) -> None:
    (*_, check) = parts(ten, "attribute_not_exists(pk)")
    check["ConditionCheck"]["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"

    with refused("TransactionCanceledException") as caught:
        ten.client.transact_write_items(TransactItems=[check])

    (reason,) = caught.value.response["CancellationReasons"]
    assert cast(Any, reason)["Item"]["sk"] == {"S": "003"}


def test_transact_get_answers_in_order_with_gaps(ten: TableClient) -> None:
    keys = [key("p", "002"), key("p", "nope"), key("p", "001")]

    answer = ten.client.transact_get_items(
        TransactItems=[{"Get": {"TableName": ten.name, "Key": wanted}} for wanted in keys]
    )

    assert [response.get("Item", {}).get("sk") for response in answer["Responses"]] == [
        {"S": "002"},
        None,
        {"S": "001"},
    ]


def test_numbers_sort_by_value(client: Any) -> None:
    table = new_table(client, exact=True, sort_kind="N")
    numbers = ["-100", "-2.5", "-2", "-0.001", "0", "0.5", "3", "20", "1000000"]
    for value in reversed(numbers):
        table.put_item(Item={"pk": {"S": "p"}, "sk": number(value)})

    answer = table.query(KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "p"}})

    assert [item["sk"]["N"] for item in answer["Items"]] == numbers


Mistake = Callable[[TableClient], Any]
MISTAKES: dict[str, tuple[str, Mistake]] = {
    "no such table": ("ResourceNotFoundException", lambda t: t.client.get_item(TableName="nope", Key=key("p", "s"))),
    "key attribute missing": ("ValidationException", lambda t: t.get_item(Key={"pk": {"S": "p"}})),
    "key of another type": ("ValidationException", lambda t: t.put_item(Item={"pk": number(1), "sk": {"S": "s"}})),
    "key missing in an item": ("ValidationException", lambda t: t.put_item(Item={"pk": {"S": "p"}})),
    "attribute beside the key": (
        "ValidationException",
        lambda t: t.delete_item(Key={**key("p", "s"), "n": number(1)}),
    ),
    "empty key": ("ValidationException", lambda t: t.put("", "s")),
    "empty index key": ("ValidationException", lambda t: t.put("p", "s", gsi1pk={"S": ""}, gsi1sk={"S": "x"})),
    "empty set": ("ValidationException", lambda t: t.put("p", "s", tags={"SS": []})),
    "partition key too long": ("ValidationException", lambda t: t.put("p" * 2049, "s")),
    "sort key too long": ("ValidationException", lambda t: t.put("p", "s" * 1025)),
    "item too large": ("ValidationException", lambda t: t.put("p", "s", text={"S": "x" * 410_000})),
    "unused name": (
        "ValidationException",
        lambda t: t.put_item(
            Item=key("p", "s"),
            ConditionExpression="attribute_not_exists(pk)",
            ExpressionAttributeNames={"#unused": "x"},
        ),
    ),
    "reserved word": (
        "ValidationException",
        lambda t: t.put_item(Item=key("p", "s"), ConditionExpression="attribute_not_exists(name)"),
    ),
    "redundant parentheses": (
        "ValidationException",
        lambda t: t.put_item(Item=key("p", "s"), ConditionExpression="((attribute_not_exists(pk)))"),
    ),
    "query without the partition": (
        "ValidationException",
        lambda t: t.query(KeyConditionExpression="sk = :s", ExpressionAttributeValues={":s": {"S": "x"}}),
    ),
    "query by another attribute": (
        "ValidationException",
        lambda t: t.query(**query(" AND n = :n", n="x")),
    ),
    "strong read of an index": (
        "ValidationException",
        lambda t: t.query(
            IndexName="gsi1",
            ConsistentRead=True,
            KeyConditionExpression="gsi1pk = :g",
            ExpressionAttributeValues={":g": {"S": "x"}},
        ),
    ),
    "batch of one item twice": (
        "ValidationException",
        lambda t: t.client.batch_get_item(RequestItems={t.name: {"Keys": [key("p", "s"), key("p", "s")]}}),
    ),
    "batch of 101 keys": (
        "ValidationException",
        lambda t: t.client.batch_get_item(RequestItems={t.name: {"Keys": [key("p", str(n)) for n in range(101)]}}),
    ),
    "transaction on one item twice": (
        "ValidationException",
        lambda t: t.client.transact_write_items(
            TransactItems=[{"Put": {"TableName": t.name, "Item": key("p", "s")}}] * 2
        ),
    ),
    "transaction of 101 items": (
        "ValidationException",
        lambda t: t.client.transact_write_items(
            TransactItems=[{"Put": {"TableName": t.name, "Item": key("p", str(n))}} for n in range(101)]
        ),
    ),
    "table made twice": (
        "ResourceInUseException",
        lambda t: t.client.create_table(
            TableName=t.name,
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        ),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_refused(table: TableClient, mistake: str) -> None:
    code, make = MISTAKES[mistake]

    with refused(code):
        make(table)
