"""Every row of the route table, walked through the deployed resources as API Gateway walks them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from infra.constructs.resource_tree import Target, target_of
from infra.local.resources import ResourceTree
from infra.routes import ROUTES, Route
from tests.infra.synthesised import Synthesis, Template

PREFLIGHT = Target("dispatcher", authorized=False)


@dataclass
class Node:
    """A deployed resource: the resources below it by path part, its methods by name."""

    below: dict[str, "Node"] = field(default_factory=dict)
    methods: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def next(self, part: str) -> "Node | None":
        """Exact before variable before greedy. A level has one of the latter two, and there is no way back up."""
        variable = [node for name, node in self.below.items() if name.startswith("{")]
        return self.below.get(part) or (variable[0] if variable else None)

    @property
    def greedy(self) -> "Node | None":
        return self.below.get("{proxy+}")


class Gateway:
    """The REST API as deployed."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self.root = self._read()

    def arrive(self, method: str, path: str) -> Target:
        """What answers, or AssertionError when API Gateway itself would refuse."""
        node = self.root
        for part in filter(None, path.split("/")):
            below = node.next(part)
            assert below is not None, f"{path} leaves the resources at '{part}'"
            if below is node.greedy:
                return self._target(below, method)
            node = below
        return self._target(node, method)

    def _target(self, node: Node, method: str) -> Target:
        found = node.methods.get(method) or node.methods["ANY"]
        integration = found["Integration"]
        assert integration["Type"] == "AWS_PROXY"
        *_, alias, operation = integration["Uri"]["Fn::Join"][1]
        streaming = integration["ResponseTransferMode"] == "STREAM"
        assert operation == ("/response-streaming-invocations" if streaming else "/invocations")
        assert integration["TimeoutInMillis"] == (900_000 if streaming else 29_000)
        return Target(self._template.function_behind(alias["Ref"]), self._authorized(found), streaming)

    def _authorized(self, method: Mapping[str, Any]) -> bool:
        if method["AuthorizationType"] == "NONE":
            return False
        assert method["AuthorizationType"] == "CUSTOM"
        assert [{"Ref": name} for name in self._template.of_type("AWS::ApiGateway::Authorizer")] == [
            method["AuthorizerId"]
        ]
        return True

    def _read(self) -> Node:
        resources = self._template.of_type("AWS::ApiGateway::Resource")
        nodes = {name: Node() for name in resources}
        root = Node()
        for name, resource in resources.items():
            parent = resource["Properties"]["ParentId"]
            above = nodes[parent["Ref"]] if "Ref" in parent else root
            above.below[resource["Properties"]["PathPart"]] = nodes[name]
        for method in self._template.of_type("AWS::ApiGateway::Method").values():
            at = method["Properties"]["ResourceId"]
            node = nodes[at["Ref"]] if "Ref" in at else root
            node.methods[method["Properties"]["HttpMethod"]] = method["Properties"]
        return root


@pytest.fixture(scope="module")
def gateway(synthesis: Synthesis) -> Gateway:
    return Gateway(synthesis.api)


def concrete(path: str) -> str:
    """The path with values in place of its variables."""
    return "/".join("x-1" if part.startswith("{") else part for part in path.split("/"))


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: f"{row.method} {row.path}")
def test_every_row_arrives_at_its_function_behind_its_authorizer_in_its_transfer_mode(
    gateway: Gateway, row: Route
) -> None:
    assert gateway.arrive(row.method, concrete(row.path)) == target_of(row)


def test_preflight_of_every_row_is_answered_without_a_key(gateway: Gateway) -> None:
    assert {gateway.arrive("OPTIONS", concrete(row.path)) for row in ROUTES} == {PREFLIGHT}


@pytest.mark.parametrize(
    ("method", "path", "function"),
    [
        ("GET", "/nothing", "dispatcher"),
        ("GET", "/v1/nothing/here/at/all", "dispatcher"),
        ("DELETE", "/v1/agents", "agents"),
        ("GET", "/v1/agents/x-1/messages/y-1/deeper/still", "messages"),
        ("GET", "/v1/agents/x-1/nothing/here", "agents"),
        ("PUT", "/v1/conversations/x-1/nothing", "conversations"),
    ],
)
def test_what_no_row_says_arrives_at_the_owner_of_its_resource_and_asks_for_a_key(
    gateway: Gateway, method: str, path: str, function: str
) -> None:
    assert gateway.arrive(method, path) == Target(function, authorized=True)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS"])
def test_local_gateway_sends_requests_to_the_same_functions(gateway: Gateway, method: str) -> None:
    paths = ["/", "/v2/x", "/v1/agents/x-1/nothing", *(concrete(row.path) for row in ROUTES)]

    local = ResourceTree(ROUTES)
    assert {path: local.match(method, path).target for path in paths} == {
        path: gateway.arrive(method, path) for path in paths
    }


def test_only_health_and_ready_are_open(gateway: Gateway) -> None:
    def open_paths(node: Node, path: str) -> list[str]:
        here = [
            path for name, method in node.methods.items() if name != "OPTIONS" and method["AuthorizationType"] == "NONE"
        ]
        return here + [found for part, below in node.below.items() for found in open_paths(below, f"{path}/{part}")]

    assert sorted(open_paths(gateway.root, "")) == [
        "/v1/health",
        "/v1/health/{proxy+}",
        "/v1/ready",
        "/v1/ready/{proxy+}",
    ]


def test_level_has_one_variable_or_one_greedy_part(gateway: Gateway) -> None:
    def check(node: Node) -> None:
        assert len([part for part in node.below if part.startswith("{")]) <= 1
        for below in node.below.values():
            check(below)

    check(gateway.root)


def test_each_function_gives_api_gateway_one_permission(synthesis: Synthesis) -> None:
    permitted = [
        synthesis.api.function_behind(permission["Properties"]["FunctionName"]["Ref"])
        for permission in synthesis.api.of_type("AWS::Lambda::Permission").values()
    ]

    assert sorted(permitted) == sorted(synthesis.api.functions())


def test_resources_stay_far_below_the_300_that_one_api_may_have(synthesis: Synthesis) -> None:
    assert len(synthesis.api.of_type("AWS::ApiGateway::Resource")) < 150
