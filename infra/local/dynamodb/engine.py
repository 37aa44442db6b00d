"""The DynamoDB of one machine: the operations that AgentKeep uses, exact and durable, on one SQLite file.

    with Engine(Path(".agentkeep/store.sqlite3")) as engine:
        create_tables(engine)
        uninstall = install(engine, session)   # infra.local.dynamodb.hook

Operator code (tests, migrations) calls the engine itself; what the functions call goes through the door, which holds
it against the tenant policy and lets the weather in.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from infra.local.dynamodb import batches, definitions, expiry, query, single, streams, transactions
from infra.local.dynamodb.counters import Counters
from infra.local.dynamodb.database import Answer, Database, Request
from infra.local.dynamodb.errors import DynamoError, UnreadableData
from infra.local.dynamodb.storage import Storage
from infra.local.dynamodb.streams import Handler
from infra.local.weather import FaultPlan, Weather
from infra.tables import TABLES

OPERATIONS: Final[Mapping[str, Callable[[Database, Request], Answer]]] = {
    "BatchGetItem": batches.batch_get_item,
    "BatchWriteItem": batches.batch_write_item,
    "CreateTable": definitions.create_table,
    "DeleteItem": single.delete_item,
    "DeleteTable": definitions.delete_table,
    "DescribeStream": streams.describe_stream,
    "DescribeTable": definitions.describe_table,
    "DescribeTimeToLive": definitions.describe_time_to_live,
    "GetItem": single.get_item,
    "GetRecords": streams.get_records,
    "GetShardIterator": streams.get_shard_iterator,
    "ListStreams": streams.list_streams,
    "ListTables": definitions.list_tables,
    "PutItem": single.put_item,
    "Query": query.query,
    "Scan": query.scan,
    "TransactGetItems": transactions.transact_get_items,
    "TransactWriteItems": transactions.transact_write_items,
    "UpdateItem": single.update_item,
    "UpdateTimeToLive": definitions.update_time_to_live,
}


_log: Final = logging.getLogger(__name__)


class Engine:
    """An open data file, safe to use from any number of threads of one process.

    `counters` counts what callers ask for. `faults`, when set, breaks a chosen write that comes through a door.
    """

    def __init__(self, path: Path, *, fast: bool = False) -> None:
        """Opens the file, or creates it. `fast` may lose the newest writes at a power loss, never at a crash.

        Raises DataDirectoryLocked while another process has it open, NewerDataFormat when a newer version wrote it,
        UnreadableData for a file that is damaged or not to be had.
        """
        self._open(Storage(path, "NORMAL" if fast else "FULL"))

    @classmethod
    def in_memory(cls) -> Self:
        """An empty engine that keeps nothing beyond its life: a temporary file, never synced, as safe under threads."""
        engine = cls.__new__(cls)
        engine._open(Storage.temporary())
        return engine

    def _open(self, storage: Storage) -> None:
        try:
            self.database = Database(storage)
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                storage.close()
            raise UnreadableData(storage.path, str(error)) from error
        self.faults: FaultPlan | None = None

    def call(self, operation: str, request: Request) -> Answer:
        """Carries out an operation by its AWS name, with the parameters and the answer of the low-level client.

        Raises DynamoError with DynamoDB's error code; UnknownOperationException for what is not in OPERATIONS.
        """
        if operation not in OPERATIONS:
            raise DynamoError(
                "UnknownOperationException", f"The local DynamoDB engine does not support the operation {operation}."
            )
        self.counters.add(call=operation)
        with _data_file_errors():
            return OPERATIONS[operation](self.database, request)

    @property
    def counters(self) -> Counters:
        """Counts of calls and items since the last reset."""
        return self.database.counters

    @property
    def weather(self) -> Weather:
        """What happens to calls through a door, to index queries, streams and expiry. Calm unless set."""
        return self.database.weather

    @weather.setter
    def weather(self, weather: Weather) -> None:
        self.database.weather = weather

    def deliver(self, handler: Handler, *, table: str, consumer: str, batch_size: int = 100) -> int:
        """Hands the next records of a table's stream to `handler` as a Lambda event; returns how many, 0 for none.

        How far each `consumer` got is kept in the data file, from the first record there is on its first call. Calls
        for one consumer must not overlap. An exception of the handler passes, and the same records come again; an
        answer with `batchItemFailures` brings back the records from the first of these on.
        """
        with _data_file_errors():
            return streams.deliver(self.database, self.database.table(table), consumer, handler, batch_size)

    @property
    def stream_commits(self) -> int:
        """How many commits to tables with a stream there were since the engine was opened."""
        return self.database.stream_commits

    def wait_for_records(self, seen: int, timeout_seconds: float) -> bool:
        """Waits until there are more stream commits than `seen`; False when the time is over before.

        A consumer that takes `stream_commits` before it delivers misses nothing in between.
        """
        with self.database.stream_written:
            return self.database.stream_written.wait_for(lambda: self.stream_commits > seen, timeout_seconds)

    def sweep(self) -> int:
        """Deletes what has expired, and stream records that are of no use any more; returns the items deleted."""
        with _data_file_errors():
            deleted = expiry.sweep(self.database)
            streams.trim(self.database)
        return deleted

    def close(self) -> None:
        """Waits for the write at work and lets go of the file. Closing twice is harmless."""
        self.database.storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@contextmanager
def _data_file_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        _log.exception("The data file cannot be used.")
        raise DynamoError("InternalServerError", f"The data file cannot be used: {error}", status=500) from error


def create_tables(engine: Engine, name: Callable[[str], str] = str) -> None:
    """Makes the tables of `infra.tables`, called `name(table.name)`, or updates indexes and TTL of those there.

    Raises DynamoError when a table that is there has other keys, UnreadableData for a damaged file.
    """
    try:
        for table in TABLES:
            definitions.ensure_table(engine.database, table, name(table.name))
    except sqlite3.Error as error:
        raise UnreadableData(engine.database.storage.path, str(error)) from error
