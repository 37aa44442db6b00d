"""The policy statements that stacks grant, one function for each kind of right."""

from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from infra.policy import TENANT_TAG
from infra.stacks.access import SystemAccess

KEY_TO_READ: Final = ("kms:Decrypt", "kms:DescribeKey")
KEY_TO_WRITE: Final = ("kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo")
"""What DynamoDB may do with a table's key in the name of its caller (developer guide, "Encryption at rest")."""

TENANT: Final = f"${{aws:PrincipalTag/{TENANT_TAG}}}"


def taking(role: iam.IRole) -> iam.PolicyStatement:
    """Assuming the data role under a session tag."""
    return iam.PolicyStatement(actions=["sts:AssumeRole", "sts:TagSession"], resources=[role.role_arn])


def system_items(table_arn: str, access: SystemAccess) -> iam.PolicyStatement:
    """The items of the system table that `access` names."""
    return iam.PolicyStatement(
        actions=list(access.actions),
        resources=[table_arn],
        conditions={
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(access.leading_keys)},
            "Null": {"dynamodb:LeadingKeys": "false"},
        },
    )


def reading(secret_arn: str) -> iam.PolicyStatement:
    """The value of one secret."""
    return iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[secret_arn])


def own_objects(bucket: s3.IBucket) -> iam.PolicyStatement:
    """Objects under the tenant's own prefix. They are never listed, and none is deleted."""
    return iam.PolicyStatement(
        actions=["s3:GetObject", "s3:PutObject"],
        resources=[bucket.arn_for_objects(f"{TENANT}/*")],
    )


def own_secrets(key: kms.IKey) -> iam.PolicyStatement:
    """Sealing and opening values whose encryption context names the tenant."""
    return iam.PolicyStatement(
        actions=["kms:Encrypt", "kms:Decrypt"],
        resources=[key.key_arn],
        conditions={"StringEquals": {"kms:EncryptionContext:tenant": TENANT}},
    )


def through(key: kms.IKey, service: str, *actions: str) -> iam.PolicyStatement:
    """The key as `service` uses it for whoever calls that service, never as the caller would use it directly."""
    return iam.PolicyStatement(
        actions=list(actions),
        resources=[key.key_arn],
        conditions={"StringEquals": {"kms:ViaService": f"{service}.{Stack.of(key).region}.amazonaws.com"}},
    )
