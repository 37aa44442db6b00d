"""Streams: the records of every change, read through the API or delivered like to a Lambda function."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkeep import clock
from infra.local.dynamodb.engine import Engine, create_tables
from tests.doubles.dynamodb import TableClient, definition, engine_client, key, new_table, number

TABLE = "entities"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.in_memory() as opened:
        create_tables(opened)
        yield opened


def put(engine: Engine, sort: str, **attributes: Any) -> None:
    """Puts an item into partition p."""
    engine.call("PutItem", {"TableName": TABLE, "Item": {**key("p", sort), **attributes}})


class Receiver:
    """A handler that notes the sort keys of what it gets, and answers or fails as it is told to."""

    def __init__(self, answer: Any = None, failures: int = 0) -> None:
        self.batches: list[list[str]] = []
        self.events: list[dict[str, Any]] = []
        self._answer = answer
        self._failures = failures

    def __call__(self, event: dict[str, Any]) -> Any:
        self.events += event["Records"]
        self.batches.append([record["dynamodb"]["Keys"]["sk"]["S"] for record in event["Records"]])
        if len(self.batches) <= self._failures:
            raise ConnectionError("the handler failed")
        return self._answer


def test_change_is_delivered_with_both_images(engine: Engine) -> None:
    put(engine, "s", n=number(1), b={"B": b"\x00\x01"})
    put(engine, "s", n=number(2))
    put(engine, "s", n=number(2))
    engine.call("DeleteItem", {"TableName": TABLE, "Key": key("p", "s")})
    receiver = Receiver()

    engine.deliver(receiver, table=TABLE, consumer="index")

    changes = [(r["eventName"], r["dynamodb"].get("OldImage"), r["dynamodb"].get("NewImage")) for r in receiver.events]
    first, second = {**key("p", "s"), "n": number(1), "b": {"B": "AAE="}}, {**key("p", "s"), "n": number(2)}
    assert changes == [("INSERT", None, first), ("MODIFY", first, second), ("REMOVE", second, None)]
    assert receiver.events[0]["eventSource"] == "aws:dynamodb"
    assert json.loads(json.dumps(receiver.events)) == receiver.events


def test_consumer_goes_on_where_it_was(engine: Engine) -> None:
    first, second = Receiver(), Receiver()
    for sort in "abc":
        put(engine, sort)

    while engine.deliver(first, table=TABLE, consumer="one", batch_size=2):
        pass
    put(engine, "d")
    engine.deliver(first, table=TABLE, consumer="one")
    engine.deliver(second, table=TABLE, consumer="two")

    assert first.batches == [["a", "b"], ["c"], ["d"]]
    assert second.batches == [["a", "b", "c", "d"]]


def test_place_of_a_consumer_survives_a_restart(tmp_path: Path) -> None:
    receiver = Receiver()
    for sort in "ab":
        with Engine(tmp_path / "store") as engine:
            create_tables(engine)
            put(engine, sort)
            engine.deliver(receiver, table=TABLE, consumer="index")

    assert receiver.batches == [["a"], ["b"]]


def test_failed_batch_comes_again(engine: Engine) -> None:
    receiver = Receiver(failures=1)
    put(engine, "a")

    with pytest.raises(ConnectionError):
        engine.deliver(receiver, table=TABLE, consumer="index")
    engine.deliver(receiver, table=TABLE, consumer="index")

    assert receiver.batches == [["a"], ["a"]]


def test_records_from_a_reported_failure_on_come_again(engine: Engine) -> None:
    for sort in "abc":
        put(engine, sort)
    probe = Receiver()
    engine.deliver(probe, table=TABLE, consumer="probe")
    failed = probe.events[1]["dynamodb"]["SequenceNumber"]
    receiver = Receiver(answer={"batchItemFailures": [{"itemIdentifier": failed}]})

    engine.deliver(receiver, table=TABLE, consumer="index")
    engine.deliver(receiver, table=TABLE, consumer="index")

    assert receiver.batches == [["a", "b", "c"], ["b", "c"]]


def test_transaction_that_is_cancelled_leaves_no_record(engine: Engine) -> None:
    check = {"TableName": TABLE, "Key": key("p", "no"), "ConditionExpression": "attribute_exists(pk)"}
    put_part = {"TableName": TABLE, "Item": key("p", "s")}
    client = engine_client(engine)
    receiver = Receiver()

    with pytest.raises(client.exceptions.ClientError):
        client.transact_write_items(TransactItems=[{"Put": put_part}, {"ConditionCheck": check}])

    assert engine.deliver(receiver, table=TABLE, consumer="index") == 0


def test_waiting_ends_with_a_write(engine: Engine) -> None:
    seen = engine.stream_commits
    assert engine.wait_for_records(seen, 0.01) is False
    timer = threading.Timer(0.05, put, (engine, "s"))
    timer.start()

    assert engine.wait_for_records(seen, 5) is True
    timer.join()


def test_write_before_the_waiting_is_not_missed(engine: Engine) -> None:
    seen = engine.stream_commits
    put(engine, "s")

    assert engine.wait_for_records(seen, 0) is True


def test_old_records_go_when_every_consumer_has_them(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Receiver()
    put(engine, "a")
    engine.deliver(receiver, table=TABLE, consumer="fast")
    engine.deliver(Receiver(), table=TABLE, consumer="slow")
    put(engine, "b")
    engine.deliver(receiver, table=TABLE, consumer="fast")
    monkeypatch.setenv("AGENTKEEP_CLOCK_OFFSET_SECONDS", str(25 * 3600))

    engine.sweep()

    slow, newcomer = Receiver(), Receiver()
    engine.deliver(slow, table=TABLE, consumer="slow")
    engine.deliver(newcomer, table=TABLE, consumer="new")
    assert (slow.batches, newcomer.batches) == ([["b"]], [["b"]])


def test_expiry_is_recorded_as_done_by_the_service(engine: Engine) -> None:
    put(engine, "s", expires_at=number(clock.epoch_ms() // 1000 - 10))
    receiver = Receiver()

    engine.sweep()

    engine.deliver(receiver, table=TABLE, consumer="index")

    assert [record["eventName"] for record in receiver.events] == ["INSERT", "REMOVE"]
    assert receiver.events[1]["userIdentity"]["principalId"] == "dynamodb.amazonaws.com"
    assert "userIdentity" not in receiver.events[0]


@pytest.fixture
def table(engine: Engine) -> TableClient:
    return new_table(engine_client(engine), exact=True)


def test_stream_is_read_through_the_api(engine: Engine, table: TableClient) -> None:
    streams = engine_client(engine, "dynamodbstreams")
    table.put("p", "a", b={"B": b"\x00"})
    (stream,) = streams.list_streams(TableName=table.name)["Streams"]
    (shard,) = streams.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
    place = {"StreamArn": stream["StreamArn"], "ShardId": shard["ShardId"]}
    start = streams.get_shard_iterator(**place, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    end = streams.get_shard_iterator(**place, ShardIteratorType="LATEST")["ShardIterator"]

    first = streams.get_records(ShardIterator=start)
    table.put("p", "b")
    second = streams.get_records(ShardIterator=first["NextShardIterator"])
    latest = streams.get_records(ShardIterator=end)

    assert [record["dynamodb"]["NewImage"]["b"] for record in first["Records"]] == [{"B": b"\x00"}]
    assert [record["dynamodb"]["Keys"]["sk"]["S"] for record in second["Records"]] == ["b"]
    assert latest["Records"] == second["Records"]
    assert first["Records"][0]["dynamodb"]["ApproximateCreationDateTime"].year >= 2025


def test_table_without_a_stream_has_none(engine: Engine) -> None:
    request = definition("silent")
    del request["StreamSpecification"]
    engine.call("CreateTable", request)
    engine.call("PutItem", {"TableName": "silent", "Item": key("p", "s")})

    assert engine.deliver(Receiver(), table="silent", consumer="index") == 0
    assert engine.call("ListStreams", {"TableName": "silent"})["Streams"] == []
