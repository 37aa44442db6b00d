"""Route rows to the tree of API Gateway resources that answers them, as small as it can be. Pure: no CDK in here.

API Gateway matches level by level: an exact part before a variable before a greedy `{proxy+}`, and one level holds
either one variable or one greedy part. Every level of the tree is closed by one of the two, and every resource takes
ANY method, so whatever is asked reaches a function of ours and is answered in our shape.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from infra.routes import Route

ANY: Final = "ANY"
GREEDY: Final = "{proxy+}"


@dataclass(frozen=True)
class Target:
    """What answers a request: the function, whether a key is asked for first, and whether the answer is streamed."""

    function: str
    authorized: bool
    streaming: bool = False


@dataclass(frozen=True)
class Resource:
    """One path part, with its targets by method (always one for ANY) and the resources below it."""

    part: str
    methods: Mapping[str, Target]
    children: tuple["Resource", ...] = ()


def target_of(route: Route) -> Target:
    """Where a row of the route table has to arrive."""
    return Target(route.function, route.permission is not None, route.streaming)


UNKNOWN: Final = Target("dispatcher", authorized=True)
"""Answers paths that begin like no route. It asks for a key, so that API Gateway itself turns away who has none."""

PREFLIGHT: Final = Target("dispatcher", authorized=False)
"""Answers OPTIONS everywhere, without a key, because browsers send none."""


def resource_tree(routes: Iterable[Route], unknown: Target = UNKNOWN) -> Resource:
    """The tree for `routes`; its root has the part ""."""
    root = _Node()
    for route in routes:
        root.at(route.path.strip("/").split("/")).methods[route.method] = target_of(route)
    return _resource("", root, unknown)


def with_method(resource: Resource, method: str, target: Target) -> Resource:
    """The same tree, in which every resource answers `method` by `target`."""
    below = tuple(with_method(child, method, target) for child in resource.children)
    return Resource(resource.part, {**resource.methods, method: target}, below)


@dataclass
class _Node:
    methods: dict[str, Target] = field(default_factory=dict)
    children: dict[str, "_Node"] = field(default_factory=dict)

    def at(self, parts: list[str]) -> "_Node":
        node = self
        for part in parts:
            node = node.children.setdefault(node.known(part), _Node())
        return node

    def known(self, part: str) -> str:
        """The name under which this level holds `part`: a level has one variable, whatever the routes call it."""
        if not _is_variable(part):
            return part
        return next((child for child in self.children if _is_variable(child)), part)

    def targets(self) -> Iterator[Target]:
        yield from self.methods.values()
        for child in self.children.values():
            yield from child.targets()


def _resource(part: str, node: _Node, inherited: Target) -> Resource:
    owner = _owner(node, inherited)
    methods = {ANY: owner} | {method: target for method, target in node.methods.items() if target != owner}
    below = tuple(_resource(name, child, owner) for name, child in _kept(node, owner))
    closed = any(_is_variable(child.part) for child in below)
    return Resource(part, methods, below if closed else (*below, Resource(GREEDY, {ANY: owner})))


def _owner(node: _Node, inherited: Target) -> Target:
    """Who answers what no row says: the resource's own most common target, the only one below it, or the parent's."""
    if node.methods:
        buffered = [target for target in node.methods.values() if not target.streaming]
        return Counter(buffered or node.methods.values()).most_common(1)[0][0]
    below = set(node.targets())
    return below.pop() if len(below) == 1 else inherited


def _kept(node: _Node, owner: Target) -> list[tuple[str, _Node]]:
    """The children that a greedy part cannot stand for. Beside a variable that has to stay, all of them."""
    kept = [(name, child) for name, child in node.children.items() if set(child.targets()) != {owner}]
    return list(node.children.items()) if any(_is_variable(name) for name, _ in kept) else kept


def _is_variable(part: str) -> bool:
    return part.startswith("{")
