"""Calls of the store that go wrong on purpose: one of them, in a chosen way, or that one and all after it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from botocore.exceptions import ReadTimeoutError

from infra.local.dynamodb.engine import Engine
from infra.local.dynamodb.errors import DynamoError
from infra.local.weather import WRITES

Call = Callable[[], dict[str, Any]]
Way = Literal[
    "dies before", "dies after", "times out before", "times out after", "down before", "down after",
    "server errors before", "server errors after", "refused",
]  # fmt: skip
WAYS: Final[tuple[Way, ...]] = Way.__args__  # type: ignore[attr-defined]
_IN_A_ROW: Final = 3
"""Server errors that botocore hides behind its own retries; one more reaches the caller."""


class Death(BaseException):
    """The end of the process: nothing catches it, nothing after it happens."""


def time_out() -> ReadTimeoutError:
    """What a caller sees of an answer that never came."""
    return ReadTimeoutError(endpoint_url="https://dynamodb.invalid/")


@dataclass
class Faults:
    """Stands in `engine.faults`: breaks call number `at` (from 1) of those counted, `reads` or writes.

    "down" also breaks every call after it, of any kind, until `lift` is called. `counted` is how many came by.
    """

    at: int | None = None
    way: Way = "dies before"
    reads: bool = False
    counted: int = 0
    _down: bool = False
    _errors_left: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def lift(self) -> None:
        """The store is well again."""
        self.at, self._down, self._errors_left = None, False, 0

    def around(self, operation: str, carry_out: Call) -> dict[str, Any]:
        """Carries an operation out, unless it is the one to break."""
        if self._down:
            raise time_out()
        if self._errors_left:
            self._errors_left -= 1
            raise _server_error()
        return self._broken(carry_out) if self._is_chosen(operation) else carry_out()

    def _is_chosen(self, operation: str) -> bool:
        with self._lock:
            if (operation in WRITES) == self.reads:
                return False
            self.counted += 1
            return self.counted == self.at

    def _broken(self, carry_out: Call) -> dict[str, Any]:
        kind, _, moment = self.way.rpartition(" ")
        if moment == "after":
            carry_out()
        if self.way == "refused":
            raise DynamoError("AccessDeniedException", "You are not authorized to perform this operation.")
        if kind == "dies":
            raise Death
        if kind == "server errors":
            self._errors_left = _IN_A_ROW - 1
            raise _server_error()
        self._down = kind == "down"
        raise time_out()


class Torn:
    """Stands in `engine.faults`: the next batch of reads comes without its conversation, which is asked for again.

    `meanwhile` happens between the two, so that the caller puts together what belongs to two moments.
    """

    def __init__(self, engine: Engine, meanwhile: Callable[[], object]) -> None:
        self._engine, self._meanwhile = engine, meanwhile

    def around(self, operation: str, carry_out: Call) -> dict[str, Any]:
        """Carries an operation out; tears the first batch."""
        answer = carry_out()
        if operation != "BatchGetItem":
            return answer
        self._engine.faults = None
        self._meanwhile()
        late = {
            table: [item for item in items if "#conversation#" in item["pk"]["S"]]
            for table, items in answer["Responses"].items()
        }
        kept = {table: [item for item in items if item not in late[table]]
                for table, items in answer["Responses"].items()}  # fmt: skip
        keys = {table: {"Keys": [{"pk": item["pk"], "sk": item["sk"]} for item in items], "ConsistentRead": True}
                for table, items in late.items() if items}  # fmt: skip
        return {**answer, "Responses": kept, "UnprocessedKeys": keys}


def _server_error() -> DynamoError:
    return DynamoError("InternalServerError", "The request processing has failed.", status=500)
