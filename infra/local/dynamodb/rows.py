"""Items in the data file: an item's row, its places in the indexes, and the record of its change in the stream."""

import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Self

from infra.local.dynamodb.keys import RowKey
from infra.local.dynamodb.schema import IndexEntry, TableSchema
from infra.local.dynamodb.values import Item, item_size
from infra.local.dynamodb.wire import dumped, loaded

_NEVER: Final = 2**62
_DELETE: Final = "DELETE FROM items WHERE tab=? AND pk=? AND sk=?"
_PUT: Final = (
    "INSERT INTO items(tab, pk, sk, body, size, expires) VALUES(?,?,?,?,?,?) ON CONFLICT(tab, pk, sk)"
    " DO UPDATE SET body=excluded.body, size=excluded.size, expires=excluded.expires"
)
_ENTER: Final = "INSERT OR REPLACE INTO entries(tab, idx, ipk, isk, pk, sk, born, body) VALUES(?,?,?,?,?,?,?,?)"
_ONE_ENTRY: Final = "tab=? AND idx=? AND ipk=? AND isk=? AND pk=? AND sk=? AND died IS NULL"
_RECORD: Final = "INSERT INTO stream(tab, at, event, keys, old, new, size, service) VALUES(?,?,?,?,?,?,?,?)"


@dataclass(frozen=True)
class Image:
    """An item at one moment: attributes, JSON, size in bytes by DynamoDB's rule, places in indexes by their number."""

    table: TableSchema
    item: Item
    text: str
    size: int
    entries: dict[int, IndexEntry]

    @classmethod
    def of(cls, table: TableSchema, item: Item) -> Self:
        """The image of a canonical item. Raises ValidationException for index keys that are not fit."""
        table.expect_index_keys(item)
        return cls(table, item, dumped(item), item_size(item), table.index_entries(item))

    @property
    def expires(self) -> int | None:
        """When its TTL attribute says that it may go, in seconds since 1970."""
        value = self.item.get(self.table.ttl) if self.table.ttl else None
        return min(int(Decimal(value["N"])), _NEVER) if value and "N" in value else None


def read(connection: sqlite3.Connection, table: TableSchema, key: RowKey) -> Image | None:
    """The item stored under `key`."""
    row = connection.execute(
        "SELECT body, size FROM items WHERE tab=? AND pk=? AND sk=?", (table.number, *key)
    ).fetchone()
    return _stored(table, *row) if row else None


def _stored(table: TableSchema, body: str, size: int) -> Image:
    item = loaded(body)
    return Image(table, item, body, size, table.index_entries(item))


@dataclass(frozen=True)
class Journal:
    """When a change happens and who makes it. `history_ms` is how long left places in an index are kept."""

    now_ms: int
    history_ms: int = 0
    service: bool = False


def replace(
    connection: sqlite3.Connection, key: RowKey, old: Image | None, new: Image | None, journal: Journal
) -> None:
    """Puts `new` in the place of `old` (None: nothing there), with index entries and stream record."""
    image = new or old
    if image is None or (old and new and old.item == new.item):
        return
    table = image.table
    if new is None:
        connection.execute(_DELETE, (table.number, *key))
    else:
        connection.execute(_PUT, (table.number, *key, new.text, new.size, new.expires))
    _move_entries(connection, key, old, new, journal)
    if table.stream:
        _record(connection, old, new, image, journal)


def _move_entries(
    connection: sqlite3.Connection, key: RowKey, old: Image | None, new: Image | None, journal: Journal
) -> None:
    before, after = old.entries if old else {}, new.entries if new else {}
    if before == after:
        return
    table = (new or old).table  # type: ignore[union-attr]
    for number, entry in before.items():
        if after.get(number) != entry:
            _leave(connection, (table.number, number, *entry.key, *key), journal)
    for number, entry in after.items():
        if before.get(number) != entry:
            body = dumped(entry.attributes)
            connection.execute(_ENTER, (table.number, number, *entry.key, *key, journal.now_ms, body))
    if journal.history_ms:
        connection.execute("DELETE FROM entries WHERE died < ?", (journal.now_ms - journal.history_ms,))


def _leave(connection: sqlite3.Connection, place: tuple[int | bytes, ...], journal: Journal) -> None:
    if journal.history_ms:
        connection.execute(f"UPDATE entries SET died=? WHERE {_ONE_ENTRY}", (journal.now_ms, *place))
    else:
        connection.execute(f"DELETE FROM entries WHERE {_ONE_ENTRY}", place)


def _record(
    connection: sqlite3.Connection, old: Image | None, new: Image | None, image: Image, journal: Journal
) -> None:
    event = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
    keys = dumped({attribute.name: image.item[attribute.name] for attribute in image.table.keys.attributes})
    size = len(keys) + (old.size if old else 0) + (new.size if new else 0)
    texts = (old.text if old else None, new.text if new else None)
    row = (image.table.number, journal.now_ms, event, keys, *texts, size, journal.service)
    connection.execute(_RECORD, row)


def enter_all(connection: sqlite3.Connection, table: TableSchema) -> None:
    """Works out indexes and expiry of every item anew, after the table's indexes or TTL attribute have changed."""
    connection.execute("DELETE FROM entries WHERE tab=?", (table.number,))
    found = connection.execute("SELECT pk, sk, body, size FROM items WHERE tab=?", (table.number,)).fetchall()
    for pk, sk, body, size in found:
        image = _stored(table, body, size)
        connection.execute(_PUT, (table.number, pk, sk, body, size, image.expires))
        _move_entries(connection, RowKey(pk, sk), None, image, Journal(now_ms=0))
