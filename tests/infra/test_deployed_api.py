"""The stage of the REST API: limits, logs, the authorizer, and what API Gateway answers by itself."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.infra.conftest import SynthesiseWith
from tests.infra.synthesised import Synthesis, Template


def only(template: Template, kind: str) -> Mapping[str, Any]:
    (resource,) = template.of_type(kind).values()
    properties: Mapping[str, Any] = resource["Properties"]
    return properties


def gateway_responses(template: Template) -> dict[str, Mapping[str, Any]]:
    found = template.of_type("AWS::ApiGateway::GatewayResponse").values()
    return {response["Properties"]["ResponseType"]: response["Properties"] for response in found}


def test_endpoint_is_regional_because_an_edge_one_cuts_silent_streams(synthesis: Synthesis) -> None:
    assert only(synthesis.api, "AWS::ApiGateway::RestApi")["EndpointConfiguration"] == {"Types": ["REGIONAL"]}


def test_stage_is_throttled_traced_and_logs_no_bodies(synthesis: Synthesis) -> None:
    stage = only(synthesis.api, "AWS::ApiGateway::Stage")
    (settings,) = stage["MethodSettings"]

    assert stage["StageName"] == "dev"
    assert stage["TracingEnabled"] is True
    assert (settings["ResourcePath"], settings["HttpMethod"]) == ("/*", "*")
    assert (settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]) == (200, 400)
    assert settings["DataTraceEnabled"] is False
    assert settings["LoggingLevel"] == "ERROR"


def test_access_line_names_the_caller_and_holds_neither_body_query_nor_key(synthesis: Synthesis) -> None:
    line = json.loads(only(synthesis.api, "AWS::ApiGateway::Stage")["AccessLogSetting"]["Format"])

    assert line["tenant"] == "$context.authorizer.tenant"
    assert line["key_id"] == "$context.authorizer.key_id"
    assert all(value.startswith("$context.") for value in line.values())
    assert not [value for value in line.values() if "body" in value or "querystring" in value or "header" in value]


def test_gateways_own_log_group_is_there_before_the_stage_and_ends(synthesis: Synthesis) -> None:
    ((_, stage),) = synthesis.api.of_type("AWS::ApiGateway::Stage").items()
    (group,) = (name for name in stage["DependsOn"] if name in synthesis.api.of_type("AWS::Logs::LogGroup"))

    properties = synthesis.api.resources[group]["Properties"]
    name = properties["LogGroupName"]["Fn::Join"][1]
    assert (name[0], name[-1]) == ("API-Gateway-Execution-Logs_", "/dev")
    assert properties["RetentionInDays"] == 30


def test_every_log_group_ends_when_the_settings_say(synthesise_with: SynthesiseWith) -> None:
    groups = synthesise_with(log_retention_days="7").api.of_type("AWS::Logs::LogGroup").values()

    assert {group["Properties"].get("RetentionInDays") for group in groups} == {7}


def test_authorizer_is_asked_once_a_minute_for_each_key(synthesis: Synthesis) -> None:
    authorizer = only(synthesis.api, "AWS::ApiGateway::Authorizer")

    assert authorizer["Type"] == "REQUEST"
    assert authorizer["IdentitySource"] == "method.request.header.Authorization"
    assert authorizer["AuthorizerResultTtlInSeconds"] == 60


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("UNAUTHORIZED", "401"),
        ("ACCESS_DENIED", "403"),
        ("MISSING_AUTHENTICATION_TOKEN", "404"),
        ("REQUEST_TOO_LARGE", "413"),
        ("THROTTLED", "429"),
        ("INTEGRATION_TIMEOUT", "504"),
    ],
)
def test_answer_of_the_gateway_itself_has_the_shape_of_ours(synthesis: Synthesis, kind: str, status: str) -> None:
    response = gateway_responses(synthesis.api)[kind]

    body = json.loads(response["ResponseTemplates"]["application/json"])
    assert response["StatusCode"] == status
    assert list(body) == ["detail"]
    assert body["detail"].endswith(".")
    assert response["ResponseParameters"] == {"gatewayresponse.header.Access-Control-Allow-Origin": "'*'"}


@pytest.mark.parametrize("kind", ["DEFAULT_4XX", "DEFAULT_5XX"])
def test_any_other_answer_of_the_gateway_keeps_its_own_words_in_our_shape(synthesis: Synthesis, kind: str) -> None:
    response = gateway_responses(synthesis.api)[kind]

    assert response["ResponseTemplates"] == {"application/json": '{"detail": $context.error.messageString}'}
    assert "StatusCode" not in response


def test_origins_of_the_settings_reach_functions_and_gateway(synthesise_with: SynthesiseWith) -> None:
    api = synthesise_with(cors_origins="https://a.example, https://b.example/").api

    variables = api.functions()["agents"]["Environment"]["Variables"]
    assert variables["AGENTKEEP_CORS_ORIGINS"] == "https://a.example,https://b.example"
    assert gateway_responses(api)["UNAUTHORIZED"]["ResponseParameters"] == {
        "gatewayresponse.header.Access-Control-Allow-Origin": "method.request.header.Origin",
        "gatewayresponse.header.Vary": "'Origin'",
    }
