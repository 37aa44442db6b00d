"""A store that does not answer: reads are tried once more, writes are not, mistakes of ours are told as such."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    IncompleteReadError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    ReadTimeoutError,
    ResponseStreamingError,
)

from agentkeep.store import bodies, database
from agentkeep.store.content import Message
from agentkeep.store.database import StoreUnavailableError
from agentkeep.store.keys import Key

URL = "https://dynamodb.invalid/"
KEY = Key("p", "s")
SILENCE: list[Exception] = [
    ConnectionClosedError(endpoint_url=URL, request=None, response=None),
    ConnectTimeoutError(endpoint_url=URL),
    EndpointConnectionError(endpoint_url=URL),
    IncompleteReadError(actual_bytes=1, expected_bytes=2),
    ReadTimeoutError(endpoint_url=URL),
    ResponseStreamingError(error="cut off"),
]
MISTAKES: list[Exception] = [
    CredentialRetrievalError(provider="x", error_msg="x"),
    NoCredentialsError(),
    NoRegionError(),
    ParamValidationError(report="x"),
]
READS: dict[str, Callable[[], Any]] = {
    "get_item": lambda: database.get("entities", KEY),
    "batch_get_item": lambda: database.batch_get([("entities", KEY)]),
    "query": lambda: list(database.query("entities", "p")),
    "query ": lambda: database.count("entities", "p"),
}
WRITES: dict[str, Callable[[], Any]] = {
    "put_item": lambda: database.write(database.put("entities", KEY, {"data": "x"})),
    "update_item": lambda: database.write(database.update("entities", KEY, "SET #data = :data", data="x")),
    "delete_item": lambda: database.write(database.delete("entities", KEY)),
    "transact_write_items": lambda: database.transact([database.delete("entities", KEY)]),
}
ANSWERS = {
    "get_item": {},
    "batch_get_item": {"Responses": {}, "UnprocessedKeys": {}},
    "query": {"Items": [], "Count": 0},
}


class Failing:
    """A client whose first `times` calls raise `error`; later ones find nothing."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.times, self.calls = error, times, 0

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self.calls += 1
            if self.calls <= self.times:
                raise self.error
            return ANSWERS[operation]

        return call


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception, int], Failing]:
    def build(error: Exception, times: int) -> Failing:
        double = Failing(error, times)
        for module in (database, bodies):
            monkeypatch.setattr(module, "client", lambda service: double)
        return double

    monkeypatch.setattr(database, "_BACK_OFF_SECONDS", 0)
    for table in ("ENTITIES", "MESSAGES"):
        monkeypatch.setenv(f"AGENTKEEP_{table}_TABLE", table)
    monkeypatch.setenv("AGENTKEEP_BUCKET", "bucket")
    return build


Fail = Callable[[Exception, int], Failing]
silence = pytest.mark.parametrize("error", SILENCE, ids=lambda error: type(error).__name__)
mistakes = pytest.mark.parametrize("error", MISTAKES, ids=lambda error: type(error).__name__)
reads = pytest.mark.parametrize("read", READS)
writes = pytest.mark.parametrize("write", WRITES)


@reads
@silence
def test_a_read_without_an_answer_is_tried_once_more(failing: Fail, error: Exception, read: str) -> None:
    store = failing(error, 1)

    assert not READS[read]()
    assert store.calls == 2


@reads
@silence
def test_a_read_without_two_answers_says_that_the_store_is_down(failing: Fail, error: Exception, read: str) -> None:
    store = failing(error, 9)

    with pytest.raises(StoreUnavailableError, match=f"'{read.strip()}'"):
        READS[read]()
    assert store.calls == 2


@writes
@silence
def test_a_write_without_an_answer_is_not_repeated(failing: Fail, error: Exception, write: str) -> None:
    store = failing(error, 1)

    with pytest.raises(StoreUnavailableError, match=f"'{write}'"):
        WRITES[write]()
    assert store.calls == 1


@pytest.mark.parametrize("operation", [*READS, *WRITES])
@mistakes
def test_a_mistake_of_ours_is_no_matter_of_trying_again(failing: Fail, error: Exception, operation: str) -> None:
    store = failing(error, 9)

    with pytest.raises(type(error)):
        {**READS, **WRITES}[operation]()
    assert store.calls == 1


@silence
def test_large_bodies_are_kept_where_the_same_holds(failing: Fail, error: Exception) -> None:
    failing(error, 9)

    with pytest.raises(StoreUnavailableError, match="'get_object'"):
        bodies.unpack({"v": 1, "claim": "tenant01/x"}, Message)


@mistakes
def test_a_mistake_with_a_large_body_is_a_mistake_too(failing: Fail, error: Exception) -> None:
    failing(error, 9)

    with pytest.raises(type(error)):
        bodies.unpack({"v": 1, "claim": "tenant01/x"}, Message)
