"""What holds for every resource: cdk-nag, cfn-lint, retention, tags, sizes, outputs."""

import re

import pytest
from cfnlint.api import lint  # type: ignore[import-untyped]
from cfnlint.core import get_rules  # type: ignore[import-untyped]

from tests.infra.synthesised import Synthesis, Template

METHODS = r"Api/Rest/Api/Default/.*"
OPEN = rf"{METHODS}OPTIONS/Resource|{METHODS}(health|ready)/.*ANY/Resource"

ACCEPTED = {
    (r"AwsSolutions-S1", r"Data/Objects/Resource"): (
        "Objects are reached only under the tenant's session, which CloudTrail data events log for whoever needs it."
    ),
    (r"AwsSolutions-SMG4", r"Data/Providers/Resource"): (
        "The keys are other companies': they are renewed there and put here, and no function of AWS can rotate them."
    ),
    (
        r"AwsSolutions-IAM5\[Resource::<(Entities|Messages)\w+\.Arn>/index/\*\]",
        r"Data/TenantData/DefaultPolicy/Resource",
    ): ("Index keys begin with the tenant as well, and the condition on the leading key holds for them too."),
    (
        r"AwsSolutions-IAM5\[Resource::<Objects\w+\.Arn>/<aws:PrincipalTag/tenant>/\*\]",
        r"Data/TenantData/DefaultPolicy/Resource",
    ): "The tenant's own prefix is what the statement is there to give.",
    (r"AwsSolutions-IAM5\[Resource::\*\]", r"Api/\w+/Role/DefaultPolicy/Resource"): "X-Ray knows no resources.",
    (r"AwsSolutions-IAM4\[.*AmazonAPIGatewayPushToCloudWatchLogs\]", r"Api/Rest/Api/CloudWatchRole/Resource"): (
        "API Gateway asks for this policy to write its logs in an account."
    ),
    (r"AwsSolutions-APIG2", r"Api/Rest/Api/Resource"): (
        "Requests are checked by the functions, which name the field that is wrong and ignore unknown ones."
    ),
    (r"AwsSolutions-APIG3", r"Api/Rest/Api/DeploymentStage.*/Resource"): (
        "API Gateway itself turns away who has no key, and the stage is throttled; a firewall is the user's choice."
    ),
    (r"AwsSolutions-COG4", METHODS): "Keys are checked by our own authorizer; Cognito is not part of the deployment.",
    (r"AwsSolutions-APIG4", OPEN): "Browsers send no key with a preflight, and probes none with health and ready.",
}
"""Findings of cdk-nag that stand, by rule and construct, with the reason. One that no longer occurs has to go."""


def findings(synthesis: Synthesis) -> set[tuple[str, str]]:
    from cdk_nag import AwsSolutionsChecks

    report = AwsSolutionsChecks(synthesis.app).validate_scope(synthesis.app)
    return {
        (violation.rule_name, resource.construct_path or "")
        for violation in report.violations
        for resource in violation.violating_resources
    }


def accepts(entry: tuple[str, str], finding: tuple[str, str]) -> bool:
    return all(re.fullmatch(pattern, text) for pattern, text in zip(entry, finding, strict=True))


def test_cdk_nag_finds_what_is_accepted_with_a_reason_and_nothing_else(synthesis: Synthesis) -> None:
    found = findings(synthesis)

    assert [each for each in sorted(found) if not any(accepts(entry, each) for entry in ACCEPTED)] == []
    assert [entry for entry in ACCEPTED if not any(accepts(entry, each) for each in found)] == []


DEPENDS_TWICE = "W3005"
"""A dependency that a reference implies already: the CDK writes both, and neither hurts."""


@pytest.mark.parametrize("stack", ["data", "api"])
def test_cfn_lint_finds_nothing(synthesis: Synthesis, stack: str) -> None:
    template: Template = getattr(synthesis, stack)

    rules = get_rules([], [DEPENDS_TWICE], [], {}, include_experimental=False)
    matches = lint(template.text, rules=rules, regions=["us-east-1"])

    assert [f"{match.rule.id} {match.path}: {match.message}" for match in matches] == []


@pytest.mark.parametrize("stack", ["data", "api"])
def test_every_log_group_forgets_after_the_days_of_the_settings(synthesis: Synthesis, stack: str) -> None:
    template: Template = getattr(synthesis, stack)

    assert {group["Properties"]["RetentionInDays"] for group in template.of_type("AWS::Logs::LogGroup").values()} <= {
        30
    }


TAGGED = {
    "AWS::DynamoDB::GlobalTable",
    "AWS::KMS::Key",
    "AWS::S3::Bucket",
    "AWS::SecretsManager::Secret",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::ApiGateway::RestApi",
    "AWS::ApiGateway::Stage",
}


def test_what_costs_money_is_tagged_with_application_and_stage(synthesis: Synthesis) -> None:
    expected = [{"Key": "application", "Value": "agentkeep"}, {"Key": "stage", "Value": "dev"}]
    for template in (synthesis.data, synthesis.api):
        for name, resource in template.resources.items():
            if resource["Type"] == "AWS::DynamoDB::GlobalTable":
                assert resource["Properties"]["Replicas"][0]["Tags"] == expected, name
            elif resource["Type"] in TAGGED:
                assert resource["Properties"]["Tags"] == expected, name


@pytest.mark.parametrize("stack", ["data", "api"])
def test_template_stays_below_the_limits_of_cloudformation(synthesis: Synthesis, stack: str) -> None:
    """1 MB, 500 resources and 200 outputs (CloudFormation user guide, quotas): about half of it, to see it coming."""
    template: Template = getattr(synthesis, stack)

    assert len(template.text.encode()) < 500_000
    assert len(template.resources) < 300
    assert len(template.json["Outputs"]) < 100


def test_outputs_say_where_the_api_and_the_tables_are_and_how_to_make_a_key(synthesis: Synthesis) -> None:
    assert {"ApiUrl", "FirstKey"} == set(synthesis.api.json["Outputs"])
    assert {
        "EntitiesTableName",
        "MessagesTableName",
        "SystemTableName",
        "BucketName",
        "ProvidersSecretName",
    } <= set(synthesis.data.json["Outputs"])
    assert synthesis.api.json["Outputs"]["FirstKey"]["Value"].startswith("uv run agentkeep keys create --stage dev ")


def test_bucket_is_private_encrypted_with_our_key_and_refuses_plain_http(synthesis: Synthesis) -> None:
    ((_, bucket),) = synthesis.data.of_type("AWS::S3::Bucket").items()
    ((_, policy),) = synthesis.data.of_type("AWS::S3::BucketPolicy").items()

    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    (rule,) = bucket["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    denied = [statement["Condition"] for statement in policy["Properties"]["PolicyDocument"]["Statement"]]
    assert {"Bool": {"aws:SecureTransport": "false"}} in denied
