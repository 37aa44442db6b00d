"""A table's stream: read through the streams API like in AWS, or delivered in process like a Lambda trigger does.

The stream has one shard. Records are kept for a day, and until every consumer has them: a laptop may sleep for longer.
"""

import json
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from agentkeep import clock
from infra.local.dynamodb.database import Answer, Database, Request
from infra.local.dynamodb.errors import DynamoError, invalid
from infra.local.dynamodb.requests import expect_members
from infra.local.dynamodb.schema import REGION, TableSchema
from infra.local.dynamodb.wire import loaded

Handler = Callable[[dict[str, Any]], Any]
"""Takes an event `{"Records": [...]}` as a Lambda function gets it; may answer with `batchItemFailures`."""

SHARD: Final = "shardId-00000000000000000000-00000001"
KEPT_MS: Final = 24 * 3600 * 1000
_MAX_RECORDS: Final = 1000
_VIEW: Final = "NEW_AND_OLD_IMAGES"
_SELECT: Final = (
    "SELECT seq, at, event, keys, old, new, size, service FROM stream WHERE tab=? AND seq>? ORDER BY seq LIMIT ?"
)
_log: Final = logging.getLogger(__name__)


class _Record(NamedTuple):
    seq: int
    at: int
    event: str
    keys: str
    old: str | None
    new: str | None
    size: int
    service: int

    def shown(self, stream_arn: str, load: Callable[[str], Any], moment: Callable[[float], Any]) -> Answer:
        images = {"OldImage": self.old, "NewImage": self.new}
        change = {
            "ApproximateCreationDateTime": moment(self.at // 1000),
            "Keys": load(self.keys),
            **{name: load(image) for name, image in images.items() if image is not None},
            "SequenceNumber": _sequence(self.seq),
            "SizeBytes": self.size,
            "StreamViewType": _VIEW,
        }
        service = {"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}}
        return {
            "eventID": f"{self.seq:032x}",
            "eventName": self.event,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": REGION,
            "dynamodb": change,
            **(service if self.service else {}),
            "eventSourceARN": stream_arn,
        }


def stream_description(table: TableSchema) -> dict[str, str]:
    """The members of a table's description that name its stream."""
    return {"LatestStreamLabel": _label(table), "LatestStreamArn": _arn(table)} if table.stream else {}


def _label(table: TableSchema) -> str:
    return datetime.fromtimestamp(table.created_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def _arn(table: TableSchema) -> str:
    return f"{table.arn}/stream/{_label(table)}"


def _sequence(number: int) -> str:
    return f"{number:021d}"


def list_streams(database: Database, request: Request) -> Answer:
    """ListStreams, all on one page."""
    expect_members(request, frozenset({"TableName", "Limit"}))
    only = request.get("TableName")
    tables = [table for name, table in sorted(database.tables.items()) if table.stream and only in (None, name)]
    return {
        "Streams": [{"StreamArn": _arn(t), "TableName": t.name, "StreamLabel": _label(t)} for t in tables],
    }


def describe_stream(database: Database, request: Request) -> Answer:
    """DescribeStream."""
    expect_members(request, frozenset({"StreamArn", "Limit", "ExclusiveStartShardId"}))
    table = _table(database, request["StreamArn"])
    first = {"ShardId": SHARD, "SequenceNumberRange": {"StartingSequenceNumber": _sequence(1)}}
    description = {
        "StreamArn": _arn(table),
        "StreamLabel": _label(table),
        "StreamStatus": "ENABLED",
        "StreamViewType": _VIEW,
        "CreationRequestDateTime": datetime.fromtimestamp(table.created_ms / 1000, UTC),
        "TableName": table.name,
        "KeySchema": table.keys.wire(),
        "Shards": [] if request.get("ExclusiveStartShardId") == SHARD else [first],
    }
    return {"StreamDescription": description}


def get_shard_iterator(database: Database, request: Request) -> Answer:
    """GetShardIterator. The iterator is the stream's ARN and the last sequence number read."""
    expect_members(request, frozenset({"StreamArn", "ShardId", "ShardIteratorType", "SequenceNumber"}))
    table = _table(database, request["StreamArn"])
    given = int(request.get("SequenceNumber", 0))
    match request["ShardIteratorType"]:
        case "TRIM_HORIZON":
            position = 0
        case "LATEST":
            position = _last(database, table)
        case "AT_SEQUENCE_NUMBER":
            position = given - 1
        case "AFTER_SEQUENCE_NUMBER":
            position = given
        case other:
            raise invalid(f"1 validation error detected: Value '{other}' at 'shardIteratorType' is no iterator type")
    return {"ShardIterator": f"{_arn(table)}|{position}"}


def get_records(database: Database, request: Request) -> Answer:
    """GetRecords."""
    expect_members(request, frozenset({"ShardIterator", "Limit"}))
    stream_arn, _, position = request["ShardIterator"].rpartition("|")
    table = _table(database, stream_arn)
    records = list(_after(database, table, int(position), request.get("Limit", _MAX_RECORDS)))
    shown = [record.shown(stream_arn, loaded, lambda second: datetime.fromtimestamp(second, UTC)) for record in records]
    for record in shown:
        del record["eventSourceARN"]
    return {"Records": shown, "NextShardIterator": f"{stream_arn}|{records[-1].seq if records else position}"}


def stream_table(database: Database, request: Request) -> TableSchema:
    """The table whose stream a request of the streams API reads."""
    return _table(database, request.get("StreamArn") or str(request["ShardIterator"]).rpartition("|")[0])


def _table(database: Database, stream_arn: str) -> TableSchema:
    for table in database.tables.values():
        if table.stream and _arn(table) == stream_arn:
            return table
    raise DynamoError("ResourceNotFoundException", f"Requested resource not found: Stream: {stream_arn} not found")


def _last(database: Database, table: TableSchema) -> int:
    with database.storage.reading() as connection:
        (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM stream WHERE tab=?", (table.number,)).fetchone()
    return int(last)


def _after(database: Database, table: TableSchema, position: int, limit: int) -> Iterator[_Record]:
    with database.storage.reading() as connection:
        found = connection.execute(_SELECT, (table.number, position, limit)).fetchall()
    return map(_Record._make, found)


def deliver(database: Database, table: TableSchema, consumer: str, handler: Handler, batch_size: int) -> int:
    """Hands the next batch of a consumer to its handler and notes how far it got; returns the records handed over.

    An exception of the handler leaves the consumer where it was, and passes: the caller decides when to try again.
    """
    position = _checkpoint(database, table, consumer)
    records = list(_after(database, table, position, batch_size))
    held_back_after = clock.epoch_ms() - database.weather.record_delay_ms()
    records = [record for record in records if record.at <= held_back_after]
    if not records:
        return 0
    answer = handler({"Records": [record.shown(_arn(table), json.loads, float) for record in records]})
    done = _done(records, answer)
    if database.weather.repeats_records():
        _log.info("The stream of %s hands %d records to %s again.", table.name, len(records), consumer)
    elif done > position:
        _advance(database, table, consumer, done)
    return len(records)


def _done(records: list[_Record], answer: Any) -> int:
    failures = answer.get("batchItemFailures") if isinstance(answer, dict) else None
    if not failures:
        return records[-1].seq
    return min(int(failure["itemIdentifier"]) for failure in failures) - 1


def _checkpoint(database: Database, table: TableSchema, consumer: str) -> int:
    with database.storage.reading() as connection:
        row = connection.execute(
            "SELECT seq FROM checkpoints WHERE consumer=? AND tab=?", (consumer, table.number)
        ).fetchone()
    if row is None:
        _advance(database, table, consumer, 0)
    return row[0] if row else 0


def _advance(database: Database, table: TableSchema, consumer: str, position: int) -> None:
    with database.storage.writing() as connection:
        connection.execute("INSERT OR REPLACE INTO checkpoints VALUES(?,?,?)", (consumer, table.number, position))


def trim(database: Database) -> None:
    """Lets go of records older than a day that every consumer of their table has."""
    with database.storage.writing() as connection:
        connection.execute(
            "DELETE FROM stream WHERE at<? AND seq<=coalesce("
            "(SELECT min(seq) FROM checkpoints WHERE checkpoints.tab=stream.tab), seq)",
            (clock.epoch_ms() - KEPT_MS,),
        )
