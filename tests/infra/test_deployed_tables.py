"""The tables of `infra/tables.py` as they are deployed, and their keys, which never change."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.tables import TABLES, Table
from tests.infra.synthesised import Synthesis

KEY_SCHEMAS = Path(__file__).with_name("key_schemas.json")


def schema(table: Table) -> dict[str, Any]:
    return {
        "keys": {table.partition_key: "S", table.sort_key: table.sort_key_type},
        "indexes": {index.name: [index.partition_key, index.sort_key] for index in table.indexes},
        "ttl": table.ttl,
    }


def test_no_key_of_a_table_or_index_has_changed() -> None:
    """CloudFormation replaces a table whose key changes, and adds one index at a time, filling it first.

    A new table, or one new index, is added to `key_schemas.json` by hand. Nothing else there may change.
    """
    assert {table.name: schema(table) for table in TABLES} == json.loads(KEY_SCHEMAS.read_text())


def deployed(synthesis: Synthesis, table: Table) -> Mapping[str, Any]:
    """The resource behind the variable through which functions learn the table's name."""
    value = synthesis.api.functions()["agents"]["Environment"]["Variables"][table.environment]
    output = synthesis.data.json["Outputs"][value["Fn::GetStackOutput"]["OutputName"]]
    return synthesis.data.resources[output["Value"]["Ref"]]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_is_deployed_under_its_name_with_its_keys_indexes_ttl_and_stream(
    synthesis: Synthesis, table: Table
) -> None:
    properties = deployed(synthesis, table)["Properties"]

    assert properties["TableName"] == f"agentkeep-dev-{table.name}"
    types = {each["AttributeName"]: each["AttributeType"] for each in properties["AttributeDefinitions"]}
    assert keys(properties) == [(table.partition_key, "HASH"), (table.sort_key, "RANGE")]
    assert types[table.partition_key] == "S"
    assert types[table.sort_key] == table.sort_key_type
    assert {index["IndexName"]: keys(index) for index in properties["GlobalSecondaryIndexes"]} == {
        index.name: [(index.partition_key, "HASH"), (index.sort_key, "RANGE")] for index in table.indexes
    }
    assert {index["Projection"]["ProjectionType"] for index in properties["GlobalSecondaryIndexes"]} == {"KEYS_ONLY"}
    assert {types[name] for index in table.indexes for name in (index.partition_key, index.sort_key)} == {"S"}
    assert properties["TimeToLiveSpecification"] == {"AttributeName": table.ttl, "Enabled": True}
    stream = {"StreamViewType": "NEW_AND_OLD_IMAGES"} if table.stream else None
    assert properties.get("StreamSpecification") == stream


def keys(properties: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(each["AttributeName"], each["KeyType"]) for each in properties["KeySchema"]]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_is_encrypted_restorable_and_not_deleted(synthesis: Synthesis, table: Table) -> None:
    resource = deployed(synthesis, table)
    (replica,) = resource["Properties"]["Replicas"]

    (key,) = synthesis.data.of_type("AWS::KMS::Key")
    assert resource["Properties"]["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    assert replica["SSESpecification"] == {"KMSMasterKeyId": {"Fn::GetAtt": [key, "Arn"]}}
    assert replica["PointInTimeRecoverySpecification"] == {
        "PointInTimeRecoveryEnabled": True,
        "RecoveryPeriodInDays": 35,
    }
    assert replica["DeletionProtectionEnabled"] is True
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_is_paid_by_use_under_a_cap(synthesis: Synthesis, table: Table) -> None:
    properties = deployed(synthesis, table)["Properties"]

    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    for capped in (properties, *properties["GlobalSecondaryIndexes"]):
        assert capped["WriteOnDemandThroughputSettings"] == {"MaxWriteRequestUnits": 2000}
    (replica,) = properties["Replicas"]
    assert replica["ReadOnDemandThroughputSettings"] == {"MaxReadRequestUnits": 4000}
    for index in replica["GlobalSecondaryIndexes"]:
        assert index["ReadOnDemandThroughputSettings"] == {"MaxReadRequestUnits": 4000}


def test_no_other_table_is_deployed(synthesis: Synthesis) -> None:
    assert len(synthesis.data.of_type("AWS::DynamoDB::GlobalTable")) == len(TABLES)
