"""What was answered stays: over a restart, over kill -9; and a data file has one owner and one format."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.local.dynamodb import definitions
from infra.local.dynamodb.engine import Engine, create_tables
from infra.local.dynamodb.errors import DataDirectoryLocked, DynamoError, EngineClosed, NewerDataFormat
from infra.local.dynamodb.storage import DATA_FORMAT
from infra.tables import ENTITIES, TABLES, Index
from tests.doubles.dynamodb import key, number

WRITER = """
import itertools, sys
from pathlib import Path
from infra.local.dynamodb.engine import Engine, create_tables

engine = Engine(Path(sys.argv[1]))
create_tables(engine)
for n in itertools.count():
    name = {"S": f"{n:06d}"}
    engine.call("PutItem", {"TableName": "entities", "Item": {"pk": {"S": "single"}, "sk": name}})
    pair = [{"Put": {"TableName": "entities", "Item": {"pk": {"S": half}, "sk": name}}} for half in ("left", "right")]
    engine.call("TransactWriteItems", {"TransactItems": pair})
    print(n, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


def put(engine: Engine, sort: str, **attributes: Any) -> None:
    """Puts an item into partition p of the entities."""
    engine.call("PutItem", {"TableName": "entities", "Item": {**key("p", sort), **attributes}})


def sorts(engine: Engine, partition: str) -> list[str]:
    """The sort keys of a partition of the entities."""
    found: list[str] = []
    request: dict[str, Any] = {
        "TableName": "entities",
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition}},
    }
    while True:
        answer = engine.call("Query", request)
        found += [item["sk"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


@pytest.mark.parametrize("fast", [False, True])
def test_reopened_file_has_everything(path: Path, fast: bool) -> None:
    with Engine(path, fast=fast) as engine:
        create_tables(engine)
        put(engine, "s", b={"B": b"\x00\xff"})

    with Engine(path, fast=fast) as engine:
        create_tables(engine)
        item = engine.call("GetItem", {"TableName": "entities", "Key": key("p", "s")})["Item"]

    assert item == {**key("p", "s"), "b": {"B": b"\x00\xff"}}


def test_kill_loses_nothing_that_was_answered(path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(200)]
    writer.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in writer.communicate()[0].split()]

    with Engine(path) as engine:
        found = {partition: set(map(int, sorts(engine, partition))) for partition in ("single", "left", "right")}

    assert set(acknowledged) <= found["single"]
    assert set(acknowledged) <= found["left"]
    assert found["left"] == found["right"]


def test_second_owner_is_refused_and_told_who_is_there(path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    writer.stdout.readline()

    with pytest.raises(DataDirectoryLocked, match=f"process {writer.pid}") as caught:
        Engine(path)

    writer.kill()
    writer.communicate()
    assert caught.value.pid == writer.pid
    Engine(path).close()


def test_file_of_a_newer_version_is_not_touched(path: Path) -> None:
    Engine(path).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA user_version={DATA_FORMAT + 1}")

    for _ in range(2):
        with pytest.raises(NewerDataFormat, match=f"data format {DATA_FORMAT + 1}"):
            Engine(path)


def test_closed_engine_says_so(path: Path) -> None:
    engine = Engine(path)
    create_tables(engine)
    engine.close()
    engine.close()

    with pytest.raises(EngineClosed):
        put(engine, "s")
    with pytest.raises(EngineClosed):
        sorts(engine, "p")


def test_engine_in_memory_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with Engine.in_memory() as engine:
        create_tables(engine)
        assert list(tmp_path.iterdir())

    assert not list(tmp_path.iterdir())


def test_tables_are_those_of_the_definitions(path: Path) -> None:
    with Engine(path) as engine:
        create_tables(engine, "stage-{}".format)

        assert engine.call("ListTables", {})["TableNames"] == sorted(f"stage-{table.name}" for table in TABLES)
        for table in TABLES:
            described = engine.call("DescribeTable", {"TableName": f"stage-{table.name}"})["Table"]
            assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == [
                index.name for index in table.indexes
            ]
            assert ("LatestStreamArn" in described) == table.stream


def test_index_added_by_a_new_version_is_filled(path: Path) -> None:
    with Engine(path) as engine:
        definitions.ensure_table(engine.database, replace(ENTITIES, indexes=()), "entities")
        put(engine, "s", gsi1pk={"S": "g"}, gsi1sk={"S": "1"}, expires_at=number(1))

    with Engine(path) as engine:
        create_tables(engine)
        answer = engine.call(
            "Query",
            {
                "TableName": "entities",
                "IndexName": "gsi1",
                "KeyConditionExpression": "gsi1pk = :g",
                "ExpressionAttributeValues": {":g": {"S": "g"}},
            },
        )

    assert [item["sk"]["S"] for item in answer["Items"]] == ["s"]


def test_definition_with_other_keys_is_refused(path: Path) -> None:
    with Engine(path) as engine:
        create_tables(engine)

        with pytest.raises(DynamoError, match="other keys"):
            definitions.ensure_table(engine.database, replace(ENTITIES, sort_key_type="N"), "entities")
        with pytest.raises(DynamoError, match="other keys"):
            definitions.ensure_table(engine.database, replace(ENTITIES, partition_key="id"), "entities")


def test_indexes_keep_their_entries_when_one_is_added(path: Path) -> None:
    more = (*ENTITIES.indexes, Index("gsi9", "gsi9pk", "gsi9sk"))
    with Engine(path) as engine:
        create_tables(engine)
        put(engine, "s", gsi9pk={"S": "g"}, gsi9sk={"S": "1"}, gsi1pk={"S": "g"}, gsi1sk={"S": "1"})
        definitions.ensure_table(engine.database, replace(ENTITIES, indexes=more), "entities")

        for index in ("gsi1", "gsi9"):
            answer = engine.call(
                "Query",
                {
                    "TableName": "entities",
                    "IndexName": index,
                    "KeyConditionExpression": f"{index}pk = :g",
                    "ExpressionAttributeValues": {":g": {"S": "g"}},
                },
            )
            assert answer["Count"] == 1
