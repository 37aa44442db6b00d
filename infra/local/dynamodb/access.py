"""Who may ask for what: every request that comes through the door is held against the policy of the data role.

The evaluator knows exactly the shape of `infra.policy.tenant_policy`; anything else in a policy is an error, so that
a change of the policy cannot be passed over here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from agentkeep.tenancy.context import current_tenant
from infra.local.dynamodb.database import Database, Request
from infra.local.dynamodb.errors import DynamoError
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.query import key_condition
from infra.local.dynamodb.schema import KeySchema, TableSchema
from infra.local.dynamodb.streams import stream_table
from infra.policy import TENANT_TAG, tenant_policy

Rights = Literal["tenant", "system", "both"]
"""What the credentials of a session reach: tenant tables by the policy, the other tables freely, or both."""

_TAG: Final = f"aws:PrincipalTag/{TENANT_TAG}"
_LEADING_KEYS: Final = "dynamodb:LeadingKeys"
_VARIABLE: Final = f"${{{_TAG}}}"
_ACTION_OF: Final = {
    "Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}  # fmt: skip


@dataclass(frozen=True)
class Access:
    """One authorisation question. `context` holds the condition keys that the request has."""

    action: str
    table: TableSchema
    resource: str
    context: Mapping[str, tuple[str, ...]]


class Guard:
    """Refuses what the rights of a session do not reach."""

    def __init__(self, database: Database, rights: Rights) -> None:
        self._database = database
        self._rights = rights

    def expect_allowed(self, operation: str, request: Request) -> None:
        """Raises AccessDeniedException for the first thing in the request that is out of reach."""
        for access in _accesses(self._database, operation, request):
            if not self._allows(access):
                raise DynamoError(
                    "AccessDeniedException",
                    f"User is not authorized to perform: {access.action} on resource: {access.resource}"
                    f" because no identity-based policy allows the {access.action} action",
                )

    def _allows(self, access: Access) -> bool:
        if not access.table.tenant:
            return self._rights != "tenant"
        if self._rights == "system":
            return False
        tables = (table for table in self._database.tables.values() if table.tenant)
        return allows(tenant_policy([table.arn for table in tables]), access)


def allows(statement: Mapping[str, Any], access: Access) -> bool:
    """Whether an Allow statement covers the access."""
    if statement["Effect"] != "Allow" or statement.keys() - {"Sid", "Effect", "Action", "Resource", "Condition"}:
        raise NotImplementedError(f"The local engine cannot evaluate the statement {statement}")
    return (
        access.action in statement["Action"]
        and any(_like(pattern, access.resource, None) for pattern in statement["Resource"])
        and all(_fulfils(name, keys, access.context) for name, keys in statement["Condition"].items())
    )


def _fulfils(name: str, keys: Mapping[str, Any], context: Mapping[str, tuple[str, ...]]) -> bool:
    if name == "Null":
        return all((key in context) == (wanted == "false") for key, wanted in keys.items())
    if name == "ForAllValues:StringLike":
        (tenant,) = context.get(_TAG, (None,))
        return all(
            any(_like(pattern, value, tenant) for pattern in patterns)
            for key, patterns in keys.items()
            for value in context.get(key, ())
        )
    raise NotImplementedError(f"The local engine cannot evaluate the condition {name}")


def _like(pattern: str, value: str, tenant: str | None) -> bool:
    """StringLike: `*` and `?` are wildcards, but not inside of what a variable stands for."""
    if _VARIABLE in pattern and tenant is None:
        return False
    return _expression(pattern, tenant or "").fullmatch(value) is not None


@lru_cache(maxsize=1024)
def _expression(pattern: str, tenant: str) -> re.Pattern[str]:
    if "${" in pattern.replace(_VARIABLE, ""):
        raise NotImplementedError(f"The local engine cannot resolve the variables of {pattern}")
    parts = (re.escape(part).replace(r"\*", ".*").replace(r"\?", ".") for part in pattern.split(_VARIABLE))
    return re.compile(re.escape(tenant).join(parts), re.DOTALL)


def _accesses(database: Database, operation: str, request: Request) -> Iterator[Access]:
    match operation:
        case "BatchGetItem" | "BatchWriteItem":
            for name, part in request["RequestItems"].items():
                yield _access(operation, database.table(name), _of_batch(part))
        case "TransactWriteItems" | "TransactGetItems":
            for kind, part in (entry for item in request["TransactItems"] for entry in item.items()):
                yield _access(_ACTION_OF.get(kind, kind), database.table(part["TableName"]), [_attributes(part)])
        case "Query":
            yield _query(database, request)
        case "CreateTable" | "ListTables" | "ListStreams":
            return
        case _ if "TableName" in request:
            yield _access(operation, database.table(request["TableName"]), [_attributes(request)])
        case _:
            yield _access(operation, stream_table(database, request), [])


def _of_batch(part: Any) -> list[Mapping[str, Any]]:
    if isinstance(part, Mapping):
        return list(part["Keys"])
    return [_attributes(body) for entry in part for body in entry.values()]


def _attributes(part: Request) -> Mapping[str, Any]:
    attributes: Mapping[str, Any] = part.get("Item") or part.get("Key") or {}
    return attributes


def _access(action: str, table: TableSchema, items: Iterable[Mapping[str, Any]]) -> Access:
    schemas = (table.keys, *(index.keys for index in table.indexes))
    values = [_leading(schema, item) for item in items for schema in schemas]
    return Access(f"dynamodb:{action}", table, table.arn, _context(value for value in values if value is not None))


def _leading(keys: KeySchema, item: Mapping[str, Any]) -> str | None:
    """The partition key of an item, and of the indexes it enters: stricter than IAM, which looks at the first only."""
    value: str | None = item.get(keys.partition.name, {}).get(keys.partition.kind)
    return value


def _query(database: Database, request: Request) -> Access:
    table = database.table(request["TableName"])
    index = table.index(request["IndexName"]) if request.get("IndexName") is not None else None
    keys = index.keys if index else table.keys
    given = Placeholders(request, ("KeyConditionExpression", "FilterExpression", "ProjectionExpression"))
    partition = key_condition(keys, request, given).partition
    resource = f"{table.arn}/index/{index.name}" if index else table.arn
    return Access("dynamodb:Query", table, resource, _context([partition[keys.partition.kind]]))


def _context(leading_keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found = tuple(leading_keys)
    tenant = current_tenant.get(None)
    return {
        **({_LEADING_KEYS: found} if found else {}),
        **({_TAG: (tenant,)} if tenant is not None else {}),
    }
