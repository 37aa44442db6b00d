"""Time to live: what has expired is deleted by the service, later than it expired, as a change in the stream."""

from typing import Final

from agentkeep import clock
from infra.local.dynamodb import rows
from infra.local.dynamodb.database import Database
from infra.local.dynamodb.keys import RowKey
from infra.local.dynamodb.schema import TableSchema

_AT_ONCE: Final = 100
_OLDEST_SECONDS: Final = 5 * 365 * 24 * 3600
_EXPIRED: Final = "SELECT pk, sk FROM items WHERE tab=? AND expires BETWEEN ? AND ? LIMIT ?"


def sweep(database: Database) -> int:
    """Deletes expired items of all tables; returns how many.

    Like DynamoDB it leaves items alone that expired more than five years ago ("Time to Live", developer guide).
    """
    return sum(_sweep_table(database, table) for table in list(database.tables.values()) if table.ttl)


def _sweep_table(database: Database, table: TableSchema) -> int:
    total = 0
    while deleted := _sweep_some(database, table):
        total += deleted
    return total


def _sweep_some(database: Database, table: TableSchema) -> int:
    now = clock.epoch_ms() // 1000
    deleted = 0
    with database.storage.writing() as connection:
        journal = database.journal(service=True)
        expired = connection.execute(_EXPIRED, (table.number, now - _OLDEST_SECONDS, now - 1, _AT_ONCE)).fetchall()
        for key in map(RowKey._make, expired):
            if not database.weather.forgets_expired():
                rows.replace(connection, key, rows.read(connection, table, key), None, journal)
                deleted += 1
    database.announce_records(table)
    return deleted
