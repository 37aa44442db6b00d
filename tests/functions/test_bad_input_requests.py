"""Whole bodies that are none, paths that lead nowhere, and the ids of others, at every built route."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from infra.routes import Route
from tests.doubles.hostile import BUILT, Models, Place, contents, expect_answered, named
from tests.doubles.models import ScriptedModel
from tests.doubles.system import System, running

Json = dict[str, Any]
UUID = "123e4567-e89b-42d3-8456-426614174000"
BODIES = {
    "nothing": "",
    "a space": " ",
    "no JSON": "hello",
    "cut off": '{"name": "a',
    "a NUL byte": '{"name": "a\0b"}',
    "an array": "[]",
    "a text": '"{}"',
    "a number": "12",
    "null": "null",
    "NaN": '{"metadata": {"a": NaN}}',
    "Infinity": '{"limit": -Infinity}',
    "a number beyond all": '{"limit": 1e999}',
    "5,000 digits": '{"limit": ' + "9" * 5_000 + "}",
    "100,000 brackets": '{"metadata": ' + "[" * 100_000,
    "100,000 brackets, closed": '{"metadata": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "100,000 objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a byte order mark": '\ufeff{"nothing known": 1}',
    "the same name twice": '{"limit": 1, "limit": "x"}',
    "form data": "name=a&label=b",
}
NO_IDS = (
    "0", "-", "null", "undefined", "x" * 3_000, "%", "%zz", "%ff%fe", "%ED%A0%80", "%00", "a%00b", "%2e%2e", "a%2fb",
    "..%5c", "%F0%9F%99%82" * 300,
)  # fmt: skip
WITH_BODY = [route for route in BUILT if route.method not in ("GET", "DELETE")]
WITH_ARGUMENTS = [route for route in BUILT if "{" in route.path]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with running(tmp_path_factory.mktemp("requests")) as system:
        yield system


@pytest.fixture(scope="module")
def mine(shared: System) -> Place:
    return Place(shared)


@pytest.fixture(scope="module")
def theirs(shared: System) -> Place:
    return Place(replace(shared, tenant="tenant02"))


@pytest.mark.parametrize("route", WITH_BODY, ids=named)
def test_a_body_that_is_none_is_refused_and_nothing_is_stored(
    shared: System, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, route: Route
) -> None:
    place, models = Place(shared), Models(monkeypatch)

    for name, body in BODIES.items():
        answer = expect_answered(shared, route, place.path(route), body)
        if models.body and name not in ("nothing", "a space", "a byte order mark", "the same name twice", "a NUL byte"):
            assert answer.status == 422, (name, answer)


@pytest.mark.parametrize("route", WITH_ARGUMENTS, ids=named)
def test_ids_of_another_kind_and_unknown_ones_are_refused(shared: System, mine: Place, route: Route) -> None:
    before = contents(shared)

    for argument in re.findall(r"{(\w+)}", route.path):
        kind = mine.arguments[argument].partition("-")[0]
        for other in ("agent", "block", "tool", "message", "conv", "run", "step", "provider", "group", "x"):
            answer = expect_answered(shared, route, mine.path(route, **{argument: f"{other}-{UUID}"}), mine.body(route))
            assert answer.status == 404 if other == kind else answer.status in (400, 404, 422), (other, answer)
        for wrong in (f"{kind}-{UUID.upper()}", f"{kind}-{UUID}x", *NO_IDS):
            answer = expect_answered(shared, route, mine.path(route, **{argument: wrong}), mine.body(route))
            assert answer.status in (404, 405, 422), (wrong, answer)

    assert contents(shared) == before


@pytest.mark.parametrize("route", WITH_ARGUMENTS, ids=named)
def test_the_ids_of_another_tenant_are_as_unknown_as_any(
    shared: System, mine: Place, theirs: Place, route: Route
) -> None:
    before = contents(shared)

    for argument in re.findall(r"{(\w+)}", route.path):
        if argument in ("tool_id", "block_label"):
            continue  # builtin tools are everybody's, labels are names
        answer = expect_answered(
            shared, route, mine.path(route, **{argument: theirs.arguments[argument]}), mine.body(route)
        )
        assert answer.status == 404, (argument, answer)

    assert contents(shared) == before


@pytest.mark.parametrize(
    ("method", "path", "body", "query"),
    [
        ("POST", "/v1/agents", {"model": "demo/memory", "block_ids": ["{block_id}"]}, {}),
        ("PATCH", "/v1/agents/{mine}", {"name": "renamed", "block_ids": ["{block_id}"]}, {}),
        ("PATCH", "/v1/agents/{mine}", {"name": "renamed", "message_ids": ["{message_id}"]}, {}),
        ("POST", "/v1/conversations", {"agent_id": "{agent_id}"}, {}),
        ("POST", "/v1/conversations", {}, {"agent_id": "{agent_id}"}),
        ("GET", "/v1/conversations", None, {"agent_id": "{agent_id}"}),
        ("GET", "/v1/conversations", None, {"after": "{conversation_id}"}),
        ("GET", "/v1/conversations/default", None, {"agent_id": "{agent_id}"}),
        ("GET", "/v1/conversations/default/messages", None, {"agent_id": "{agent_id}"}),
        ("POST", "/v1/conversations/default/messages", {"agent_id": "{agent_id}", "input": "hello"}, {}),
        ("GET", "/v1/agents/{mine}/messages", None, {"conversation_id": "{conversation_id}"}),
        ("GET", "/v1/agents/{mine}/messages", None, {"after": "{message_id}"}),
        ("GET", "/v1/agents/{mine}/context", None, {"conversation_id": "{conversation_id}"}),
        ("GET", "/v1/messages", None, {"conversation_id": "{conversation_id}"}),
        ("GET", "/v1/messages", None, {"before": "{message_id}"}),
        ("GET", "/v1/runs", None, {"after": "{run_id}"}),
        ("GET", "/v1/steps", None, {"before": "{step_id}"}),
        ("GET", "/v1/agents", None, {"after": "{agent_id}"}),
        ("GET", "/v1/blocks", None, {"after": "{block_id}"}),
    ],
    ids=str,
)
def test_the_ids_of_another_tenant_in_a_body_or_query_are_404_and_change_nothing(
    shared: System, mine: Place, theirs: Place, method: str, path: str, body: Json | None, query: Json
) -> None:
    (route,) = [route for route in BUILT if route.method == method and _fits(route, path)]
    before = contents(shared)

    path = path.replace("{mine}", mine.arguments["agent_id"])
    answer = expect_answered(shared, route, path, _with(body, theirs.arguments), _with(query, theirs.arguments))

    assert answer.status == 404, answer
    assert contents(shared) == before


def _fits(route: Route, path: str) -> bool:
    return re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), path) is not None


def _with(value: Any, arguments: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _with(each, arguments) for name, each in value.items()}
    if isinstance(value, list):
        return [_with(each, arguments) for each in value]
    return arguments.get(value[1:-1], value) if isinstance(value, str) else value


def test_lists_of_another_tenant_show_nothing(shared: System, theirs: Place) -> None:
    agent_id, conversation_id = theirs.arguments["agent_id"], theirs.arguments["conversation_id"]
    queries: list[tuple[str, str, Json]] = [
        ("runs", "/v1/runs", {"agent_id": agent_id}),
        ("runs", "/v1/runs", {"conversation_id": conversation_id}),
        ("runs", "/v1/steps", {"agent_id": agent_id}),
    ]

    assert [shared.call(function, "GET", path, query=query).body for function, path, query in queries] == [[], [], []]
