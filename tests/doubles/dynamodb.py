"""The two DynamoDBs that the same tests run on: the local engine behind its door, and moto."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, cast

import pytest
from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import ClientError
from botocore.session import Session
from moto import mock_aws

from infra.local.dynamodb.engine import Engine
from infra.local.dynamodb.hook import install

REGION = "us-east-1"
_numbers = itertools.count(1)
_deserializer = TypeDeserializer()


class TableClient:
    """A client's operations with the name of one table filled in."""

    def __init__(self, client: Any, name: str, *, exact: bool) -> None:
        self.client = client
        self.name = name
        self.exact = exact
        """Whether this is the engine, held to AWS's rules, and not moto."""

    def __getattr__(self, operation: str) -> Any:
        if operation.startswith("_"):
            raise AttributeError(operation)
        return lambda **request: getattr(self.client, operation)(TableName=self.name, **request)

    def put(self, pk: str, sk: str, **attributes: Any) -> None:
        """Puts an item with wire values under a key of two texts."""
        self.put_item(Item={**key(pk, sk), **attributes})

    def read(self, pk: str, sk: str) -> dict[str, Any] | None:
        """An item as Python values, without its key."""
        item = self.get_item(Key=key(pk, sk), ConsistentRead=True).get("Item")
        return None if item is None else {n: v for n, v in plain(item).items() if n not in ("pk", "sk")}


def key(pk: str, sk: str) -> dict[str, Any]:
    """The wire form of a key of two texts."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Wire values as Python values: Decimal, set, bytes, list, dict."""
    return {name: _deserializer.deserialize(cast(Any, value)) for name, value in item.items()}


def number(value: int | str | Decimal) -> dict[str, str]:
    """The wire form of a number."""
    return {"N": str(value)}


@contextmanager
def refused(code: str, text: str = "") -> Iterator[pytest.ExceptionInfo[ClientError]]:
    """Expects the call inside to be answered with an error code, and a text in its message."""
    with pytest.raises(ClientError) as caught:
        yield caught
    error = caught.value.response["Error"]
    assert error["Code"] == code
    assert text in error["Message"]


def definition(name: str, *, sort_kind: str = "S", partition_kind: str = "S") -> dict[str, Any]:
    """A CreateTable request: pk and sk, one keys-only index, a stream."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": partition_kind},
            {"AttributeName": "sk", "AttributeType": sort_kind},
            {"AttributeName": "gsi1pk", "AttributeType": "S"},
            {"AttributeName": "gsi1sk", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "gsi1",
                "KeySchema": [
                    {"AttributeName": "gsi1pk", "KeyType": "HASH"},
                    {"AttributeName": "gsi1sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def engine_client(engine: Engine, service: str = "dynamodb") -> Any:
    """A client that reaches the engine."""
    session = Session()
    install(engine, session)
    return session.create_client(service, region_name=REGION)


@contextmanager
def moto_client() -> Iterator[Any]:
    """A client that reaches moto."""
    with mock_aws():
        yield Session().create_client("dynamodb", region_name=REGION)


def new_table(client: Any, *, exact: bool, **kinds: str) -> TableClient:
    """An empty table of a name not used before."""
    name = f"table-{next(_numbers)}"
    client.create_table(**definition(name, **kinds))
    return TableClient(client, name, exact=exact)
