"""What the operations work on: the data file, the tables in it, the counters and the weather."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agentkeep import clock
from infra.local.dynamodb.counters import Counters
from infra.local.dynamodb.errors import DynamoError
from infra.local.dynamodb.rows import Journal, enter_all
from infra.local.dynamodb.schema import TableSchema
from infra.local.dynamodb.storage import Storage
from infra.local.weather import CALM, Weather

Request = Mapping[str, Any]
Answer = dict[str, Any]

_ARN_PREFIX: Final = "arn:"


class Database:
    """The open tables. `weather` may be changed at any time."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.counters = Counters()
        self.weather: Weather = CALM
        self.stream_commits = 0
        self.stream_written = threading.Condition()
        with storage.reading() as connection:
            texts = connection.execute("SELECT schema FROM tables").fetchall()
        self.tables = {table.name: table for table in (TableSchema.from_text(text) for (text,) in texts)}

    def table(self, name: str) -> TableSchema:
        """The table with this name or ARN. Raises ResourceNotFoundException."""
        name = name.rpartition("/")[2] if name.startswith(_ARN_PREFIX) else name
        if name not in self.tables:
            raise DynamoError("ResourceNotFoundException", f"Requested resource not found: Table: {name} not found")
        return self.tables[name]

    def journal(self, *, service: bool = False) -> Journal:
        """What is noted beside a change that is made now."""
        return Journal(clock.epoch_ms(), self.weather.index_history_ms, service)

    def add_table(self, request: Request, *, tenant: bool) -> TableSchema:
        """Makes a table. Raises ResourceInUseException when there is one with this name."""
        with self.storage.writing() as connection:
            if request["TableName"] in self.tables:
                raise DynamoError("ResourceInUseException", f"Table already exists: {request['TableName']}")
            (number,) = connection.execute("SELECT 1 + coalesce(max(number), 0) FROM tables").fetchone()
            table = TableSchema.from_request(request, number=number, tenant=tenant, created_ms=clock.epoch_ms())
            connection.execute("INSERT INTO tables VALUES(?,?,?)", (number, table.name, table.to_text()))
            self.tables[table.name] = table
        return table

    def set_ttl(self, table: TableSchema, attribute: str | None) -> None:
        """Lets items go by an attribute, or by none. Items already there are judged by it as well."""
        self.redefine(table, replace(table, ttl=attribute))

    def redefine(self, old: TableSchema, new: TableSchema) -> None:
        """Gives a table another definition with the same keys; indexes and expiry are worked out from its items."""
        with self.storage.writing() as connection:
            connection.execute("UPDATE tables SET schema=? WHERE number=?", (new.to_text(), old.number))
            enter_all(connection, new)
            self.tables[new.name] = new

    def drop_table(self, table: TableSchema) -> None:
        """Takes a table away with everything in it."""
        with self.storage.writing() as connection:
            for rows in ("items", "entries", "stream", "checkpoints"):
                connection.execute(f"DELETE FROM {rows} WHERE tab=?", (table.number,))
            connection.execute("DELETE FROM tables WHERE number=?", (table.number,))
            del self.tables[table.name]

    def announce_records(self, *written: TableSchema) -> None:
        """Wakes who waits for stream records, after a commit."""
        if any(table.stream for table in written):
            with self.stream_written:
                self.stream_commits += 1
                self.stream_written.notify_all()
