"""The system in process: the deployed handlers on the local engine, without a socket."""

import importlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from botocore.loaders import create_loader
from botocore.session import Session

from agentkeep.tenancy.client import adopt, forget_clients
from agentkeep.tenancy.context import Caller, acting_as
from infra.local.aws.kms import Keys
from infra.local.aws.s3 import Objects
from infra.local.aws.service import serve
from infra.local.dynamodb.engine import Engine, create_tables
from infra.local.dynamodb.hook import install
from infra.local.environment import applied, function_environment, table_name

TENANT = "tenant01"
_LOADER = create_loader()
"""Reads botocore's descriptions of services once for all systems: 0.1 s each."""


@dataclass(frozen=True)
class Answer:
    """What a function answered. `body` is the JSON; for a stream of events, the list of its frames."""

    status: int
    body: Any
    headers: Mapping[str, str]


class LambdaContext:
    """As much of Lambda's context as functions use."""

    aws_request_id = "00000000-0000-4000-8000-000000000000"
    function_name = "function"

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@dataclass
class System:
    """Calls functions by their route, as API Gateway would, for one tenant at a time."""

    engine: Engine
    tenant: str = TENANT
    role: str = "admin"
    headers: dict[str, str] = field(default_factory=dict)

    def call(
        self,
        function: str,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        tenant: str | None = None,
    ) -> Answer:
        """The answer of `functions.<function>` to a request; a `str` body is sent as it is."""
        event = self._event(method, path, body, query or {}, {**self.headers, **(headers or {})}, tenant or self.tenant)
        handler = importlib.import_module(f"functions.{function}.handler").lambda_handler
        reply = handler(event, LambdaContext())
        if isinstance(reply, dict):
            return Answer(reply["statusCode"], _read(reply["body"].encode()), reply["headers"])
        return Answer(reply.status_code, _read(b"".join(reply.body)), reply.headers)

    def _event(
        self, method: str, path: str, body: Any, query: Mapping[str, Any], headers: Mapping[str, str], tenant: str
    ) -> dict[str, Any]:
        many = {name: list(value) if isinstance(value, list | tuple) else [str(value)] for name, value in query.items()}
        return {
            "resource": path,
            "path": path,
            "httpMethod": method,
            "headers": dict(headers),
            "multiValueHeaders": {name: [value] for name, value in headers.items()},
            "queryStringParameters": {name: values[-1] for name, values in many.items()} or None,
            "multiValueQueryStringParameters": many or None,
            "pathParameters": None,
            "requestContext": {
                "requestId": "request-1",
                "authorizer": {"tenant": tenant, "principal": f"user-{tenant}", "role": self.role},
            },
            "body": body if isinstance(body, str) or body is None else json.dumps(body),
            "isBase64Encoded": False,
        }

    @contextmanager
    def acting(self, tenant: str | None = None) -> Iterator[None]:
        """Calls the library itself inside, for the tenant."""
        with acting_as(Caller(tenant or self.tenant, "user-1", self.role)):
            yield

    def new_agent(self, **fields: Any) -> dict[str, Any]:
        """A new agent of the builtin demo model."""
        answer = self.call("agents", "POST", "/v1/agents", {"model": "demo/memory", **fields})
        assert answer.status == 200, answer.body
        agent: dict[str, Any] = answer.body
        return agent

    def send(self, agent_id: str, text: str, headers: Mapping[str, str] | None = None, **fields: Any) -> Answer:
        """Sends a message to an agent's default conversation."""
        return self.call(
            "messages", "POST", f"/v1/agents/{agent_id}/messages", {"input": text, **fields}, headers=headers
        )


def _read(body: bytes) -> Any:
    if body.startswith(b"data: "):
        return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
    return json.loads(body) if body.strip() else None


@contextmanager
def running(directory: Path, engine: Engine | None = None) -> Iterator[System]:
    """A system on an engine, an empty one in memory unless given; `directory` is for its objects and keys."""
    variables = function_environment(require_keys=True)
    hidden = {name: os.environ.pop(name) for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY") if name in os.environ}
    with applied(variables), engine or Engine.in_memory() as opened:
        create_tables(opened, table_name)
        adopt({scope: _session(directory, opened, scope) for scope in ("tenant", "system")})
        try:
            yield System(opened)
        finally:
            forget_clients()
            os.environ.update(hidden)


def _session(directory: Path, engine: Engine, scope: Any) -> Session:
    session = Session()
    session.register_component("data_loader", _LOADER)
    session.set_config_variable("region", "us-east-1")
    install(engine, session, scope)
    serve(session, "s3", Objects(directory / "objects", lambda key: True).operations)
    serve(session, "kms", Keys(directory / "key", lambda context: True).operations)
    return session
