"""TransactWriteItems and TransactGetItems: all or nothing, isolated, and idempotent by ClientRequestToken."""

import hashlib
import sqlite3
from typing import Any, Final

from infra.local.dynamodb import rows
from infra.local.dynamodb.database import Answer, Database, Request
from infra.local.dynamodb.errors import DynamoError, invalid
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.projections import Projection
from infra.local.dynamodb.keys import RowKey
from infra.local.dynamodb.requests import NAMES, expect_members, projection, transaction_canceled
from infra.local.dynamodb.rows import Image
from infra.local.dynamodb.single import BODY
from infra.local.dynamodb.values import checked_item, checked_text
from infra.local.dynamodb.wire import dumped, loaded
from infra.local.dynamodb.writes import PREPARED, Change, prepared

MAX_ITEMS: Final = 100
MAX_BYTES: Final = 4 * 1024 * 1024
TOKEN_MINUTES: Final = 10
_MAX_TOKEN: Final = 36
_GET: Final = NAMES | {"TableName", "Key", "ProjectionExpression"}
_Pair = tuple[Image | None, Image | None]


def transact_write_items(database: Database, request: Request) -> Answer:
    """TransactWriteItems. Raises TransactionCanceledException with one reason per item when a condition fails."""
    expect_members(request, frozenset({"TransactItems", "ClientRequestToken"}))
    items = request["TransactItems"]
    _expect_count(items)
    changes = [_change(database, item) for item in items]
    if len({(change.table.number, change.key) for change in changes}) < len(changes):
        raise invalid("Transaction request cannot include multiple operations on one item")
    token = _token(request)
    with database.storage.writing() as connection:
        journal = database.journal()
        if token and _already_done(connection, token, _digest(items), journal.now_ms):
            return {}
        pairs = _tried(connection, changes)
        for change, (old, new) in zip(changes, pairs, strict=True):
            rows.replace(connection, change.key, old, new, journal)
    database.announce_records(*(change.table for change in changes))
    written = sum(change.writes for change in changes)
    database.counters.add(written=written, read=len(changes) - written)
    return {}


def _expect_count(items: list[Any]) -> None:
    if not 1 <= len(items) <= MAX_ITEMS:
        bound = f"less than or equal to {MAX_ITEMS}" if items else "greater than or equal to 1"
        raise invalid(
            "1 validation error detected: Value at 'transactItems' failed to satisfy constraint:"
            f" Member must have length {bound}"
        )


def _change(database: Database, item: Request) -> Change:
    if len(item) != 1 or not item.keys() <= PREPARED.keys():
        raise invalid("TransactItems can only contain one of Check, Put, Update or Delete")
    ((kind, body),) = item.items()
    return prepared(kind, database, body)


def _token(request: Request) -> str | None:
    token: str | None = request.get("ClientRequestToken")
    if token is not None and not 1 <= len(token) <= _MAX_TOKEN:
        raise invalid(
            f"1 validation error detected: Value '{token}' at 'clientRequestToken' failed to satisfy constraint:"
            f" Member must have length between 1 and {_MAX_TOKEN}"
        )
    return None if token is None else checked_text(token)


def _digest(items: list[Any]) -> bytes:
    return hashlib.sha256(dumped(items, sort_keys=True).encode()).digest()


def _already_done(connection: sqlite3.Connection, token: str, digest: bytes, now_ms: int) -> bool:
    oldest = now_ms - TOKEN_MINUTES * 60_000
    row = connection.execute("SELECT digest FROM tokens WHERE token=? AND at>?", (token, oldest)).fetchone()
    if row and row[0] != digest:
        raise DynamoError(
            "IdempotentParameterMismatchException",
            "The request uses the same client token as a previous, but non-identical request.",
        )
    if row is None:
        connection.execute("DELETE FROM tokens WHERE at<=?", (oldest,))
        connection.execute("INSERT INTO tokens VALUES(?,?,?)", (token, digest, now_ms))
    return row is not None


def _tried(connection: sqlite3.Connection, changes: list[Change]) -> list[_Pair]:
    pairs: list[_Pair] = []
    reasons: list[dict[str, Any]] = []
    for change in changes:
        pair, reason = _one_tried(connection, change)
        pairs.append(pair)
        reasons.append(reason)
    if any(reason["Code"] != "None" for reason in reasons):
        raise transaction_canceled(reasons)
    if sum(max(image.size if image else 0 for image in pair) for pair in pairs) > MAX_BYTES:
        raise invalid("The items of the transaction are larger than 4 MB together.")
    return pairs


def _one_tried(connection: sqlite3.Connection, change: Change) -> tuple[_Pair, dict[str, Any]]:
    old = rows.read(connection, change.table, change.key)
    try:
        change.expect_condition(old)
    except DynamoError as error:
        return (old, old), {"Code": "ConditionalCheckFailed", "Message": error.message, **error.members}
    try:
        return (old, change.outcome(old)), {"Code": "None"}
    except DynamoError as error:
        return (old, old), {"Code": "ValidationError", "Message": error.message}


def transact_get_items(database: Database, request: Request) -> Answer:
    """TransactGetItems: all items as they were at one moment."""
    expect_members(request, frozenset({"TransactItems"}))
    items = request["TransactItems"]
    _expect_count(items)
    wanted = [_wanted(database, item) for item in items]
    if len({(place, key) for place, key, _ in wanted}) < len(wanted):
        raise invalid("Transaction request cannot include multiple operations on one item")
    with database.storage.reading() as connection:
        found = [connection.execute(BODY, (place, *key)).fetchone() for place, key, _ in wanted]
    if sum(row[1] for row in found if row) > MAX_BYTES:
        raise invalid("The items of the transaction are larger than 4 MB together.")
    database.counters.add(read=len(wanted))
    return {"Responses": [_response(row, cut) for row, (_, _, cut) in zip(found, wanted, strict=True)]}


def _wanted(database: Database, item: Request) -> tuple[int, RowKey, Projection | None]:
    if item.keys() != {"Get"}:
        raise invalid("TransactItems can only contain Get")
    request = item["Get"]
    expect_members(request, _GET)
    table = database.table(request["TableName"])
    given = Placeholders(request, ("ProjectionExpression",))
    cut = projection(request, given)
    given.expect_all_used()
    return table.number, table.key_of_request(checked_item(request["Key"])), cut


def _response(row: tuple[str, int] | None, cut: Projection | None) -> Answer:
    if row is None:
        return {}
    item = loaded(row[0])
    return {"Item": cut(item) if cut else item}
