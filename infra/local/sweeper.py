"""Deletes what has expired, as DynamoDB's TTL does: some time after, and seen by nobody who reads."""

import logging
import threading
from types import TracebackType
from typing import Final

from infra.local.dynamodb.engine import Engine
from infra.local.dynamodb.errors import DynamoError, EngineClosed

_log: Final = logging.getLogger(__name__)
EVERY_SECONDS: Final = 300


class Sweeper:
    """A thread that sweeps from time to time, for the time of a `with` block."""

    def __init__(self, engine: Engine, every_seconds: float = EVERY_SECONDS) -> None:
        self._engine = engine
        self._every_seconds = every_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(self._every_seconds):
            try:
                self._engine.sweep()
            except EngineClosed:
                return
            except DynamoError:
                _log.exception("Expired items could not be deleted; the next sweep tries again.")
