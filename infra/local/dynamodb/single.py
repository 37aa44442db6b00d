"""Operations on one item: GetItem, PutItem, UpdateItem, DeleteItem."""

from typing import Final

from infra.local.dynamodb.database import Answer, Database, Request
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.requests import NAMES, choice, expect_members, projection
from infra.local.dynamodb.rows import Image
from infra.local.dynamodb.values import checked_item
from infra.local.dynamodb.wire import loaded
from infra.local.dynamodb.writes import DELETE, PUT, UPDATE, Change, perform, prepared

_READ: Final = NAMES | {"Key", "ConsistentRead", "ProjectionExpression"}
_RETURNS: Final = frozenset({"ReturnValues"})
BODY: Final = "SELECT body, size FROM items WHERE tab=? AND pk=? AND sk=?"


def get_item(database: Database, request: Request) -> Answer:
    """GetItem: always the newest committed item, with or without ConsistentRead."""
    expect_members(request, _READ | {"TableName"})
    table = database.table(request["TableName"])
    key = table.key_of_request(checked_item(request["Key"]))
    given = Placeholders(request, ("ProjectionExpression",))
    cut = projection(request, given)
    given.expect_all_used()
    with database.storage.reading() as connection:
        row = connection.execute(BODY, (table.number, *key)).fetchone()
    database.counters.add(read=1)
    if row is None:
        return {}
    item = loaded(row[0])
    return {"Item": cut(item) if cut else item}


def put_item(database: Database, request: Request) -> Answer:
    """PutItem."""
    returned = choice(request, "ReturnValues", ("NONE", "ALL_OLD"))
    old, _ = perform(database, _change("Put", PUT, database, request))
    return _attributes(old) if returned == "ALL_OLD" else {}


def delete_item(database: Database, request: Request) -> Answer:
    """DeleteItem."""
    returned = choice(request, "ReturnValues", ("NONE", "ALL_OLD"))
    old, _ = perform(database, _change("Delete", DELETE, database, request))
    return _attributes(old) if returned == "ALL_OLD" else {}


def update_item(database: Database, request: Request) -> Answer:
    """UpdateItem."""
    returned = choice(request, "ReturnValues", ("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"))
    change = _change("Update", UPDATE, database, request)
    old, new = perform(database, change)
    image = old if returned.endswith("OLD") else new
    if returned == "NONE" or image is None:
        return {}
    if returned.startswith("ALL"):
        return _attributes(image)
    touched = change.update.touched(image.item) if change.update else {}
    return {"Attributes": touched} if touched else {}


def _change(kind: str, known: frozenset[str], database: Database, request: Request) -> Change:
    expect_members(request, known | _RETURNS)
    return prepared(kind, database, {name: value for name, value in request.items() if name != "ReturnValues"})


def _attributes(image: Image | None) -> Answer:
    return {"Attributes": image.item} if image else {}
