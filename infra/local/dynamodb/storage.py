"""The data file: one SQLite database in WAL mode, one writer at a time, readers that never wait, one process."""

import fcntl
import os
import sqlite3
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, Self

from infra.local.dynamodb.errors import DataDirectoryLocked, EngineClosed, NewerDataFormat, UnreadableData

DATA_FORMAT: Final = 1
_BUSY_MS: Final = 10_000
_STATEMENTS_KEPT: Final = 256
_READERS_KEPT: Final = 16
_CLOSING_MS: Final = 500
_SCHEMA: Final = f"""
BEGIN;
CREATE TABLE tables(number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, schema TEXT NOT NULL);
CREATE TABLE items(
    tab INTEGER NOT NULL, pk BLOB NOT NULL, sk BLOB NOT NULL,
    body TEXT NOT NULL, size INTEGER NOT NULL, expires INTEGER, PRIMARY KEY (tab, pk, sk)
) WITHOUT ROWID;
CREATE INDEX items_by_expiry ON items(tab, expires) WHERE expires IS NOT NULL;
CREATE TABLE entries(
    tab INTEGER NOT NULL, idx INTEGER NOT NULL,
    ipk BLOB NOT NULL, isk BLOB NOT NULL, pk BLOB NOT NULL, sk BLOB NOT NULL,
    born INTEGER NOT NULL, died INTEGER, body TEXT NOT NULL, PRIMARY KEY (tab, idx, ipk, isk, pk, sk, born)
) WITHOUT ROWID;
CREATE INDEX entries_dead ON entries(died) WHERE died IS NOT NULL;
CREATE TABLE stream(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, tab INTEGER NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL,
    keys TEXT NOT NULL, old TEXT, new TEXT, size INTEGER NOT NULL, service INTEGER NOT NULL
);
CREATE INDEX stream_by_table ON stream(tab, seq);
CREATE TABLE checkpoints(
    consumer TEXT NOT NULL, tab INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (consumer, tab)
) WITHOUT ROWID;
CREATE TABLE tokens(token TEXT PRIMARY KEY, digest BLOB NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX tokens_by_age ON tokens(at);
PRAGMA user_version = {DATA_FORMAT};
COMMIT;
"""


class Storage:
    """An open data file. What `writing` commits survives the process; with FULL it survives a power loss as well."""

    def __init__(
        self, path: Path, synchronous: Literal["FULL", "NORMAL", "OFF"], after_close: Callable[[], None] | None = None
    ) -> None:
        """Opens the file, or creates it for its owner. Raises DataDirectoryLocked, NewerDataFormat, UnreadableData."""
        self.path = path
        self._synchronous = synchronous
        self._after_close = after_close
        self._lock = threading.Lock()
        self._readers: deque[sqlite3.Connection] = deque()
        self._closed = False
        try:
            self._hold = _Hold(path)
        except OSError as error:
            raise UnreadableData(path, error.strerror or str(error)) from error
        try:
            self._writer = self._opened()
        except (sqlite3.Error, OSError) as error:
            self._hold.release()
            raise UnreadableData(path, str(error)) from error
        except NewerDataFormat:
            self._hold.release()
            raise

    @classmethod
    def temporary(cls) -> Self:
        """A file in a directory of its own that vanishes when the storage is closed. Never synced."""
        directory = tempfile.TemporaryDirectory(prefix="dynamodb-", ignore_cleanup_errors=True)
        return cls(Path(directory.name) / "items.sqlite", "OFF", directory.cleanup)

    def _opened(self) -> sqlite3.Connection:
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        writer = self._connection()
        (found,) = writer.execute("PRAGMA user_version").fetchone()
        if found > DATA_FORMAT:
            writer.close()
            raise NewerDataFormat(self.path, found, DATA_FORMAT)
        writer.execute("PRAGMA journal_mode=WAL")
        if found == 0:
            writer.executescript(_SCHEMA)
        return writer

    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS_KEPT
        )
        connection.execute(f"PRAGMA synchronous={self._synchronous}")
        connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        return connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: committed at the end, undone when an exception leaves the block."""
        with self._lock:
            if self._closed:
                raise EngineClosed
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:  # whatever ends the block, the next writer finds no transaction open
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A snapshot of everything committed before the first statement inside."""
        connection = self._reader()
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.execute("COMMIT")
            self._give_back(connection)

    def _reader(self) -> sqlite3.Connection:
        if self._closed:
            raise EngineClosed
        try:
            return self._readers.pop()
        except IndexError:
            return self._connection()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if len(self._readers) < _READERS_KEPT:
            self._readers.append(connection)
        else:
            connection.close()
        if self._closed:
            self._close_readers()

    def _close_readers(self) -> None:
        while self._readers:
            self._readers.pop().close()

    def close(self) -> None:
        """Waits for the transaction at work, folds the log into the file and lets go of it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._close_readers()
            try:
                self._writer.execute(f"PRAGMA busy_timeout={_CLOSING_MS}")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self._writer.close()
                self._hold.release()
                if self._after_close:
                    self._after_close()


class _Hold:
    """The lock file beside the data file. The kernel drops the lock with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 20).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise DataDirectoryLocked(path, int(holder) if holder.isdigit() else None) from None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, str(os.getpid()).encode())

    def release(self) -> None:
        os.close(self._descriptor)
