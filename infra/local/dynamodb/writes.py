"""One change of one item: prepared from its request before the write lock is taken, then tried on what is stored."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.local.dynamodb import rows
from infra.local.dynamodb.database import Database, Request
from infra.local.dynamodb.errors import DynamoError, invalid
from infra.local.dynamodb.expressions.conditions import Test, bound_condition
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.updates import Update
from infra.local.dynamodb.keys import RowKey
from infra.local.dynamodb.requests import NAMES_AND_VALUES, choice, expect_members, expression
from infra.local.dynamodb.rows import Image
from infra.local.dynamodb.schema import TableSchema
from infra.local.dynamodb.values import MAX_ITEM_BYTES, Item, checked_item

_CONDITION: Final = NAMES_AND_VALUES | {"TableName", "ConditionExpression", "ReturnValuesOnConditionCheckFailure"}
PUT: Final = _CONDITION | {"Item"}
DELETE: Final = _CONDITION | {"Key"}
CHECK: Final = _CONDITION | {"Key"}
UPDATE: Final = _CONDITION | {"Key", "UpdateExpression"}


@dataclass(frozen=True)
class Change:
    """What is to happen to one item. `outcome` makes the new image of the old one; None stands for no item.

    `outcome` raises ValidationException when the change does not fit what is stored.
    """

    table: TableSchema
    key: RowKey
    outcome: Callable[[Image | None], Image | None]
    condition: Test | None = None
    shows_old_on_failure: bool = False
    update: Update | None = None
    writes: bool = True

    def expect_condition(self, old: Image | None) -> None:
        """Raises ConditionalCheckFailedException unless the stored item fulfils the condition."""
        if self.condition is None or self.condition(old.item if old else {}):
            return
        shown: dict[str, Any] = {"Item": old.item} if old and self.shows_old_on_failure else {}
        raise DynamoError("ConditionalCheckFailedException", "The conditional request failed", **shown)


def prepared_put(database: Database, request: Request) -> Change:
    """The change that a PutItem request, or a Put of a transaction, asks for."""
    table = database.table(request["TableName"])
    item = checked_item(request["Item"])
    key = table.key_of_item(item)
    image = _image(table, item, "Item size has exceeded the maximum allowed size")
    condition, shows_old = _condition(request)
    return Change(table, key, lambda _: image, condition, shows_old)


def prepared_delete(database: Database, request: Request) -> Change:
    """The change that a DeleteItem request, or a Delete of a transaction, asks for."""
    table, key, _ = _keyed(database, request)
    condition, shows_old = _condition(request)
    return Change(table, key, lambda _: None, condition, shows_old)


def prepared_check(database: Database, request: Request) -> Change:
    """The change of nothing that a ConditionCheck of a transaction is."""
    table, key, _ = _keyed(database, request)
    condition, shows_old = _condition(request)
    if condition is None:
        raise invalid("1 validation error detected: Value null at 'conditionExpression': Member must not be null")
    return Change(table, key, lambda old: old, condition, shows_old, writes=False)


def prepared_update(database: Database, request: Request) -> Change:
    """The change that an UpdateItem request, or an Update of a transaction, asks for."""
    table, key, attributes = _keyed(database, request)
    given = Placeholders(request, ("ConditionExpression", "UpdateExpression"))
    condition = _test(request, given)
    update = _update(request, given, table)
    given.expect_all_used()

    def outcome(old: Image | None) -> Image:
        before = old.item if old else attributes
        after = update(before) if update else before
        return _image(table, after, "Item size to update has exceeded the maximum allowed size")

    return Change(table, key, outcome, condition, _shows_old(request), update)


def _image(table: TableSchema, item: Item, too_large: str) -> Image:
    image = Image.of(table, item)
    if image.size > MAX_ITEM_BYTES:
        raise invalid(too_large)
    return image


def _keyed(database: Database, request: Request) -> tuple[TableSchema, RowKey, Item]:
    table = database.table(request["TableName"])
    attributes = checked_item(request["Key"])
    return table, table.key_of_request(attributes), attributes


def _condition(request: Request) -> tuple[Test | None, bool]:
    given = Placeholders(request, ("ConditionExpression",))
    condition = _test(request, given)
    given.expect_all_used()
    return condition, _shows_old(request)


def _shows_old(request: Request) -> bool:
    return choice(request, "ReturnValuesOnConditionCheckFailure", ("NONE", "ALL_OLD")) == "ALL_OLD"


def _test(request: Request, given: Placeholders) -> Test | None:
    text = request.get("ConditionExpression")
    if text is None:
        return None
    with expression("ConditionExpression"):
        return bound_condition(text, given)


def _update(request: Request, given: Placeholders, table: TableSchema) -> Update | None:
    text = request.get("UpdateExpression")
    if text is None:
        return None
    with expression("UpdateExpression"):
        return Update.bound(text, given, frozenset(key.name for key in table.keys.attributes))


PREPARED: Final[Mapping[str, tuple[frozenset[str], Callable[[Database, Request], Change]]]] = {
    "Put": (PUT, prepared_put),
    "Update": (UPDATE, prepared_update),
    "Delete": (DELETE, prepared_delete),
    "ConditionCheck": (CHECK, prepared_check),
}


def prepared(kind: str, database: Database, request: Mapping[str, Any]) -> Change:
    """The change that one item of a transaction or batch asks for, by its kind."""
    known, prepare = PREPARED[kind]
    expect_members(request, known)
    return prepare(database, request)


def perform(database: Database, change: Change) -> tuple[Image | None, Image | None]:
    """Makes one change in a transaction of its own; returns the item before and after."""
    with database.storage.writing() as connection:
        old, new = _tried(connection, change)
        rows.replace(connection, change.key, old, new, database.journal())
    database.announce_records(change.table)
    database.counters.add(written=1)
    return old, new


def _tried(connection: sqlite3.Connection, change: Change) -> tuple[Image | None, Image | None]:
    old = rows.read(connection, change.table, change.key)
    change.expect_condition(old)
    return old, change.outcome(old)
