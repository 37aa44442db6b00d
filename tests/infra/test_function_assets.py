"""Each function alone, with nothing but what is deployed, answers an event."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.routes import ROUTES
from infra.stacks.access import NO_TENANT_DATA
from tests.infra.alone import ENVIRONMENT, Alone
from tests.infra.synthesised import Synthesis
from tests.local.runtime_api import RuntimeApiServer

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = sorted({route.function for route in ROUTES})
COMING = {route.function: route for route in ROUTES if route.state == "coming"}


@pytest.fixture(scope="module")
def alone(synthesis: Synthesis, tmp_path_factory: pytest.TempPathFactory) -> Alone:
    return Alone(synthesis, tmp_path_factory.mktemp("alone"))


def event(method: str, path: str, body: str | None = None) -> dict[str, Any]:
    """A proxy event of the REST API, sent by an administrator."""
    caller = {"tenant": "acme0001", "principal": "key-1", "role": "admin", "key_id": "1", "limits": "{}"}
    return {
        "httpMethod": method,
        "path": path,
        "headers": {"Authorization": "Bearer ak_acme0001_1.x", "Origin": "https://page.example"},
        "multiValueHeaders": {},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "body": body,
        "isBase64Encoded": False,
        "requestContext": {"requestId": "r-1", "stage": "dev", "authorizer": caller},
    }


@pytest.mark.parametrize("function", ["authorizer", *FUNCTIONS])
def test_asset_holds_the_handler_and_nothing_that_would_change_its_hash_by_chance(alone: Alone, function: str) -> None:
    shipped = sorted(path.name for path in alone.asset(function).rglob("*"))

    assert shipped == sorted(path.name for path in (ROOT / "functions" / function).glob("*.py"))
    assert "handler.py" in shipped


def test_layer_holds_the_package_and_the_wrapper_and_nothing_that_would_change_its_hash_by_chance(alone: Alone) -> None:
    source = ROOT / "layers/agentkeep"

    def files(folder: Path) -> set[str]:
        found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        return {str(path) for path in found if "__pycache__" not in path.parts}

    assert files(alone.library) == files(source)
    assert not list(alone.library.rglob("__pycache__"))


def test_dispatcher_alone_says_that_it_lives(alone: Alone) -> None:
    answer = alone.answer("dispatcher", event("GET", "/v1/health"))

    assert answer["statusCode"] == 200
    assert json.loads(answer["body"])["status"] == "ok"


def test_dispatcher_alone_answers_the_preflight_of_any_path(alone: Alone) -> None:
    answer = alone.answer("dispatcher", event("OPTIONS", "/v1/agents/x-1/messages"))

    assert answer["statusCode"] == 204
    assert answer["headers"]["Access-Control-Allow-Origin"] == "*"
    assert "PATCH" in answer["headers"]["Access-Control-Allow-Methods"]


def test_authorizer_alone_refuses_what_is_no_key(alone: Alone) -> None:
    request = {"methodArn": "arn:aws:execute-api:us-east-1:1:api/dev/GET/v1/agents", "headers": {"Authorization": "x"}}

    assert alone.answer("authorizer", request) == {"raised": "Unauthorized"}


def test_models_alone_lists_the_model_that_needs_no_key(alone: Alone) -> None:
    base = {"provider_category": ["base"]}  # a tenant's own are read from the store

    answer = alone.answer("models", event("GET", "/v1/models") | {"multiValueQueryStringParameters": base})

    assert answer["statusCode"] == 200
    assert "demo/memory" in answer["body"]


def test_providers_alone_does_not_connect_to_the_runtime_api(alone: Alone) -> None:
    body = {"provider_type": "openai", "api_key": "sk-1", "base_url": "http://127.0.0.1:9001/2018-06-01"}

    answer = alone.answer("providers", event("POST", "/v1/providers/check", json.dumps(body)))

    assert answer["statusCode"] == 400
    assert "leads to 127.0.0.1" in json.loads(answer["body"])["detail"]


@pytest.mark.parametrize("function", sorted(COMING))
def test_function_alone_says_which_of_its_routes_is_yet_to_come(alone: Alone, function: str) -> None:
    route = COMING[function]
    path = "/".join("x-1" if part.startswith("{") else part for part in route.path.split("/"))

    answer = alone.answer(function, event(route.method, path))

    assert answer["statusCode"] == 501
    assert answer["headers"]["x-should-retry"] == "false"
    assert route.method in json.loads(answer["body"])["detail"]


def test_every_function_was_called_alone() -> None:
    assert {*COMING, "models", "providers", "dispatcher"} == set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_holds_the_data_role_exactly_when_it_brings_the_store(alone: Alone, function: str) -> None:
    modules = alone.modules(function, event("GET", "/v1/nothing"))

    assert ("agentkeep.store.database" in modules) == (function not in NO_TENANT_DATA)


@pytest.fixture
def runtime_api() -> Iterator[RuntimeApiServer]:
    server = RuntimeApiServer()
    yield server
    server.close()


def test_streaming_function_alone_refuses_a_request_in_the_form_that_api_gateway_streams(
    alone: Alone, runtime_api: RuntimeApiServer, tmp_path: Path
) -> None:
    """Started as Lambda starts it: by the wrapper in the layer, which is given the interpreter to use."""
    interpreter = tmp_path / "python"
    interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    interpreter.chmod(0o755)
    runtime_api.events.put(event("POST", "/v1/agents/not-an-agent/messages", '{"messages": []}'))
    environment = ENVIRONMENT | {
        "AWS_LAMBDA_RUNTIME_API": runtime_api.address,
        "LAMBDA_TASK_ROOT": str(alone.asset("messages")),
        "_HANDLER": "handler.lambda_handler",
        "PYTHONPATH": ":".join(alone.path("messages")),
    }

    with subprocess.Popen([alone.library / "bootstrap", interpreter, "bootstrap.py"], env=environment) as process:
        posted = runtime_api.posted.get(timeout=20)
        with pytest.raises(subprocess.TimeoutExpired):  # it waits for the next event
            process.wait(0.3)
        process.terminate()

    head, _, body = posted.body.partition(b"\0" * 8)
    assert posted.path == "invocation/request-1/response"
    assert posted.headers["Lambda-Runtime-Function-Response-Mode"] == "streaming"
    assert 400 <= json.loads(head)["statusCode"] < 500
    assert "not-an-agent" in json.loads(body)["detail"]
