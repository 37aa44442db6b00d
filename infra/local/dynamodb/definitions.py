"""Operations on tables as such: CreateTable, DescribeTable, ListTables, DeleteTable, and time to live."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from infra.local.dynamodb.database import Answer, Database, Request
from infra.local.dynamodb.errors import invalid
from infra.local.dynamodb.requests import expect_members
from infra.local.dynamodb.schema import TableSchema, create_request
from infra.local.dynamodb.streams import stream_description
from infra.tables import Table

_CREATE: Final = frozenset({
    "TableName", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "BillingMode",
    "StreamSpecification", "TableClass", "DeletionProtectionEnabled", "Tags",
})  # fmt: skip
_TABLE: Final = frozenset({"TableName"})
_MAX_NAMES: Final = 100


def create_table(database: Database, request: Request) -> Answer:
    """CreateTable: the table is ACTIVE at once. Tables made this way are no tenant tables."""
    expect_members(request, _CREATE)
    return {"TableDescription": _description(database, database.add_table(request, tenant=False))}


def ensure_table(database: Database, definition: Table, name: str) -> None:
    """Makes a table of `infra.tables`, or gives the one that is there its present definition.

    Raises ValidationException when the keys of the one that is there are others: no migration changes a key.
    """
    request = create_request(definition, name)
    if name not in database.tables:
        database.add_table(request, tenant=definition.tenant)
    there = database.tables[name]
    wanted = TableSchema.from_request(
        request, number=there.number, tenant=definition.tenant, created_ms=there.created_ms
    )
    wanted = replace(wanted, ttl=definition.ttl)
    if there.keys != wanted.keys:
        raise invalid(f"The table {name} of this data directory has other keys than its definition.")
    if there != wanted:
        database.redefine(there, wanted)


def describe_table(database: Database, request: Request) -> Answer:
    """DescribeTable."""
    expect_members(request, _TABLE)
    return {"Table": _description(database, database.table(request["TableName"]))}


def list_tables(database: Database, request: Request) -> Answer:
    """ListTables."""
    expect_members(request, frozenset({"Limit", "ExclusiveStartTableName"}))
    after = request.get("ExclusiveStartTableName", "")
    limit = request.get("Limit", _MAX_NAMES)
    names = [name for name in sorted(database.tables) if name > after]
    more = {"LastEvaluatedTableName": names[limit - 1]} if len(names) > limit else {}
    return {"TableNames": names[:limit], **more}


def delete_table(database: Database, request: Request) -> Answer:
    """DeleteTable."""
    expect_members(request, _TABLE)
    table = database.table(request["TableName"])
    description = _description(database, table)
    database.drop_table(table)
    return {"TableDescription": description | {"TableStatus": "DELETING"}}


def update_time_to_live(database: Database, request: Request) -> Answer:
    """UpdateTimeToLive."""
    expect_members(request, _TABLE | {"TimeToLiveSpecification"})
    wanted = request["TimeToLiveSpecification"]
    table = database.table(request["TableName"])
    attribute = wanted["AttributeName"]
    if wanted["Enabled"] == (table.ttl is not None):
        raise invalid(f"TimeToLive is already {'enabled' if wanted['Enabled'] else 'disabled'}")
    if not wanted["Enabled"] and attribute != table.ttl:
        raise invalid(f"TimeToLive is active on a different AttributeName: current AttributeName is {table.ttl}")
    database.set_ttl(table, attribute if wanted["Enabled"] else None)
    return {"TimeToLiveSpecification": wanted}


def describe_time_to_live(database: Database, request: Request) -> Answer:
    """DescribeTimeToLive."""
    expect_members(request, _TABLE)
    ttl = database.table(request["TableName"]).ttl
    state: Answer = {"TimeToLiveStatus": "ENABLED", "AttributeName": ttl} if ttl else {"TimeToLiveStatus": "DISABLED"}
    return {"TimeToLiveDescription": state}


def _description(database: Database, table: TableSchema) -> Answer:
    request = table.request()
    indexes: list[dict[str, Any]] = request.pop("GlobalSecondaryIndexes", [])
    with database.storage.reading() as connection:
        count, size = connection.execute(
            "SELECT count(*), coalesce(sum(size), 0) FROM items WHERE tab=?", (table.number,)
        ).fetchone()
    return {
        **request,
        "BillingModeSummary": {"BillingMode": request.pop("BillingMode")},
        "TableArn": table.arn,
        "TableStatus": "ACTIVE",
        "CreationDateTime": datetime.fromtimestamp(table.created_ms / 1000, UTC),
        "ItemCount": count,
        "TableSizeBytes": size,
        **({"GlobalSecondaryIndexes": [_index(table, index) for index in indexes]} if indexes else {}),
        **stream_description(table),
    }


def _index(table: TableSchema, index: dict[str, Any]) -> dict[str, Any]:
    return {**index, "IndexStatus": "ACTIVE", "IndexArn": f"{table.arn}/index/{index['IndexName']}"}
