"""What a tenant's credentials may do with tenant data: the one IAM statement for AWS and for the local engine."""

from collections.abc import Sequence
from typing import Any, Final

TENANT_TAG: Final = "tenant"

TENANT_ACTIONS: Final = (
    "dynamodb:BatchGetItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:UpdateItem",
)
"""No Scan, and no PartiQL: neither can be held to a leading key. Transactions are authorised item by item."""


def tenant_policy(table_arns: Sequence[str]) -> dict[str, Any]:
    """The IAM statement of the data role: items whose partition key, or index partition key, the session's tag leads.

    ForAllValues is true for a request without leading keys, hence the Null guard on them. The guard on the tag refuses
    a session that was not tagged. Source: "Using IAM policy conditions for fine-grained access control" (DynamoDB).
    """
    return {
        "Sid": "TenantItems",
        "Effect": "Allow",
        "Action": list(TENANT_ACTIONS),
        "Resource": [resource for arn in table_arns for resource in (arn, f"{arn}/index/*")],
        "Condition": {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"${{aws:PrincipalTag/{TENANT_TAG}}}#*"]},
            "Null": {"dynamodb:LeadingKeys": "false", f"aws:PrincipalTag/{TENANT_TAG}": "false"},
        },
    }
