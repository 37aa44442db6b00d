"""Proxy events as API Gateway makes them, and answers as a client reads them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from agentkeep.api.stream import StreamedResponse


class Resolves(Protocol):
    """A resolver, or a function's entry point wrapped in one."""

    def resolve(self, event: Mapping[str, Any], context: Any) -> Any:
        """Answer a proxy event."""


def proxy_event(
    method: str,
    url: str,
    body: object = None,
    *,
    tenant: str | None = "tenant01",
    role: str = "admin",
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The event of a request. `body` is sent as JSON unless it is text; without `tenant` nobody is authorised."""
    parts = urlsplit(url)
    query = parse_qs(parts.query, keep_blank_values=True)
    authorizer = {"tenant": tenant, "principal": f"of-{tenant}", "role": role, "key_id": "", "limits": "{}"}
    return {
        "resource": "/{proxy+}",
        "path": parts.path,
        "httpMethod": method,
        "headers": dict(headers or {}),
        "multiValueQueryStringParameters": query or None,
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "pathParameters": None,
        "requestContext": {"requestId": "request-1", "stage": "dev", **({"authorizer": authorizer} if tenant else {})},
        "body": body if body is None or isinstance(body, str) else json.dumps(body),
        "isBase64Encoded": False,
    }


@dataclass(frozen=True)
class Received:
    """An answer: status, headers, and the body as text and as JSON."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.text)


def received(reply: Any) -> Received:
    """What a client gets of a reply, whole or streamed."""
    if isinstance(reply, StreamedResponse):
        return Received(reply.status_code, reply.headers, b"".join(reply.body).decode())
    return Received(reply["statusCode"], reply["headers"], reply["body"])


def call(app: Resolves, method: str, url: str, body: object = None, **options: Any) -> Received:
    """Sends one request to a resolver."""
    return received(app.resolve(proxy_event(method, url, body, **options), None))
