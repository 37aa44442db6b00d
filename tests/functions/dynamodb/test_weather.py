"""Weather: each kind alone does what AWS may do, a storm loses nothing, and a seed repeats it; faults hit one write."""

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, HTTPClientError, ReadTimeoutError
from botocore.session import Session

from infra.local.dynamodb.engine import Engine
from infra.local.dynamodb.hook import install
from infra.local.weather import CALM, FaultPlan, Rates, Weather
from tests.doubles.dynamodb import REGION, TableClient, definition, key, new_table, number, refused


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.in_memory() as opened:
        yield opened


@pytest.fixture
def table(engine: Engine) -> TableClient:
    return _table(engine)


def _table(engine: Engine, **settings: Any) -> TableClient:
    session = Session()
    install(engine, session)
    return new_table(session.create_client("dynamodb", region_name=REGION, config=Config(**settings)), exact=True)


def add_one(table: TableClient) -> None:
    """Adds 1 to a counter, not idempotent."""
    table.update_item(Key=key("p", "n"), UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": number(1)})


def count(table: TableClient) -> int:
    """The counter."""
    return int((table.read("p", "n") or {"n": 0})["n"])


def index_query() -> dict[str, Any]:
    """All entries of one partition of gsi1."""
    return {
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}},
    }


@pytest.mark.parametrize("kind", [kind.name for kind in fields(Rates)])
def test_each_kind_can_be_switched_on_alone(kind: str) -> None:
    weather = Weather.only(kind, seed=1, rate=0.25)

    assert getattr(weather.rates, kind) == 0.25
    assert sum(getattr(weather.rates, other.name) for other in fields(Rates)) == 0.25


def test_index_lags_behind_and_catches_up(engine: Engine, table: TableClient) -> None:
    engine.weather = Weather.only("index_lag", seed=1, rate=1, index_lag_ms=150)
    table.put("p", "s", gsi1pk={"S": "g"}, gsi1sk={"S": "1"})
    at_once = table.query(**index_query())["Count"]
    time.sleep(0.2)
    later = table.query(**index_query())["Count"]

    table.delete_item(Key=key("p", "s"))
    deleted_at_once = table.query(**index_query())["Count"]
    time.sleep(0.2)
    deleted_later = table.query(**index_query())["Count"]

    assert (at_once, later, deleted_at_once, deleted_later) == (0, 1, 1, 0)
    assert table.read("p", "s") is None


def test_lagging_index_never_shows_an_item_twice(engine: Engine, table: TableClient) -> None:
    engine.weather = Weather.only("index_lag", seed=1, rate=0.5, index_lag_ms=5)
    for n in range(40):
        table.put("p", "s", gsi1pk={"S": "g"}, gsi1sk={"S": str(n % 3)})

        assert table.query(**index_query())["Count"] <= 1


def test_throttled_call_is_tried_again_and_given_up_after_three(engine: Engine, table: TableClient) -> None:
    engine.weather = Weather.only("throttling", seed=1, rate=1)
    engine.counters.reset()

    with pytest.raises(ClientError) as caught:
        table.put("p", "s")

    assert caught.value.response["Error"]["Code"] in ("ThrottlingException", "ProvisionedThroughputExceededException")
    assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 2
    assert engine.counters.counts.total_calls == 0


def test_number_of_attempts_is_the_clients_setting(engine: Engine) -> None:
    table = _table(engine, retries={"mode": "standard", "total_max_attempts": 1})
    engine.weather = Weather.only("throttling", seed=1, rate=1)

    with pytest.raises(ClientError) as caught:
        table.put("p", "s")

    assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 0


def test_rare_throttling_is_not_seen_by_the_caller(engine: Engine, table: TableClient) -> None:
    engine.weather = Weather.only("throttling", seed=1, rate=0.2)

    for n in range(30):
        table.put("p", str(n))

    engine.weather = CALM
    assert table.scan(Select="COUNT")["Count"] == 30


def test_conflict_cancels_a_transaction_and_reaches_the_caller(engine: Engine, table: TableClient) -> None:
    engine.weather = Weather.only("conflicts", seed=1, rate=1)
    puts = [{"Put": {"TableName": table.name, "Item": key("p", sort)}} for sort in "ab"]

    with refused("TransactionCanceledException", "TransactionConflict") as caught:
        table.client.transact_write_items(TransactItems=puts)
    with refused("TransactionConflictException"):
        table.put("p", "s")

    codes = [reason["Code"] for reason in caught.value.response["CancellationReasons"]]
    assert sorted(codes) == ["None", "TransactionConflict"]
    assert table.scan()["Count"] == 0


def test_batches_come_back_in_part_and_end_when_repeated(engine: Engine, table: TableClient) -> None:
    engine.weather = Weather.only("unprocessed", seed=3, rate=1)
    wanted = {table.name: [{"PutRequest": {"Item": key("p", str(n))}} for n in range(20)]}
    rounds = 0
    while wanted:
        wanted = table.client.batch_write_item(RequestItems=wanted)["UnprocessedItems"]
        rounds += 1

    asked: dict[str, Any] = {table.name: {"Keys": [key("p", str(n)) for n in range(20)], "ConsistentRead": True}}
    found = []
    while asked:
        answer = table.client.batch_get_item(RequestItems=asked)
        found += answer["Responses"][table.name]
        asked = answer["UnprocessedKeys"]

    assert rounds > 1
    assert sorted(int(item["sk"]["S"]) for item in found) == list(range(20))


def test_short_pages_still_cover_everything_once(engine: Engine, table: TableClient) -> None:
    for n in range(20):
        table.put("p", f"{n:02d}")
    engine.weather = Weather.only("short_pages", seed=5, rate=1)
    request: dict[str, Any] = {
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "Limit": 10,
    }
    sizes, found = [], []
    while True:
        answer = table.query(**request)
        sizes.append(answer["Count"])
        found += [item["sk"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            break
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    assert max(sizes) < 10
    assert found == [f"{n:02d}" for n in range(20)]


def test_lost_answer_leads_to_a_second_addition(engine: Engine, table: TableClient) -> None:
    engine.weather = Weather.only("lost_answers", seed=1, rate=1)

    with pytest.raises((HTTPClientError, ConnectionClosedError, ClientError)):
        add_one(table)

    engine.weather = CALM
    assert count(table) == 3


def test_lost_answer_of_a_transaction_with_token_changes_nothing_twice(engine: Engine, table: TableClient) -> None:
    engine.weather = Weather.only("lost_answers", seed=1, rate=1)
    update = {
        "TableName": table.name,
        "Key": key("p", "n"),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": number(1)},
    }

    with pytest.raises((HTTPClientError, ConnectionClosedError, ClientError)):
        table.client.transact_write_items(TransactItems=[{"Update": update}], ClientRequestToken="once")

    engine.weather = CALM
    assert count(table) == 1


def test_lost_answers_take_every_form() -> None:
    weather = Weather.only("lost_answers", seed=2, rate=1)
    forms = {type(weather.loses_answer()).__name__ for _ in range(30)}

    assert forms == {ReadTimeoutError.__name__, ConnectionClosedError.__name__, "DynamoError"}


def test_records_come_late_and_again_but_come(engine: Engine, table: TableClient) -> None:
    for n in range(5):
        table.put("p", str(n))
    seen: list[str] = []

    def note(event: dict[str, Any]) -> None:
        seen.extend(record["dynamodb"]["Keys"]["sk"]["S"] for record in event["Records"])

    engine.weather = Weather.only("late_records", seed=1, rate=1, late_records_ms=60_000)
    assert engine.deliver(note, table=table.name, consumer="c") == 0
    engine.weather = Weather.only("duplicate_records", seed=1, rate=0.5)
    while engine.deliver(note, table=table.name, consumer="c", batch_size=1):
        pass

    assert sorted(set(seen)) == ["0", "1", "2", "3", "4"]
    assert len(seen) > 5


def test_expired_items_may_stay_for_a_while(engine: Engine, table: TableClient) -> None:
    table.client.update_time_to_live(
        TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"}
    )
    table.put("p", "s", t=number(int(time.time()) - 10))
    engine.weather = Weather.only("late_expiry", seed=1, rate=1)
    kept = engine.sweep()
    engine.weather = CALM

    assert (kept, engine.sweep()) == (0, 1)


def test_same_seed_brings_the_same_weather() -> None:
    def forecast(seed: int) -> list[str]:
        weather = Weather.storm(seed, rate=0.4)
        found = [weather.refusal("PutItem", {"TableName": "t"}) for _ in range(50)]
        return [error.code if error else "" for error in found]

    assert forecast(4) == forecast(4)
    assert forecast(4) != forecast(5)


class CrashError(Exception):
    """A failure injected by a test."""


@pytest.mark.parametrize(("when", "after_crash"), [("before", 1), ("after", 2)])
def test_fault_hits_the_chosen_write_once(engine: Engine, table: TableClient, when: Any, after_crash: int) -> None:
    engine.faults = FaultPlan.fail_at(2, when=when, error=CrashError())
    add_one(table)
    count(table)

    with pytest.raises(CrashError):
        add_one(table)
    assert count(table) == after_crash

    add_one(table)
    assert count(table) == after_crash + 1
    assert engine.faults.writes == 3


def test_empty_plan_counts_writes_only(engine: Engine, table: TableClient) -> None:
    engine.faults = FaultPlan()

    table.put("p", "s")
    table.read("p", "s")
    table.delete_item(Key=key("p", "s"))

    assert engine.faults.writes == 2


EXITING = """
import sys
from pathlib import Path
from botocore.session import Session
from infra.local.dynamodb.engine import Engine
from infra.local.dynamodb.hook import install
from infra.local.weather import FaultPlan

engine = Engine(Path(sys.argv[1]))
session = Session()
install(engine, session)
client = session.create_client("dynamodb", region_name="us-east-1")
engine.faults = FaultPlan.exit_at(2, when=sys.argv[2])
for n in range(5):
    client.put_item(TableName="t", Item={"pk": {"S": "p"}, "sk": {"S": str(n)}})
"""


@pytest.mark.parametrize(("when", "stored"), [("before", 1), ("after", 2)])
def test_process_can_be_ended_at_a_write(tmp_path: Path, when: str, stored: int) -> None:
    path = tmp_path / "store"
    with Engine(path) as engine:
        engine.call("CreateTable", definition("t"))

    ended = subprocess.run([sys.executable, "-c", EXITING, str(path), when], check=False)

    with Engine(path) as engine:
        assert ended.returncode == 137
        assert engine.call("Scan", {"TableName": "t"})["Count"] == stored
