"""Who may do what: the roles of the functions, the data role, and nothing beyond the tables of grants."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from infra.policy import TENANT_ACTIONS
from infra.stacks.access import NO_TENANT_DATA, PROVIDER_ACCESS, SYSTEM_ACCESS
from tests.infra.synthesised import Synthesis, Template

WILDCARDS = {
    ("xray:PutTelemetryRecords", "*"): "X-Ray knows no resources (service authorization reference, AWS X-Ray).",
    ("xray:PutTraceSegments", "*"): "The same.",
}
"""The only rights on everything. `<table>/index/*` and `<bucket>/<tenant>/*` are parts of one resource each."""


def roles(template: Template) -> list[str]:
    return list(template.of_type("AWS::IAM::Role"))


def function_roles(synthesis: Synthesis) -> dict[str, str]:
    return {name: properties["Role"]["Fn::GetAtt"][0] for name, properties in synthesis.api.functions().items()}


def rights(template: Template, role: str) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """(action, resource, conditions) of each right of a role."""
    for statement in template.statements(role):
        assert statement["Effect"] == "Allow"
        for action in as_list(statement["Action"]):
            for resource in as_list(statement["Resource"]):
                yield action, resource, statement.get("Condition", {})


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def of_service(synthesis: Synthesis, function: str, service: str) -> list[tuple[str, Any, Mapping[str, Any]]]:
    found = rights(synthesis.api, function_roles(synthesis)[function])
    return [right for right in found if right[0].startswith(f"{service}:")]


def resolved(synthesis: Synthesis, value: Mapping[str, Any]) -> Any:
    """A reference of the API stack to the data stack, as the data stack has it."""
    return synthesis.data.json["Outputs"][value["Fn::GetStackOutput"]["OutputName"]]["Value"]


def test_no_right_is_on_everything_beyond_the_named_exceptions(synthesis: Synthesis) -> None:
    found = {
        (action, resource)
        for template in (synthesis.data, synthesis.api)
        for role in roles(template)
        for action, resource, _ in rights(template, role)
        if "*" in action or resource == "*"
    }

    assert found == set(WILDCARDS)


def test_roles_hold_no_managed_policy_but_api_gateways_own(synthesis: Synthesis) -> None:
    managed = {
        role: properties["Properties"]["ManagedPolicyArns"]
        for template in (synthesis.data, synthesis.api)
        for role, properties in template.of_type("AWS::IAM::Role").items()
        if "ManagedPolicyArns" in properties["Properties"]
    }

    assert [role.startswith("RestApiCloudWatchRole") for role in managed] == [True]


def test_no_function_has_rights_on_a_tenant_table_or_object(synthesis: Synthesis) -> None:
    for function in function_roles(synthesis):
        assert not of_service(synthesis, function, "s3")
        if function not in SYSTEM_ACCESS:
            assert not of_service(synthesis, function, "dynamodb")
            assert not of_service(synthesis, function, "kms")


def test_only_the_functions_of_the_table_of_grants_reach_the_system_table(synthesis: Synthesis) -> None:
    reaching = {name for name in function_roles(synthesis) if of_service(synthesis, name, "dynamodb")}

    assert reaching == set(SYSTEM_ACCESS)


def test_authorizer_reads_keys_by_id_and_nothing_else(synthesis: Synthesis) -> None:
    ((action, table, conditions),) = of_service(synthesis, "authorizer", "dynamodb")

    assert action == "dynamodb:GetItem"
    assert resolved(synthesis, table) == {
        "Fn::GetAtt": [logical_id(synthesis, "AWS::DynamoDB::GlobalTable", "System"), "Arn"]
    }
    assert conditions == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["key#*"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }


def logical_id(synthesis: Synthesis, kind: str, prefix: str) -> str:
    (found,) = (name for name in synthesis.data.of_type(kind) if name.startswith(prefix))
    return found


def test_functions_take_the_data_role_unless_the_table_of_grants_says_why_not(synthesis: Synthesis) -> None:
    taking = {name: of_service(synthesis, name, "sts") for name in function_roles(synthesis)}

    assert {name for name, found in taking.items() if not found} == set(NO_TENANT_DATA)
    for found in filter(None, taking.values()):
        assert [action for action, _, _ in found] == ["sts:AssumeRole", "sts:TagSession"]
        assert {str(resolved(synthesis, role)) for _, role, _ in found} == {
            str({"Fn::GetAtt": [logical_id(synthesis, "AWS::IAM::Role", "TenantData"), "Arn"]})
        }


def test_only_the_functions_of_the_table_of_grants_read_provider_keys(synthesis: Synthesis) -> None:
    reading = {name: of_service(synthesis, name, "secretsmanager") for name in function_roles(synthesis)}
    variables = {name: found["Environment"]["Variables"] for name, found in synthesis.api.functions().items()}

    assert {name for name, found in reading.items() if found} == set(PROVIDER_ACCESS)
    assert {name for name, found in variables.items() if "AGENTKEEP_PROVIDERS_SECRET" in found} == set(PROVIDER_ACCESS)
    assert {action for found in reading.values() for action, _, _ in found} == {"secretsmanager:GetSecretValue"}


@pytest.fixture
def data_role(synthesis: Synthesis) -> str:
    return logical_id(synthesis, "AWS::IAM::Role", "TenantData")


def test_data_role_reaches_only_items_of_the_tenant_in_the_session_tag(synthesis: Synthesis, data_role: str) -> None:
    items = [right for right in rights(synthesis.data, data_role) if right[0].startswith("dynamodb:")]

    system = logical_id(synthesis, "AWS::DynamoDB::GlobalTable", "System")
    assert {action for action, _, _ in items} == set(TENANT_ACTIONS)
    assert "dynamodb:Scan" not in TENANT_ACTIONS
    assert not [resource for _, resource, _ in items if system in str(resource)]
    for _, _, conditions in items:
        assert conditions == {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["${aws:PrincipalTag/tenant}#*"]},
            "Null": {"dynamodb:LeadingKeys": "false", "aws:PrincipalTag/tenant": "false"},
        }


def test_data_role_reaches_only_objects_below_the_tenants_prefix(synthesis: Synthesis, data_role: str) -> None:
    objects = [right for right in rights(synthesis.data, data_role) if right[0].startswith("s3:")]

    bucket = {"Fn::GetAtt": [logical_id(synthesis, "AWS::S3::Bucket", "Objects"), "Arn"]}
    assert {action for action, _, _ in objects} == {"s3:GetObject", "s3:PutObject"}
    for _, resource, _ in objects:
        assert resource == {"Fn::Join": ["", [bucket, "/${aws:PrincipalTag/tenant}/*"]]}


def test_data_role_uses_the_key_for_the_tenants_context_or_through_a_service(
    synthesis: Synthesis, data_role: str
) -> None:
    uses = [right for right in rights(synthesis.data, data_role) if right[0].startswith("kms:")]

    by_condition: dict[str, set[str]] = {}
    for action, _, conditions in uses:
        by_condition.setdefault(str(conditions["StringEquals"]), set()).add(action)
    assert by_condition == {
        "{'kms:EncryptionContext:tenant': '${aws:PrincipalTag/tenant}'}": {"kms:Decrypt", "kms:Encrypt"},
        "{'kms:ViaService': 's3.us-east-1.amazonaws.com'}": {"kms:Decrypt", "kms:GenerateDataKey"},
        "{'kms:ViaService': 'dynamodb.us-east-1.amazonaws.com'}": {
            "kms:Decrypt",
            "kms:DescribeKey",
            "kms:Encrypt",
            "kms:GenerateDataKey",
            "kms:ReEncryptFrom",
            "kms:ReEncryptTo",
        },
    }


def test_data_role_is_taken_by_our_functions_only_and_only_with_a_tenant(synthesis: Synthesis, data_role: str) -> None:
    (trust,) = synthesis.data.resources[data_role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    condition = trust["Condition"]

    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert condition["StringLike"] == {"aws:RequestTag/tenant": "?*"}
    assert condition["ForAllValues:StringEquals"] == {"aws:TagKeys": ["tenant"]}
    assert condition["ArnLike"]["aws:PrincipalArn"]["Fn::Join"][1][-1] == ":role/agentkeep/dev/functions/*"
    paths = {synthesis.api.resources[role]["Properties"]["Path"] for role in function_roles(synthesis).values()}
    assert paths == {"/agentkeep/dev/functions/"}


def test_key_policy_names_no_one_outside_the_account(synthesis: Synthesis) -> None:
    ((_, key),) = synthesis.data.of_type("AWS::KMS::Key").items()
    (statement,) = key["Properties"]["KeyPolicy"]["Statement"]

    assert key["Properties"]["EnableKeyRotation"] is True
    assert statement["Principal"]["AWS"]["Fn::Join"][1] == ["arn:aws:iam::", {"Ref": "AWS::AccountId"}, ":root"]
