"""Isolation is tried, not hoped for: clients of a tenant reach that tenant's keys and nothing else."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest
from botocore.session import Session

from agentkeep.tenancy.context import current_tenant
from infra.local.dynamodb.access import Rights, allows
from infra.local.dynamodb.engine import Engine, create_tables
from infra.local.dynamodb.hook import install
from tests.doubles.dynamodb import REGION, key, number, refused

ITEMS = "entities"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.in_memory() as opened:
        create_tables(opened)
        yield opened


@pytest.fixture
def as_tenant() -> Iterator[None]:
    token = current_tenant.set("tenanta1")
    yield
    current_tenant.reset(token)


@lru_cache
def connected(engine: Engine, rights: Rights, service: str = "dynamodb") -> Any:
    """A client of a session with these rights."""
    session = Session()
    install(engine, session, rights)
    return session.create_client(service, region_name=REGION)


def own(sort: str = "s", partition: str = "tenanta1#agent") -> dict[str, Any]:
    """A key of the tenant."""
    return key(partition, sort)


def others(sort: str = "s") -> dict[str, Any]:
    """A key of another tenant."""
    return key("tenantb2#agent", sort)


def query(partition: str, index: str | None = None) -> dict[str, Any]:
    """A Query for one partition of the entities or of an index."""
    name = f"{index}pk" if index else "pk"
    return {
        "TableName": ITEMS,
        "KeyConditionExpression": f"{name} = :p",
        "ExpressionAttributeValues": {":p": {"S": partition}},
        **({"IndexName": index} if index else {}),
    }


Call = Callable[[Any, dict[str, Any]], Any]
CALLS: dict[str, Call] = {
    "get": lambda c, k: c.get_item(TableName=ITEMS, Key=k),
    "put": lambda c, k: c.put_item(TableName=ITEMS, Item=k),
    "delete": lambda c, k: c.delete_item(TableName=ITEMS, Key=k),
    "update": lambda c, k: c.update_item(TableName=ITEMS, Key=k),
    "query": lambda c, k: c.query(**query(k["pk"]["S"])),
    "query of an index": lambda c, k: c.query(**query(k["pk"]["S"], "gsi1")),
    "batch get": lambda c, k: c.batch_get_item(RequestItems={ITEMS: {"Keys": [own("x"), k]}}),
    "batch put": lambda c, k: c.batch_write_item(RequestItems={ITEMS: [{"PutRequest": {"Item": k}}]}),
    "batch delete": lambda c, k: c.batch_write_item(RequestItems={ITEMS: [{"DeleteRequest": {"Key": k}}]}),
    "transact get": lambda c, k: c.transact_get_items(TransactItems=[{"Get": {"TableName": ITEMS, "Key": k}}]),
    "transact put": lambda c, k: c.transact_write_items(TransactItems=[{"Put": {"TableName": ITEMS, "Item": k}}]),
    "transact delete": lambda c, k: c.transact_write_items(TransactItems=[{"Delete": {"TableName": ITEMS, "Key": k}}]),
    "transact update": lambda c, k: c.transact_write_items(
        TransactItems=[{"Update": {"TableName": ITEMS, "Key": k, "UpdateExpression": "REMOVE x"}}]
    ),
    "transact check": lambda c, k: c.transact_write_items(
        TransactItems=[
            {"ConditionCheck": {"TableName": ITEMS, "Key": k, "ConditionExpression": "attribute_not_exists(x)"}},
            {"Put": {"TableName": ITEMS, "Item": own("y")}},
        ]
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.usefixtures("as_tenant")
def test_tenant_reaches_its_own_items_only(engine: Engine, call: str) -> None:
    client = connected(engine, "tenant")

    CALLS[call](client, own())
    with refused("AccessDeniedException", "not authorized to perform: dynamodb:"):
        CALLS[call](client, others())


@pytest.mark.parametrize("partition", ["tenanta1", "tenanta1x#agent", "#agent", "*#agent", "tenantA1#agent"])
@pytest.mark.usefixtures("as_tenant")
def test_only_the_tenant_and_its_delimiter_lead_a_key(engine: Engine, partition: str) -> None:
    with refused("AccessDeniedException"):
        CALLS["get"](connected(engine, "tenant"), own(partition=partition))


@pytest.mark.parametrize("tenant", ["*", "tenant??"])
def test_wildcards_in_a_tenant_are_letters(engine: Engine, tenant: str) -> None:
    token = current_tenant.set(tenant)

    with refused("AccessDeniedException"):
        CALLS["get"](connected(engine, "tenant"), own())

    current_tenant.reset(token)


def test_without_a_tenant_nothing_is_reached(engine: Engine) -> None:
    with refused("AccessDeniedException"):
        CALLS["get"](connected(engine, "tenant"), own())


@pytest.mark.usefixtures("as_tenant")
def test_scan_is_refused_and_so_is_what_looks_at_the_table(engine: Engine) -> None:
    client = connected(engine, "both")

    for call in (client.scan, client.describe_table, client.delete_table, client.describe_time_to_live):
        with refused("AccessDeniedException"):
            call(TableName=ITEMS)
        with refused("AccessDeniedException"):
            call(TableName=f"arn:aws:dynamodb:{REGION}:000000000000:table/{ITEMS}")


@pytest.mark.usefixtures("as_tenant")
def test_item_may_not_enter_an_index_under_another_tenant(engine: Engine) -> None:
    item = {**own(), "gsi1pk": {"S": "tenantb2#list"}, "gsi1sk": {"S": "1"}}

    with refused("AccessDeniedException"):
        CALLS["put"](connected(engine, "tenant"), item)


@pytest.mark.usefixtures("as_tenant")
def test_stream_of_a_tenant_table_is_not_open_to_functions(engine: Engine) -> None:
    described = engine.call("DescribeTable", {"TableName": ITEMS})["Table"]

    with refused("AccessDeniedException"):
        connected(engine, "both", "dynamodbstreams").describe_stream(StreamArn=described["LatestStreamArn"])


@pytest.mark.usefixtures("as_tenant")
def test_system_table_is_for_the_systems_rights_and_tenant_tables_are_not(engine: Engine) -> None:
    item = {**key("key#1", "state"), "n": number(1)}

    connected(engine, "system").put_item(TableName="system", Item=item)

    assert connected(engine, "system").scan(TableName="system")["Count"] == 1
    with refused("AccessDeniedException"):
        connected(engine, "tenant").get_item(TableName="system", Key=key("key#1", "state"))
    with refused("AccessDeniedException"):
        CALLS["get"](connected(engine, "system"), own())


@pytest.mark.usefixtures("as_tenant")
def test_refused_call_does_not_reach_the_engine(engine: Engine) -> None:
    engine.counters.reset()

    with refused("AccessDeniedException"):
        CALLS["put"](connected(engine, "tenant"), others("refused"))

    assert engine.counters.counts.total_calls == 0
    assert "Item" not in engine.call("GetItem", {"TableName": ITEMS, "Key": others("refused")})


def test_policy_of_another_shape_is_not_passed_over() -> None:
    statement = {"Effect": "Deny", "Action": ["dynamodb:GetItem"], "Resource": ["*"], "Condition": {}}

    with pytest.raises(NotImplementedError):
        allows(statement, None)  # type: ignore[arg-type]
