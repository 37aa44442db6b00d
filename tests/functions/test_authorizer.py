"""The authorizer function: who is let in, with what context, and what it costs to start."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkeep.tenancy import keys
from functions.authorizer.handler import lambda_handler
from infra.local.data_directory import DataDirectory
from infra.local.environment import applied, function_environment
from infra.local.services import services

ARN = "arn:aws:execute-api:eu-west-1:123456789012:abc123/prod/GET/v1/agents/agent-1"


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Iterator[None]:
    variables = function_environment(require_keys=True)
    with applied(variables), services(DataDirectory(tmp_path / "data"), fast=True):
        yield


def event(**headers: str) -> dict[str, Any]:
    return {"type": "REQUEST", "methodArn": ARN, "headers": headers, "requestContext": {}}


def test_a_good_key_opens_the_whole_stage() -> None:
    key, text = keys.create("acmecorp1", "agent_creator", "ci", limits={"runs": 3})

    answer = lambda_handler(event(Authorization=f"Bearer {text}"), None)

    assert answer["principalId"] == f"key-{key.id}"
    assert answer["policyDocument"]["Statement"] == [
        {
            "Effect": "Allow",
            "Action": "execute-api:Invoke",
            "Resource": "arn:aws:execute-api:eu-west-1:123456789012:abc123/prod/*",
        }
    ]
    assert answer["context"] == {
        "tenant": "acmecorp1",
        "principal": f"key-{key.id}",
        "role": "agent_creator",
        "key_id": key.id,
        "limits": '{"runs": 3}',
    }


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "  Bearer   {} ", "{}"])
@pytest.mark.parametrize("header", ["Authorization", "authorization", "AUTHORIZATION"])
def test_takes_the_key_with_or_without_scheme_whatever_the_case(header: str, form: str) -> None:
    _, text = keys.create("acmecorp1", "user", "ci")

    assert lambda_handler(event(**{header: form.format(text)}), None)["context"]["tenant"] == "acmecorp1"


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ak_acmecorp1_0123456789ab." + "x" * 40, "Basic abc"])
def test_anything_else_is_unauthorized_in_the_words_of_api_gateway(value: str) -> None:
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        lambda_handler(event(Authorization=value), None)


def test_no_headers_at_all_is_unauthorized() -> None:
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        lambda_handler({"methodArn": ARN, "headers": None}, None)


def test_a_revoked_key_is_unauthorized() -> None:
    key, text = keys.create("acmecorp1", "user", "ci")
    keys.revoke(key.id)

    with pytest.raises(Exception, match=r"^Unauthorized$"):
        lambda_handler(event(Authorization=text), None)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer whatever"}])
def test_where_no_keys_are_asked_for_everybody_is_the_local_tenant(
    headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKEEP_REQUIRE_KEYS", "0")

    context = lambda_handler(event(**headers), None)["context"]

    assert context == {"tenant": "local", "principal": "local", "role": "admin", "key_id": "", "limits": "{}"}


def test_keys_are_asked_for_unless_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTKEEP_REQUIRE_KEYS")

    with pytest.raises(Exception, match=r"^Unauthorized$"):
        lambda_handler(event(), None)


def test_importing_it_brings_no_aws_sdk_and_no_pydantic() -> None:
    code = "import sys, functions.authorizer.handler; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    heavy = ("boto", "pydantic", "aws_lambda_powertools", "starlette", "moto")
    assert [name for name in loaded if name.startswith(heavy)] == []


def test_context_fits_what_api_gateway_takes() -> None:
    _, text = keys.create("acmecorp1", "user", "ci")

    context = lambda_handler(event(Authorization=text), None)["context"]

    assert all(isinstance(value, str) for value in context.values())
    assert json.loads(context["limits"]) == {}
