"""The dispatcher: health, what is yet to come, and what nobody knows."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import agentkeep
from infra.routes import ROUTES
from tests.unit.api.proxy import Received, proxy_event, received

HANDLER = Path(__file__).parents[2] / "functions" / "dispatcher" / "handler.py"


@pytest.fixture(scope="module")
def dispatcher() -> ModuleType:
    spec = importlib.util.spec_from_file_location("functions_dispatcher", HANDLER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(dispatcher: ModuleType, method: str, path: str, **options: Any) -> Received:
    return received(dispatcher.lambda_handler(proxy_event(method, path, **options), None))


@pytest.mark.parametrize("path", ["/v1/health", "/v1/health/", "/v1/ready/", "/dev/v1/ready"])
def test_health_says_which_api_this_is(dispatcher: ModuleType, path: str) -> None:
    answer = ask(dispatcher, "GET", path, tenant=None)

    assert answer.status == 200
    assert answer.json == {"version": "0.16.7", "status": "ok", "agentkeep": agentkeep.__version__}


def test_every_route_that_is_coming_is_501_and_not_worth_a_retry(dispatcher: ModuleType) -> None:
    coming = [route for route in ROUTES if route.function == "dispatcher" and route.state == "coming"]

    answers = [ask(dispatcher, route.method, route.path.replace("{", "").replace("}", "")) for route in coming]

    assert len(answers) > 90
    assert {(answer.status, answer.headers["x-should-retry"]) for answer in answers} == {(501, "false")}


def test_every_route_of_the_hosted_service_alone_is_404(dispatcher: ModuleType) -> None:
    elsewhere = [route for route in ROUTES if route.state == "elsewhere"]

    answers = [ask(dispatcher, route.method, route.path.replace("{", "").replace("}", "")) for route in elsewhere]

    assert [(answer.status, answer.json) for answer in answers] == [(404, {"detail": "Not Found"})] * 13


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/nope", "/favicon.ico", "/v1/metadata/balance", "/v1/../etc"])
def test_what_nobody_knows_is_404_json(dispatcher: ModuleType, path: str) -> None:
    answer = ask(dispatcher, "GET", path, tenant=None)

    assert (answer.status, answer.json) == (404, {"detail": "Not Found"})


def test_preflights_of_all_paths_are_answered(dispatcher: ModuleType) -> None:
    answer = ask(dispatcher, "OPTIONS", "/v1/agents", tenant=None, headers={"origin": "https://a.example"})

    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (204, "*")
