"""The engine under sixteen threads: nothing is lost, nothing is half done, and readers see whole transactions."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from infra.local.dynamodb.engine import Engine
from tests.doubles.dynamodb import TableClient, key, number

THREADS = 16


@pytest.fixture
def table(exact_table: TableClient) -> TableClient:
    return exact_table


def together(work: Callable[[int], Any]) -> list[Any]:
    """What `work` returned for each thread's number, all started at once."""
    barrier = threading.Barrier(THREADS)

    def start(n: int) -> Any:
        barrier.wait()
        return work(n)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def test_every_addition_counts(table: TableClient) -> None:
    def add(_: int) -> None:
        for _ in range(25):
            table.update_item(
                Key=key("p", "n"), UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": number(1)}
            )

    together(add)

    assert table.read("p", "n") == {"n": THREADS * 25}


def test_one_of_all_wins_each_item(table: TableClient) -> None:
    def take(n: int) -> int:
        won = 0
        for item in range(20):
            try:
                table.put_item(
                    Item={**key("p", str(item)), "n": number(n)}, ConditionExpression="attribute_not_exists(pk)"
                )
                won += 1
            except table.client.exceptions.ConditionalCheckFailedException:
                continue
        return won

    assert sum(together(take)) == 20


def _transfer(table: TableClient, source: str, target: str) -> dict[str, Any]:
    change = {"TableName": table.name, "ExpressionAttributeValues": {":one": number(1)}}
    return {
        "TransactItems": [
            {"Update": {**change, "Key": key("p", source), "UpdateExpression": "SET n = n - :one"}},
            {"Update": {**change, "Key": key("p", target), "UpdateExpression": "SET n = n + :one"}},
        ]
    }


def test_readers_see_transactions_whole(table: TableClient) -> None:
    for account in "abcd":
        table.put("p", account, n=number(100))
    gets = [{"Get": {"TableName": table.name, "Key": key("p", account)}} for account in "abcd"]

    def work(n: int) -> set[int]:
        choose = random.Random(n)
        sums = set()
        for _ in range(20):
            if n % 2:
                source, target = choose.sample("abcd", 2)
                table.client.transact_write_items(**_transfer(table, source, target))
            found = table.client.transact_get_items(TransactItems=gets)["Responses"]
            sums.add(sum(int(response["Item"]["n"]["N"]) for response in found))
            page = table.query(KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "p"}})
            sums.add(sum(int(item["n"]["N"]) for item in page["Items"]))
        return sums

    assert set().union(*together(work)) == {400}


def test_transaction_with_a_failing_part_is_never_seen(table: TableClient) -> None:
    def work(n: int) -> int:
        won = 0
        for lock in range(10):
            puts = [
                {
                    "Put": {
                        "TableName": table.name,
                        "Item": {**key("lock", str(lock)), "n": number(n)},
                        "ConditionExpression": "attribute_not_exists(pk)",
                    }
                },
                *({"Put": {"TableName": table.name, "Item": key(f"won-{lock}", f"{n}-{i}")}} for i in range(3)),
            ]
            try:
                table.client.transact_write_items(TransactItems=puts)
                won += 1
            except table.client.exceptions.TransactionCanceledException:
                continue
        return won

    assert sum(together(work)) == 10
    assert table.scan()["Count"] == 10 + 10 * 3


def test_counters_are_exact(engine: Engine, table: TableClient) -> None:
    engine.counters.reset()

    def work(n: int) -> None:
        table.put("p", str(n))
        table.get_item(Key=key("p", str(n)))

    together(work)

    counts = engine.counters.reset()
    assert counts.calls == {"PutItem": THREADS, "GetItem": THREADS}
    assert (counts.items_written, counts.items_read, counts.total_calls) == (THREADS, THREADS, 2 * THREADS)
    assert engine.counters.counts.total_calls == 0
