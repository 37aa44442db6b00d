"""A DynamoDB table of `infra/tables.py` as it stands in AWS."""

from typing import Final

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.settings import Settings
from infra.tables import Index, KeyType
from infra.tables import Table as Definition

_TYPES: Final = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}


class Table(dynamodb.TableV2):
    """On demand under a cap, encrypted with our key, restorable to any second of the recovery days, kept on removal."""

    def __init__(
        self, scope: Construct, construct_id: str, *, definition: Definition, key: kms.IKey, settings: Settings
    ) -> None:
        retained = settings.removal == "retain"
        super().__init__(
            scope,
            construct_id,
            table_name=f"{settings.prefix}-{definition.name}",
            partition_key=_attribute(definition.partition_key, "S"),
            sort_key=_attribute(definition.sort_key, definition.sort_key_type),
            global_secondary_indexes=[_index(index, settings) for index in definition.indexes],
            time_to_live_attribute=definition.ttl,
            dynamo_stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES if definition.stream else None,
            billing=dynamodb.Billing.on_demand(
                max_read_request_units=settings.max_read_units, max_write_request_units=settings.max_write_units
            ),
            encryption=dynamodb.TableEncryptionV2.customer_managed_key(key),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True, recovery_period_in_days=settings.recovery_days
            ),
            deletion_protection=retained,
            removal_policy=RemovalPolicy.RETAIN if retained else RemovalPolicy.DESTROY,
        )


def _attribute(name: str, kind: KeyType) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=_TYPES[kind])


def _index(index: Index, settings: Settings) -> dynamodb.GlobalSecondaryIndexPropsV2:
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_key=_attribute(index.partition_key, "S"),
        sort_key=_attribute(index.sort_key, "S"),
        projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        max_read_request_units=settings.max_read_units,
        max_write_request_units=settings.max_write_units,
    )
