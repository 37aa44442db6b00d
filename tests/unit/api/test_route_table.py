"""The route table against what clients call, what functions serve, and itself."""

import importlib.util
import inspect
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import letta_client.resources
import pytest

from agentkeep.api import coming
from agentkeep.api.resolver import Operation
from infra.routes import ROUTES

FUNCTIONS = Path(__file__).parents[3] / "functions"
BUILT = {name: [route for route in ROUTES if (route.function, route.state) == (name, "built")] for name in
         {route.function for route in ROUTES}}  # fmt: skip


def anonymous(path: str) -> str:
    """A path with its parameters unnamed and without slash at the end."""
    return re.sub(r"\{\w+\}", "{}", path).rstrip("/")


def calls_of_letta_client() -> set[tuple[str, str]]:
    """(method, path) of every call in the source of letta-client's resources."""
    folder = Path(inspect.getfile(letta_client.resources)).parent
    source = "".join(path.read_text() for path in folder.rglob("*.py"))
    found = re.findall(r'_(get|post|put|patch|delete|get_api_list)\(\s*(?:path_template\(\s*)?f?"(/v1/[^"]+)"', source)
    methods = {"get_api_list": "GET"}
    return {(methods.get(method, method.upper()), anonymous(path)) for method, path in found}


def test_every_call_of_letta_client_has_a_row() -> None:
    rows = {(route.method, anonymous(route.path)) for route in ROUTES}
    calls = calls_of_letta_client()

    assert len(calls) > 100
    assert calls - rows == set()


def test_the_table_has_all_of_the_api_and_our_two_extensions() -> None:
    assert len(ROUTES) == 250
    assert Counter(route.state for route in ROUTES) == {"built": 72, "coming": 165, "elsewhere": 13}


def test_no_route_is_there_twice_and_no_path_ends_in_a_slash() -> None:
    assert [key for key, count in Counter((route.method, route.path) for route in ROUTES).items() if count > 1] == []
    assert [route.path for route in ROUTES if route.path.endswith("/") or not route.path.startswith("/v1/")] == []


def test_only_health_is_open_to_everybody() -> None:
    assert {route.path for route in ROUTES if route.permission is None} == {"/v1/health", "/v1/ready"}


def test_permissions_are_a_resource_and_an_action() -> None:
    odd = [
        route
        for route in ROUTES
        if route.permission and not re.fullmatch(r"[a-z]+:(read|write|delete|send)", route.permission)
    ]

    assert odd == []


def test_reading_never_asks_for_the_right_to_write() -> None:
    assert {
        route.permission for route in ROUTES if route.method == "GET" and (route.permission or "").endswith(":delete")
    } == set()
    assert {
        route.path for route in ROUTES if route.method == "DELETE" and (route.permission or "").endswith(":read")
    } == set()


def test_what_is_coming_is_known_by_its_concrete_path_and_nothing_else_is() -> None:
    for route in ROUTES:
        path = re.sub(r"\{\w+\}", "x1", route.path)
        assert coming.is_coming(route.method, path) is (route.state == "coming"), route


@pytest.mark.parametrize("name", sorted(BUILT))
def test_a_function_serves_its_rows_and_no_others(name: str) -> None:
    declared = set(load(name).app.operations)

    assert declared == {Operation(route.method, route.path, route.permission, route.streaming) for route in BUILT[name]}


def load(name: str) -> ModuleType:
    """A function's handler module."""
    spec = importlib.util.spec_from_file_location(f"functions_{name}", FUNCTIONS / name / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
