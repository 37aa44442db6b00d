"""Which function a request arrives at: the resource tree that the API stack deploys, walked as API Gateway walks it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from infra.constructs.resource_tree import ANY, GREEDY, PREFLIGHT, UNKNOWN, Resource, Target, resource_tree, with_method
from infra.routes import Route


@dataclass(frozen=True)
class Match:
    """A target, the resource it was found at (`/v1/agents/{agent_id}`) and the values of the resource's variables."""

    target: Target
    resource: str
    parameters: Mapping[str, str] = field(default_factory=dict)


class ResourceTree:
    """The deployed routing. A trailing slash makes no difference."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = with_method(resource_tree(routes), "OPTIONS", PREFLIGHT)

    def match(self, method: str, path: str) -> Match:
        """Level by level: the exact part, else the variable, else the greedy part with all that is left."""
        resource, walked, parameters = self._root, "", {}
        parts = path.strip("/").split("/") if path.strip("/") else []
        for position, part in enumerate(parts):
            below = _child(resource, part)
            if below is None:
                return Match(UNKNOWN, "/{proxy+}", {"proxy": "/".join(parts)})
            resource, walked = below, f"{walked}/{below.part}"
            if below.part == GREEDY:
                parameters["proxy"] = "/".join(parts[position:])
                break
            if below.part.startswith("{"):
                parameters[below.part.strip("{}")] = part
        return Match(_target(resource, method), walked or "/", parameters)


def _child(resource: Resource, part: str) -> Resource | None:
    by_part = {child.part: child for child in resource.children}
    variable = next((child for child in resource.children if child.part.startswith("{")), None)
    return by_part.get(part, variable)


def _target(resource: Resource, method: str) -> Target:
    return resource.methods.get(method) or resource.methods[ANY]
