"""The shape of a table: its keys, indexes, stream and TTL, and the keys that an item has by it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

from infra.local.dynamodb.errors import DynamoError, invalid
from infra.local.dynamodb.keys import KEY_KINDS, RowKey, encoded
from infra.local.dynamodb.values import AttributeValue, Item
from infra.tables import Table

REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
MAX_PARTITION_BYTES: Final = 2048
MAX_SORT_BYTES: Final = 1024
_NO_SORT_KEY: Final = b""


@dataclass(frozen=True)
class KeyAttribute:
    """One attribute of a key; `kind` is S, N or B."""

    name: str
    kind: str


@dataclass(frozen=True)
class KeySchema:
    """A partition key, and a sort key where there is one."""

    partition: KeyAttribute
    sort: KeyAttribute | None

    @cached_property
    def attributes(self) -> tuple[KeyAttribute, ...]:
        """One or two attributes."""
        return (self.partition, self.sort) if self.sort else (self.partition,)

    def encoded(self, item: Item) -> RowKey:
        """The key of `item`, which must hold the attributes with the right types."""
        return RowKey(encoded(item[self.partition.name]), encoded(item[self.sort.name]) if self.sort else _NO_SORT_KEY)

    def wire(self) -> list[dict[str, str]]:
        """The `KeySchema` member of a table's description."""
        kinds = ("HASH", "RANGE")
        return [{"AttributeName": key.name, "KeyType": kind} for key, kind in zip(self.attributes, kinds, strict=False)]


@dataclass(frozen=True)
class IndexSchema:
    """A keys-only global secondary index. `number` names it in the data file."""

    number: int
    name: str
    keys: KeySchema


class IndexEntry(NamedTuple):
    """An item's place in an index, and the key attributes it is read with."""

    key: RowKey
    attributes: Item


@dataclass(frozen=True)
class TableSchema:
    """A table as the engine knows it. `tenant` tables are open only to keys that the calling tenant leads."""

    number: int
    name: str
    keys: KeySchema
    indexes: tuple[IndexSchema, ...]
    stream: bool
    tenant: bool
    created_ms: int
    ttl: str | None = None

    @classmethod
    def from_request(cls, request: Mapping[str, Any], *, number: int, tenant: bool, created_ms: int) -> Self:
        """The table that a CreateTable request asks for. Raises ValidationException for what is not kept locally."""
        kinds = {entry["AttributeName"]: entry["AttributeType"] for entry in request["AttributeDefinitions"]}
        if request.get("LocalSecondaryIndexes"):
            raise invalid("Local secondary indexes are not kept by the local engine.")
        keys = _key_schema(request["KeySchema"], kinds)
        indexes = tuple(
            IndexSchema(position, index["IndexName"], _index_keys(index, kinds))
            for position, index in enumerate(request.get("GlobalSecondaryIndexes", ()), start=1)
        )
        used = {key.name for schema in (keys, *(index.keys for index in indexes)) for key in schema.attributes}
        if used != set(kinds):
            raise invalid(
                "One or more parameter values were invalid: Some AttributeDefinitions are not used."
                f" AttributeDefinitions: {sorted(kinds)}, keys used: {sorted(used)}"
            )
        stream = bool(request.get("StreamSpecification", {}).get("StreamEnabled"))
        return cls(number, request["TableName"], keys, indexes, stream, tenant, created_ms)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads what `to_text` wrote."""
        kept = json.loads(text)
        schema = cls.from_request(
            kept["request"], number=kept["number"], tenant=kept["tenant"], created_ms=kept["created_ms"]
        )
        return replace(schema, ttl=kept["ttl"])

    def to_text(self) -> str:
        """The table as one JSON string, for the data file."""
        kept = {"number": self.number, "tenant": self.tenant, "created_ms": self.created_ms, "ttl": self.ttl}
        return json.dumps(kept | {"request": self.request()})

    def request(self) -> dict[str, Any]:
        """The CreateTable request that makes this table."""
        attributes = {key.name: key.kind for schema in self._all_keys() for key in schema.attributes}
        request: dict[str, Any] = {
            "TableName": self.name,
            "AttributeDefinitions": [{"AttributeName": n, "AttributeType": k} for n, k in attributes.items()],
            "KeySchema": self.keys.wire(),
            "BillingMode": "PAY_PER_REQUEST",
        }
        if self.indexes:
            request["GlobalSecondaryIndexes"] = [
                {"IndexName": index.name, "KeySchema": index.keys.wire(), "Projection": {"ProjectionType": "KEYS_ONLY"}}
                for index in self.indexes
            ]
        if self.stream:
            request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        return request

    def _all_keys(self) -> Iterator[KeySchema]:
        yield self.keys
        for index in self.indexes:
            yield index.keys

    @property
    def arn(self) -> str:
        """The ARN that policies name the table by."""
        return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{self.name}"

    def index(self, name: str) -> IndexSchema:
        """The index called `name`."""
        for index in self.indexes:
            if index.name == name:
                return index
        raise invalid(f"The table does not have the specified index: {name}")

    def key_of_request(self, key: Item) -> RowKey:
        """The row of a request's canonical `Key`, which holds the key attributes and nothing else."""
        attributes = self.keys.attributes
        if len(key) != len(attributes) or any(each.kind not in key.get(each.name, ()) for each in attributes):
            raise invalid("The provided key element does not match the schema")
        return self._row_key(key)

    def key_of_item(self, item: Item) -> RowKey:
        """The row of a canonical item that is to be put."""
        for attribute in self.keys.attributes:
            value = item.get(attribute.name)
            if value is None:
                raise invalid(
                    f"One or more parameter values were invalid: Missing the key {attribute.name} in the item"
                )
            if attribute.kind not in value:
                raise invalid(
                    f"One or more parameter values were invalid: Type mismatch for key {attribute.name}"
                    f" expected: {attribute.kind} actual: {_kind(value)}"
                )
        return self._row_key(item)

    def _row_key(self, item: Item) -> RowKey:
        for attribute in self.keys.attributes:
            if item[attribute.name][attribute.kind] in ("", b""):
                raise invalid(
                    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain"
                    f" an empty {_noun(attribute)} value. Key: {attribute.name}"
                )
        key = self.keys.encoded(item)
        check_key_size(key)
        return key

    def expect_index_keys(self, item: Item) -> None:
        """Raises ValidationException for attributes of a canonical item that are unfit as the index keys they are."""
        for index in self.indexes:
            for attribute in index.keys.attributes:
                if attribute.name in item:
                    _expect_index_value(index, attribute, item[attribute.name])
        for entry in self.index_entries(item).values():
            check_key_size(entry.key)

    def index_entries(self, item: Item) -> dict[int, IndexEntry]:
        """Where a canonical item stands in the indexes, by index number: in those whose keys it has and fits."""
        entries = {}
        primary = {each.name: item[each.name] for each in self.keys.attributes}
        for index in self.indexes:
            attributes = index.keys.attributes
            values = {key.name: item[key.name] for key in attributes if key.kind in item.get(key.name, ())}
            if len(values) == len(attributes):
                entries[index.number] = IndexEntry(index.keys.encoded(values), values | primary)
        return entries


def create_request(table: Table, name: str | None = None) -> dict[str, Any]:
    """The CreateTable request for a table of `infra.tables`, under its own name or another."""
    keys = KeySchema(KeyAttribute(table.partition_key, "S"), KeyAttribute(table.sort_key, table.sort_key_type))
    indexes = tuple(
        IndexSchema(
            position,
            index.name,
            KeySchema(KeyAttribute(index.partition_key, "S"), KeyAttribute(index.sort_key, "S")),
        )
        for position, index in enumerate(table.indexes, start=1)
    )
    return TableSchema(0, name or table.name, keys, indexes, table.stream, table.tenant, 0).request()


def check_key_size(key: RowKey) -> None:
    """Raises ValidationException for keys longer than DynamoDB takes."""
    if len(key.partition) > MAX_PARTITION_BYTES:
        raise invalid(
            "One or more parameter values were invalid:"
            f" Size of hashkey has exceeded the maximum size limit of{MAX_PARTITION_BYTES} bytes"
        )
    if len(key.sort) > MAX_SORT_BYTES:
        raise invalid(
            "One or more parameter values were invalid:"
            f" Aggregated size of all range keys has exceeded the size limit of {MAX_SORT_BYTES} bytes"
        )


def _key_schema(wire: list[dict[str, str]], kinds: Mapping[str, str]) -> KeySchema:
    for entry in wire:
        if kinds.get(entry["AttributeName"]) not in KEY_KINDS:
            raise invalid(
                "One or more parameter values were invalid: Some index key attributes are not defined in"
                f" AttributeDefinitions. Keys: [{entry['AttributeName']}]"
            )
    attributes = [KeyAttribute(entry["AttributeName"], kinds[entry["AttributeName"]]) for entry in wire]
    match [entry["KeyType"] for entry in wire]:
        case ["HASH"]:
            return KeySchema(attributes[0], None)
        case ["HASH", "RANGE"]:
            return KeySchema(attributes[0], attributes[1])
    raise invalid("1 validation error detected: Invalid KeySchema: a HASH key, then at most one RANGE key, is expected")


def _index_keys(index: Mapping[str, Any], kinds: Mapping[str, str]) -> KeySchema:
    if index["Projection"] != {"ProjectionType": "KEYS_ONLY"}:
        raise invalid(f"The local engine keeps keys-only indexes; {index['IndexName']} has another projection.")
    return _key_schema(index["KeySchema"], kinds)


def _expect_index_value(index: IndexSchema, attribute: KeyAttribute, value: AttributeValue) -> None:
    if attribute.kind not in value:
        raise DynamoError(
            "ValidationException",
            f"One or more parameter values were invalid: Type mismatch for Index Key {attribute.name}"
            f" Expected: {attribute.kind} Actual: {_kind(value)} IndexName: {index.name}",
        )
    if value[attribute.kind] in ("", b""):
        raise invalid(
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported."
            f" The AttributeValue for a key attribute cannot contain an empty {_noun(attribute)} value."
            f" IndexName: {index.name}, IndexKey: {attribute.name}"
        )


def _noun(attribute: KeyAttribute) -> str:
    return "string" if attribute.kind == "S" else "binary"


def _kind(value: AttributeValue) -> str:
    (kind,) = value
    return kind
