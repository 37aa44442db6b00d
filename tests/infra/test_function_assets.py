"""Each function alone: its unpacked asset and the layers, on a Python that sees nothing else, answers an event."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from infra.routes import ROUTES, Route
from infra.stacks.grants import NO_TENANT_DATA
from tests.infra.synthesised import Synthesis

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "layers/vendor/requirements.txt"
IN_LAMBDA = ("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3")
FUNCTIONS = sorted({route.function for route in ROUTES})
COMING = [route for route in ROUTES if route.state == "coming"]

ALONE = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from handler import lambda_handler

class Context:
    aws_request_id = "0c2fe2e0-9d5b-4f4d-8a34-000000000001"
    function_name = invoked_function_arn = "agents"
    memory_limit_in_mb = 1024
    function_version = "1"

    def get_remaining_time_in_millis(self):
        return 29_000

try:
    answer = lambda_handler(json.loads(sys.argv[2]), Context())
except Exception as error:
    answer = {"raised": str(error)}
print(json.dumps({"answer": answer, "modules": sorted(sys.modules)}))
"""


def linked(folder: Path, packages: list[str]) -> Path:
    """A folder that holds these packages only: the files that their wheels put into this environment."""
    folder.mkdir()
    for package in packages:
        found = distribution(package)
        for name in {file.parts[0] for file in found.files or () if ".." not in file.parts}:
            target = folder / name
            if name != "__pycache__" and not target.exists():
                target.symlink_to(str(found.locate_file(name)))
    return folder


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vendor layer with the wheels of this machine in place of Lambda's. The versions are the same."""
    packages = [line.split("==")[0] for line in REQUIREMENTS.read_text().split()]
    return linked(tmp_path_factory.mktemp("opt") / "python", packages)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Lambda's Python has by itself."""
    return linked(tmp_path_factory.mktemp("runtime") / "site", list(IN_LAMBDA))


class Alone:
    """Calls a deployed function with an event, as a process of its own."""

    def __init__(self, synthesis: Synthesis, vendor: Path, runtime: Path) -> None:
        self._synthesis = synthesis
        self._packages = [vendor, runtime]

    def asset(self, function: str) -> Path:
        return self._synthesis.asset(self._synthesis.api.functions()[function]["Code"]["S3Key"])

    def answer(self, function: str, event: Mapping[str, Any]) -> Any:
        return self._call(function, event)["answer"]

    def modules(self, function: str) -> set[str]:
        """What the function has imported once it has answered."""
        return set(self._call(function, event("GET", "/v1/nothing"))["modules"])

    def _call(self, function: str, event: Mapping[str, Any]) -> Any:
        (library,) = (
            self._synthesis.asset(layer["Properties"]["Content"]["S3Key"])
            for name, layer in self._synthesis.api.of_type("AWS::Lambda::LayerVersion").items()
            if name.startswith("Library")
        )
        paths = [str(path) for path in (self.asset(function), library / "python", *self._packages)]
        run = subprocess.run(
            [sys.executable, "-I", "-S", "-c", ALONE, json.dumps(paths), json.dumps(event)],
            env={"AGENTKEEP_REQUIRE_KEYS": "1", "AGENTKEEP_STAGE": "dev", "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def alone(synthesis: Synthesis, vendor: Path, runtime: Path) -> Alone:
    return Alone(synthesis, vendor, runtime)


def event(method: str, path: str) -> dict[str, Any]:
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
        "body": None,
        "isBase64Encoded": False,
        "requestContext": {"requestId": "r-1", "stage": "dev", "authorizer": caller},
    }


@pytest.mark.parametrize("function", ["authorizer", *FUNCTIONS])
def test_asset_holds_the_handler_and_nothing_that_would_change_its_hash_by_chance(alone: Alone, function: str) -> None:
    shipped = sorted(path.name for path in alone.asset(function).rglob("*"))

    assert shipped == sorted(path.name for path in (ROOT / "functions" / function).glob("*.py"))
    assert "handler.py" in shipped


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
    answer = alone.answer("models", event("GET", "/v1/models"))

    assert answer["statusCode"] == 200
    assert "demo/memory" in answer["body"]


def a_coming_route(function: str) -> Route:
    return next(route for route in COMING if route.function == function)


@pytest.mark.parametrize("function", sorted({route.function for route in COMING}))
def test_function_alone_says_which_of_its_routes_is_yet_to_come(alone: Alone, function: str) -> None:
    route = a_coming_route(function)
    path = "/".join("x-1" if part.startswith("{") else part for part in route.path.split("/"))

    answer = alone.answer(function, event(route.method, path))

    assert answer["statusCode"] == 501
    assert answer["headers"]["x-should-retry"] == "false"
    assert route.method in json.loads(answer["body"])["detail"]


def test_every_function_was_called_alone() -> None:
    assert {route.function for route in COMING} | {"models", "dispatcher"} == set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_holds_the_data_role_exactly_when_it_brings_the_store(alone: Alone, function: str) -> None:
    assert ("agentkeep.store.database" in alone.modules(function)) == (function not in NO_TENANT_DATA)
