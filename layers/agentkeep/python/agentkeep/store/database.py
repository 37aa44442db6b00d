"""Reads and writes of DynamoDB items as plain dicts: batches, queries, transactions, retries of what may be retried.

An item is a flat dict of strings, numbers and booleans. The body of a record is one JSON string in `data` (exact for
floats and unicode, read in one go); what writes are conditional on stands beside it as attributes of its own.
"""

import logging
import os
import random
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from botocore import exceptions as botocore_errors
from botocore.exceptions import ClientError

from agentkeep.errors import AgentKeepError
from agentkeep.store.keys import Key
from agentkeep.tenancy.client import client

Scalar = str | int | bool
Item = dict[str, Any]
TableName = Literal["entities", "messages"]

_log: Final = logging.getLogger(__name__)
_NAME: Final = re.compile(r"#\w+")
_BATCH: Final = 100
_TRANSACTION: Final = 100
_TRANSACTION_BYTES: Final = 3_500_000
_WRITE_BYTES: Final = 500
_LARGEST_PAGE: Final = 2_000
_ATTEMPTS: Final = 8
_BACK_OFF_SECONDS: Final = 0.02
UNANSWERED: Final = (
    botocore_errors.ConnectionError, botocore_errors.HTTPClientError, botocore_errors.IncompleteReadError,
)  # fmt: skip
"""What botocore raises, after its own retries, when no answer came: not connected, timed out, cut off. Its other errors
(parameters, credentials, configuration) are mistakes of ours, which sending again does not mend."""
_REPEATS: Final = {"get_item": 1, "batch_get_item": 1, "query": 1}
"""How often an operation without an answer is called again. A write may have happened and is not."""


class ConditionFailedError(AgentKeepError):
    """A conditional write found another state. `failed` holds the positions of the writes whose condition failed."""

    status = 409
    code = "CONDITION_FAILED"

    def __init__(self, failed: Sequence[int]) -> None:
        super().__init__(f"The entity was changed by another request (writes {list(failed)}). Send the request again.")
        self.failed = tuple(failed)


class StoreUnavailableError(AgentKeepError):
    """DynamoDB did not answer, or stayed busy after retries. A write may or may not have happened."""

    status = 503
    code = "STORE_UNAVAILABLE"

    def __init__(self, operation: str) -> None:
        super().__init__(f"The store did not answer '{operation}' in time. Send the request again.")


@dataclass(frozen=True)
class Write:
    """One write of a transaction. In `update` and `condition`, `#name` is the attribute `name` and `:name` a value."""

    kind: Literal["Put", "Update", "Delete", "ConditionCheck"]
    table: TableName
    key: Key
    item: Item = field(default_factory=dict)
    update: str | None = None
    condition: str | None = None
    values: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """About how many bytes it takes of a transaction."""
        texts = [value for value in (*self.item.values(), *self.values.values()) if isinstance(value, str)]
        return _WRITE_BYTES + sum(len(text) if text.isascii() else len(text.encode()) for text in texts)


def put(table: TableName, key: Key, item: Item, condition: str | None = None, **values: Scalar) -> Write:
    """Writes the whole item; `condition` may use the values given by keyword as `:name`."""
    return Write("Put", table, key, item, condition=condition, values=_placeholders(values))


def update(table: TableName, key: Key, expression: str, condition: str | None = None, **values: Scalar) -> Write:
    """Changes attributes by an UpdateExpression that uses the values given by keyword as `:name`."""
    return Write("Update", table, key, update=expression, condition=condition, values=_placeholders(values))


def delete(table: TableName, key: Key, condition: str | None = None, **values: Scalar) -> Write:
    """Removes the item."""
    return Write("Delete", table, key, condition=condition, values=_placeholders(values))


def check(table: TableName, key: Key, condition: str, **values: Scalar) -> Write:
    """Lets the transaction happen only if the item fits `condition`."""
    return Write("ConditionCheck", table, key, condition=condition, values=_placeholders(values))


def get(table: TableName, key: Key) -> Item | None:
    """The item at `key`, read strongly."""
    answer = _call("get_item", TableName=_name(table), Key=_typed_key(key), ConsistentRead=True)
    return _plain(answer["Item"]) if "Item" in answer else None


def batch_get(keys: Iterable[tuple[TableName, Key]]) -> dict[tuple[TableName, Key], Item]:
    """The items that exist among `keys`, read strongly, by table and key."""
    found: dict[tuple[TableName, Key], Item] = {}
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _BATCH):
        _batch_get(wanted[start : start + _BATCH], found)
    return found


def _batch_get(keys: list[tuple[TableName, Key]], found: dict[tuple[TableName, Key], Item]) -> None:
    request: dict[str, Any] = {}
    for table, key in keys:
        request.setdefault(_name(table), {"Keys": [], "ConsistentRead": True})["Keys"].append(_typed_key(key))
    tables = {_name(table): table for table, _ in keys}
    for attempt in range(_ATTEMPTS):
        answer = _call("batch_get_item", RequestItems=request)
        for name, items in answer["Responses"].items():
            for item in map(_plain, items):
                found[tables[name], Key(item["pk"], item["sk"])] = item
        request = answer.get("UnprocessedKeys") or {}
        if not request:
            return
        _back_off(attempt)
    raise StoreUnavailableError("batch_get_item")


def query(
    table: TableName,
    pk: str,
    *,
    index: str | None = None,
    forward: bool = True,
    start: str | int | None = None,
    between: tuple[str | int, str | int] | None = None,
    prefix: str | None = None,
    page_size: int | None = None,
    only: Sequence[str] = (),
) -> Iterator[Item]:
    """The items of a partition in order of their sort key, page after page as they are consumed.

    `only` names the attributes that are wanted, so that no others travel; not together with `start`.

    `start` excludes itself and all before it in the direction read. Indexes give keys only and may lag. `page_size` is
    how many items are probably wanted: the first read has as many, each next one four times as many.
    """
    attribute = f"{index}sk" if index else "sk"
    condition, values = _sort_condition(forward, start, between, prefix)
    request: dict[str, Any] = {
        "TableName": _name(table),
        "KeyConditionExpression": "#pk = :pk" + condition,
        "ExpressionAttributeNames": {"#pk": f"{index}pk" if index else "pk"}
        | ({"#sk": attribute} if condition else {}),
        "ExpressionAttributeValues": {name: _typed(value) for name, value in {":pk": pk, **values}.items()},
        "ScanIndexForward": forward,
        "ConsistentRead": index is None,
    }
    if index:
        request["IndexName"] = index
    if only:
        request["ProjectionExpression"] = ", ".join(only)
    while True:
        if page_size:
            request["Limit"] = min(page_size, _LARGEST_PAGE)
            page_size *= 4
        answer = _call("query", **request)
        for item in map(_plain, answer["Items"]):
            if start is None or _beyond(item[attribute], start, forward):
                yield item
        if "LastEvaluatedKey" not in answer:
            return
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _sort_condition(
    forward: bool, start: str | int | None, between: tuple[str | int, str | int] | None, prefix: str | None
) -> tuple[str, dict[str, Scalar]]:
    if between is not None:
        low, high = between
        if start is not None:
            low, high = (start, high) if forward else (low, start)
        return " AND #sk BETWEEN :low AND :high", {":low": low, ":high": high}
    if prefix is not None and start is not None:
        low, high = (start, prefix + "\U0010ffff") if forward else (prefix, start)
        return " AND #sk BETWEEN :low AND :high", {":low": low, ":high": high}
    if prefix is not None:
        return " AND begins_with(#sk, :prefix)", {":prefix": prefix}
    if start is not None:
        return f" AND #sk {'>' if forward else '<'} :start", {":start": start}
    return "", {}


def _beyond(value: Any, start: str | int, forward: bool) -> bool:
    return bool(value > start if forward else value < start)


def count(table: TableName, pk: str, *, prefix: str | None = None) -> int:
    """How many items a partition holds (those whose sort key starts with `prefix`)."""
    condition, values = _sort_condition(True, None, None, prefix)
    request: dict[str, Any] = {
        "TableName": _name(table),
        "KeyConditionExpression": "#pk = :pk" + condition,
        "ExpressionAttributeNames": {"#pk": "pk"} | ({"#sk": "sk"} if condition else {}),
        "ExpressionAttributeValues": {name: _typed(value) for name, value in {":pk": pk, **values}.items()},
        "ConsistentRead": True,
        "Select": "COUNT",
    }
    total = 0
    while True:
        answer = _call("query", **request)
        total += int(answer["Count"])
        if "LastEvaluatedKey" not in answer:
            return total
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def transact(writes: Sequence[Write], token: str | None = None) -> None:
    """All writes or none. `token` (at most 36 characters) makes repeating the call within 10 minutes harmless; without
    one, repetitions within this call are.

    Raises ConditionFailedError when a condition does not hold. A conflict with another transaction is tried again.
    Limits (DynamoDB developer guide): 100 writes, 4 MB.
    """
    request: dict[str, Any] = {
        "TransactItems": [_transact_item(write) for write in writes],
        "ClientRequestToken": token or str(uuid.uuid4()),
    }
    for attempt in range(_ATTEMPTS):
        try:
            client("dynamodb").transact_write_items(**request)
            return
        except ClientError as error:
            _raise_unless_conflict(error)
        except UNANSWERED as error:
            raise StoreUnavailableError("transact_write_items") from error
        _back_off(attempt)
    raise StoreUnavailableError("transact_write_items")


def transact_all(writes: Iterable[Write], decisive: Literal["first", "last"]) -> None:
    """Any number of writes: one transaction if they fit, else several in order.

    What makes the change visible stands `first` (updates, deletions) or `last` (creations) and goes with its part.
    """
    for part in _parts(list(writes), decisive):
        transact(part)


def fits_one_transaction(writes: Sequence[Write]) -> bool:
    """Whether `transact_all` would write all at once."""
    return len(_parts(list(writes), "first")) == 1


def _parts(writes: list[Write], decisive: Literal["first", "last"]) -> list[list[Write]]:
    """The writes in parts that a transaction can hold, the part with the decisive write as full as it can be."""
    if decisive == "last":
        return [part[::-1] for part in _parts(writes[::-1], "first")[::-1]]
    parts: list[list[Write]] = [[]]
    room = _TRANSACTION_BYTES
    for write in writes:
        room -= write.size
        if len(parts[-1]) == _TRANSACTION or (room < 0 and parts[-1]):
            parts.append([])
            room = _TRANSACTION_BYTES - write.size
        parts[-1].append(write)
    return parts


def fits(writes: Sequence[Write]) -> bool:
    """Whether one transaction takes all of the writes."""
    return len(writes) <= _TRANSACTION and sum(write.size for write in writes) <= _TRANSACTION_BYTES


def _raise_unless_conflict(error: ClientError) -> None:
    code = error.response["Error"]["Code"]
    if code != "TransactionCanceledException":
        _raise_if_not_transient(error, "transact_write_items")
        return
    reasons = [reason.get("Code") for reason in error.response.get("CancellationReasons", [])]
    failed = [position for position, reason in enumerate(reasons) if reason == "ConditionalCheckFailed"]
    if failed:
        raise ConditionFailedError(failed) from error
    if not set(reasons) & {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}:
        raise error


def write(change: Write) -> None:
    """One write outside a transaction. Raises ConditionFailedError like `transact`."""
    operation = {"Put": "put_item", "Update": "update_item", "Delete": "delete_item"}[change.kind]
    (body,) = _transact_item(change).values()
    try:
        _call(operation, **body)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        raise ConditionFailedError([0]) from error


def _transact_item(change: Write) -> dict[str, Any]:
    body: dict[str, Any] = {"TableName": _name(change.table)}
    if change.kind == "Put":
        body["Item"] = {name: _typed(value) for name, value in change.item.items()} | _typed_key(change.key)
    else:
        body["Key"] = _typed_key(change.key)
    if change.update:
        body["UpdateExpression"] = change.update
    if change.condition:
        body["ConditionExpression"] = change.condition
    if names := set(_NAME.findall(f"{change.update} {change.condition}")):
        body["ExpressionAttributeNames"] = {name: name[1:] for name in sorted(names)}
    if change.values:
        body["ExpressionAttributeValues"] = {name: _typed(value) for name, value in change.values.items()}
    return {change.kind: body}


def _call(operation: str, **request: Any) -> dict[str, Any]:
    repeats = _REPEATS.get(operation, 0)
    for attempt in range(_ATTEMPTS):
        try:
            return getattr(client("dynamodb"), operation)(**request)  # type: ignore[no-any-return]
        except ClientError as error:
            _raise_if_not_transient(error, operation)
        except UNANSWERED as error:
            if not repeats:
                raise StoreUnavailableError(operation) from error
            repeats -= 1
            _log.info("%s was not answered (%s) and is called once more.", operation, type(error).__name__)
        _back_off(attempt)
    raise StoreUnavailableError(operation)


_TRANSIENT: Final = frozenset({
    "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
    "TransactionConflictException", "TransactionInProgressException", "ServiceUnavailable",
})  # fmt: skip


def _raise_if_not_transient(error: ClientError, operation: str) -> None:
    if error.response["Error"]["Code"] not in _TRANSIENT:
        raise error
    _log.info("%s will be tried again: %s", operation, error.response["Error"]["Code"])


def _back_off(attempt: int) -> None:
    time.sleep(random.uniform(0.5, 1) * _BACK_OFF_SECONDS * 2**attempt)


def _name(table: TableName) -> str:
    return os.environ[f"AGENTKEEP_{table.upper()}_TABLE"]


def _placeholders(values: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {f":{name}": value for name, value in values.items()}


def _typed_key(key: Key) -> dict[str, Any]:
    return {"pk": {"S": key.pk}, "sk": _typed(key.sk)}


def _typed(value: Scalar) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"S": value}


def _plain(item: Mapping[str, Mapping[str, Any]]) -> Item:
    return {name: _scalar(*typed.items()) for name, typed in item.items()}


def _scalar(typed: tuple[str, Any]) -> Any:
    kind, value = typed
    return int(value) if kind == "N" else value
