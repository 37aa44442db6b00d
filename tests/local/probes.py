"""A gateway with handlers that show what they were given, and a few routes to reach them by."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from infra.local.gateway import Gateway, GatewaySettings
from infra.local.resources import ResourceTree
from infra.routes import Route

ROUTES = (
    Route("GET", "/v1/agents", "agents", "agent:read", "built"),
    Route("POST", "/v1/agents", "agents", "agent:write", "built"),
    Route("GET", "/v1/agents/count", "agents", "agent:read", "built"),
    Route("GET", "/v1/agents/{agent_id}", "agents", "agent:read", "built"),
    Route("GET", "/v1/agents/{agent_id}/messages", "messages", "message:read", "built"),
    Route("POST", "/v1/agents/{agent_id}/messages", "messages", "message:send", "built", streaming=True),
    Route("GET", "/v1/health", "dispatcher", None, "built"),
)
seen: ContextVar[str] = ContextVar("seen")


@dataclass
class Streamed:
    """Has the shape of a streamed answer."""

    status_code: int
    headers: dict[str, str]
    body: Iterator[bytes]


@dataclass
class Functions:
    """Handlers by name. Without one of its own, a function answers with the event it was given."""

    own: dict[str, Callable[[Any, Any], Any]] = field(default_factory=dict)

    def handler(self, name: str) -> Callable[[Any, Any], Any]:
        return self.own.get(name) or {"authorizer": authorizer}.get(name) or echo(name)


def echo(function: str) -> Callable[[Any, Any], Any]:
    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        answer = {"function": function, "left_ms": context.get_remaining_time_in_millis(), "event": event}
        return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": json.dumps(answer)}

    return handler


def authorizer(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    token = event["headers"].get("authorization", "").removeprefix("Bearer ")
    if token == "broken":
        raise RuntimeError("no table")
    if token.startswith("bad"):
        raise Exception("Unauthorized")
    effect = "Deny" if token.startswith("denied") else "Allow"
    return {
        "principalId": token,
        "policyDocument": {"Statement": [{"Effect": effect, "Action": "execute-api:Invoke", "Resource": "*"}]},
        "context": {"tenant": token or "local", "limits": "{}", "answered": 1},
    }


def gateway(functions: Functions | None = None, **settings: Any) -> Gateway:
    return Gateway(ResourceTree(ROUTES), (functions or Functions()).handler, GatewaySettings(**settings))
