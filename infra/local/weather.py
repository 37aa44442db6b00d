"""The weather of the cloud, on purpose and repeatable: what AWS may do to a caller and a laptop never does by itself.

A `Weather` is seeded; each kind has a rate between 0 and 1 and can be switched on alone. A `FaultPlan` is sharper: it
breaks one chosen write, for crash injection. Both are consulted by the door of the DynamoDB engine.
"""

import os
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, Self

from botocore.exceptions import BotoCoreError, ConnectionClosedError, ReadTimeoutError

from agentkeep import clock
from infra.local.dynamodb.errors import DynamoError
from infra.local.dynamodb.requests import transaction_canceled

Request = Mapping[str, Any]
Moment = Literal["before", "after"]

TRANSACTIONS: Final = frozenset({"TransactWriteItems", "TransactGetItems"})
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_BATCHES: Final = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}
_PAGED: Final = frozenset({"Query", "Scan"})
_SHORT_PAGE: Final = 10


@dataclass(frozen=True)
class Rates:
    """How often each kind of weather happens, from 0 (never) to 1 (always)."""

    index_lag: float = 0.0
    """Queries of an index that see it as it was `index_lag_ms` ago."""
    conflicts: float = 0.0
    """Transactions cancelled, and writes refused, because another transaction holds an item."""
    throttling: float = 0.0
    """Requests refused for their number."""
    unprocessed: float = 0.0
    """Batches of which a part comes back undone."""
    short_pages: float = 0.0
    """Pages that end before their Limit, with a LastEvaluatedKey."""
    lost_answers: float = 0.0
    """Operations that were carried out, and whose answer does not arrive."""
    duplicate_records: float = 0.0
    """Batches of stream records that are delivered again."""
    late_records: float = 0.0
    """Moments at which stream records younger than `late_records_ms` are held back."""
    late_expiry: float = 0.0
    """Expired items that a sweep leaves for a later one."""


class Weather:
    """Decides, from one seeded generator, what happens to each call. Safe under threads."""

    def __init__(
        self,
        seed: int,
        rates: Rates,
        *,
        index_lag_ms: int = 200,
        late_records_ms: int = 500,
        attempts_pause_ms: int = 2,
    ) -> None:
        self.rates = rates
        self.pause_seconds = attempts_pause_ms / 1000
        self._index_lag_ms = index_lag_ms
        self._late_records_ms = late_records_ms
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    @classmethod
    def storm(cls, seed: int, rate: float = 0.1, **settings: int) -> Self:
        """Every kind of weather at one rate."""
        return cls(seed, Rates(**{kind.name: rate for kind in fields(Rates)}), **settings)

    @classmethod
    def only(cls, kind: str, seed: int, rate: float = 0.5, **settings: int) -> Self:
        """One kind of weather alone, by its name in `Rates`."""
        return cls(seed, replace(Rates(), **{kind: rate}), **settings)

    def _happens(self, rate: float) -> bool:
        if rate <= 0:
            return False
        with self._lock:
            return self._random.random() < rate

    def _number(self, low: int, high: int) -> int:
        with self._lock:
            return self._random.randint(low, high)

    def refusal(self, operation: str, request: Request) -> DynamoError | None:
        """The error a call is answered with instead of being carried out."""
        if self._happens(self.rates.throttling):
            return self._throttled(operation, request)
        if operation in WRITES | TRANSACTIONS and self._happens(self.rates.conflicts):
            return self._conflict(operation, request)
        return None

    def _throttled(self, operation: str, request: Request) -> DynamoError:
        if self._number(0, 1):
            return DynamoError("ThrottlingException", "Rate of requests exceeds the allowed throughput.")
        if operation in TRANSACTIONS and self._number(0, 1):
            return self._canceled(request, "ProvisionedThroughputExceeded", "The level of throughput was exceeded.")
        return DynamoError(
            "ProvisionedThroughputExceededException",
            "The level of configured provisioned throughput for the table was exceeded.",
        )

    def _conflict(self, operation: str, request: Request) -> DynamoError | None:
        message = "Transaction is ongoing for the item"
        if operation in TRANSACTIONS:
            return self._canceled(request, "TransactionConflict", message)
        return DynamoError("TransactionConflictException", message) if operation != "BatchWriteItem" else None

    def _canceled(self, request: Request, code: str, message: str) -> DynamoError:
        reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in request["TransactItems"]]
        reasons[self._number(0, len(reasons) - 1)] = {"Code": code, "Message": message}
        return transaction_canceled(reasons)

    def asked(self, operation: str, request: Request) -> tuple[Request, Request]:
        """What of a request is carried out, and what is left undone of a batch (by table)."""
        if operation in _PAGED and self._happens(self.rates.short_pages):
            return {**request, "Limit": self._number(1, max(1, request.get("Limit", _SHORT_PAGE + 1) - 1))}, {}
        if operation in _BATCHES and self._happens(self.rates.unprocessed):
            return self._part(operation, request)
        return request, {}

    def _part(self, operation: str, request: Request) -> tuple[Request, Request]:
        entries = [(table, entry) for table, part in request["RequestItems"].items() for entry in _entries(part)]
        kept = self._number(1, len(entries)) if entries else 0
        done, left = _by_table(request, entries[:kept]), _by_table(request, entries[kept:])
        return {**request, "RequestItems": done}, {_BATCHES[operation]: left} if left else {}

    @staticmethod
    def joined(answer: dict[str, Any], left: Request) -> dict[str, Any]:
        """The answer to a batch, with what was left undone of it added to what did not fit."""
        for member, tables in left.items():
            answer = {**answer, member: {**answer[member]}}
            for table, part in tables.items():
                there = answer[member].get(table)
                answer[member][table] = {**part, "Keys": there["Keys"] + part["Keys"]} if there else part
        return answer

    def loses_answer(self) -> BotoCoreError | DynamoError | None:
        """How a caller learns nothing of an operation that was carried out."""
        if not self._happens(self.rates.lost_answers):
            return None
        url = "https://dynamodb.invalid/"
        return (
            ReadTimeoutError(endpoint_url=url),
            ConnectionClosedError(endpoint_url=url),
            DynamoError("InternalServerError", "The request processing has failed.", status=500),
        )[self._number(0, 2)]

    @property
    def index_history_ms(self) -> int:
        """For how long left places in an index are kept, so that a lagging query can see them."""
        return 2 * self._index_lag_ms if self.rates.index_lag else 0

    def index_horizon_ms(self) -> int | None:
        """The moment as of which a query sees an index; None: now."""
        return clock.epoch_ms() - self._index_lag_ms if self._happens(self.rates.index_lag) else None

    def record_delay_ms(self) -> int:
        """How old a stream record has to be to be delivered."""
        return self._late_records_ms if self._happens(self.rates.late_records) else 0

    def repeats_records(self) -> bool:
        """Whether a delivered batch will be delivered again."""
        return self._happens(self.rates.duplicate_records)

    def forgets_expired(self) -> bool:
        """Whether a sweep leaves an expired item alone."""
        return self._happens(self.rates.late_expiry)


def _entries(part: Any) -> list[Any]:
    return list(part["Keys"]) if isinstance(part, Mapping) else list(part)


def _by_table(request: Request, entries: list[tuple[str, Any]]) -> dict[str, Any]:
    grouped: dict[str, list[Any]] = {}
    for table, entry in entries:
        grouped.setdefault(table, []).append(entry)
    whole = request["RequestItems"]
    return {
        table: {**whole[table], "Keys": part} if isinstance(whole[table], Mapping) else part
        for table, part in grouped.items()
    }


CALM: Final = Weather(0, Rates())


@dataclass
class FaultPlan:
    """Breaks the n-th write operation after it was installed, once. `writes` counts those that came by.

    Run the work once with an empty plan to learn how many writes it makes, then once for each of them:

        engine.faults = FaultPlan.fail_at(3, when="after", error=SomeError())
    """

    n: int | None = None
    when: Moment = "before"
    action: Callable[[], None] = lambda: None
    writes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def fail_at(cls, n: int, *, when: Moment, error: BaseException) -> Self:
        """Raises `error` to the caller before or after write number `n` (from 1) is carried out."""

        def fail() -> None:
            raise error

        return cls(n, when, fail)

    @classmethod
    def exit_at(cls, n: int, *, when: Moment, code: int = 137) -> Self:
        """Ends the process like kill -9 before or after write number `n` (from 1) is carried out."""
        return cls(n, when, lambda: os._exit(code))

    def around(self, operation: str, carry_out: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Carries an operation out, and fails where the plan says so."""
        if operation not in WRITES:
            return carry_out()
        with self._lock:
            self.writes += 1
            chosen = self.writes == self.n
        if chosen and self.when == "before":
            self.action()
        answer = carry_out()
        if chosen and self.when == "after":
            self.action()
        return answer
