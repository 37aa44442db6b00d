"""Operations on many items that are not transactions: BatchGetItem, BatchWriteItem."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.local.dynamodb import rows
from infra.local.dynamodb.database import Answer, Database, Request
from infra.local.dynamodb.errors import invalid
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.projections import Projection
from infra.local.dynamodb.keys import RowKey
from infra.local.dynamodb.requests import NAMES, expect_members, projection
from infra.local.dynamodb.schema import TableSchema
from infra.local.dynamodb.single import BODY
from infra.local.dynamodb.values import checked_item
from infra.local.dynamodb.wire import loaded
from infra.local.dynamodb.writes import Change, prepared

MAX_KEYS: Final = 100
MAX_WRITES: Final = 25
_MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
_MAX_REQUEST_BYTES: Final = 16 * 1024 * 1024
_READ: Final = NAMES | {"Keys", "ConsistentRead", "ProjectionExpression"}


@dataclass(frozen=True)
class _Wanted:
    """One item of a BatchGetItem."""

    name: str
    table: TableSchema
    key: RowKey
    attributes: Mapping[str, Any]
    cut: Projection | None


def batch_get_item(database: Database, request: Request) -> Answer:
    """BatchGetItem: what does not fit into 16 MB comes back as UnprocessedKeys."""
    expect_members(request, frozenset({"RequestItems"}))
    asked = request["RequestItems"]
    wanted = [one for name, part in asked.items() for one in _wanted(database, name, part)]
    if not 1 <= len(wanted) <= MAX_KEYS:
        raise invalid("Too many items requested for the BatchGetItem call" if wanted else _empty("keys"))
    _expect_distinct((one.table, one.key) for one in wanted)
    responses: dict[str, list[Any]] = {name: [] for name in asked}
    left: dict[str, list[Any]] = {}
    total = 0
    with database.storage.reading() as connection:
        for one in wanted:
            row = connection.execute(BODY, (one.table.number, *one.key)).fetchone()
            total += row[1] if row else 0
            if total > _MAX_ANSWER_BYTES:
                left.setdefault(one.name, []).append(one.attributes)
            elif row:
                item = loaded(row[0])
                responses[one.name].append(one.cut(item) if one.cut else item)
    database.counters.add(read=len(wanted) - sum(map(len, left.values())))
    unprocessed = {name: {**asked[name], "Keys": keys} for name, keys in left.items()}
    return {"Responses": responses, "UnprocessedKeys": unprocessed}


def _wanted(database: Database, name: str, part: Request) -> Iterator[_Wanted]:
    expect_members(part, _READ)
    table = database.table(name)
    given = Placeholders(part, ("ProjectionExpression",))
    cut = projection(part, given)
    given.expect_all_used()
    for attributes in part["Keys"]:
        yield _Wanted(name, table, table.key_of_request(checked_item(attributes)), attributes, cut)


def batch_write_item(database: Database, request: Request) -> Answer:
    """BatchWriteItem. Every part is validated before the first one is written."""
    expect_members(request, frozenset({"RequestItems"}))
    changes = [_change(database, name, part) for name, parts in request["RequestItems"].items() for part in parts]
    if not 1 <= len(changes) <= MAX_WRITES:
        raise invalid("Too many items requested for the BatchWriteItem call" if changes else _empty("requestItems"))
    _expect_distinct((change.table, change.key) for change in changes)
    images = [change.outcome(None) for change in changes]
    if sum(image.size for image in images if image) > _MAX_REQUEST_BYTES:
        raise invalid("The request is larger than 16 MB.")
    with database.storage.writing() as connection:
        journal = database.journal()
        for change, image in zip(changes, images, strict=True):
            rows.replace(connection, change.key, rows.read(connection, change.table, change.key), image, journal)
    database.announce_records(*(change.table for change in changes))
    database.counters.add(written=len(changes))
    return {"UnprocessedItems": {}}


def _change(database: Database, name: str, part: Request) -> Change:
    if len(part) != 1 or not part.keys() <= {"PutRequest", "DeleteRequest"}:
        raise invalid("Supplied WriteRequest must hold exactly one of PutRequest and DeleteRequest")
    ((kind, body),) = part.items()
    expect_members(body, frozenset({"Item"} if kind == "PutRequest" else {"Key"}))
    return prepared(kind.removesuffix("Request"), database, {"TableName": name, **body})


def _expect_distinct(places: Iterator[tuple[TableSchema, RowKey]]) -> None:
    listed = [(table.number, key) for table, key in places]
    if len(set(listed)) < len(listed):
        raise invalid("Provided list of item keys contains duplicates")


def _empty(member: str) -> str:
    return f"1 validation error detected: Value at '{member}' failed to satisfy constraint: Member must not be empty"
