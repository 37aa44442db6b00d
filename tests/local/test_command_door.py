"""The door of the running server for commands of this machine: who it opens to, and how far it leads."""

import asyncio
import json
import socket
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from infra.local.command_door import PATH, CommandDoor
from tests.local.servers import LocalServer


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the request was passed on")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer \u00e9"}])
def test_opens_only_with_the_token(server_with_keys: LocalServer, headers: dict[str, str]) -> None:
    call = {"operation": "Query", "parameters": {"TableName": "agentkeep-local-system"}}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]

    answer = httpx.post(server_with_keys.base_url + PATH, json=call, headers=encoded)

    assert answer.status_code == 403


@pytest.mark.parametrize(
    "call",
    [
        {"operation": "Query", "parameters": {"TableName": "agentkeep-local-entities"}},
        {"operation": "DeleteItem", "parameters": {"TableName": "agentkeep-local-system"}},
        {"operation": "BatchGetItem", "parameters": {"RequestItems": {"agentkeep-local-entities": {"Keys": []}}}},
    ],
)
def test_leads_to_the_keys_and_nowhere_else(server_with_keys: LocalServer, call: dict[str, Any]) -> None:
    token = json.loads((server_with_keys.data / "server.json").read_text())["token"]

    answer = httpx.post(server_with_keys.base_url + PATH, json=call, headers={"Authorization": f"Bearer {token}"})

    assert (answer.status_code, answer.json()["code"]) == (403, "AccessDenied")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b'{"operation": "Query"}',
        b'{"parameters": {}}',
        b'{"operation": 1, "parameters": {}}',
        b'{"operation": "Query", "parameters": []}',
        b'{"operation": "Query", "parameters": {}}',
        b'{"operation": "Query", "parameters": {"TableName": "agentkeep-local-system", "Limit": "x"}}',
        b'{"operation": "BatchGetItem", "parameters": {"RequestItems": ["agentkeep-local-system"]}}',
    ],
)
def test_what_is_no_call_is_400(server_with_keys: LocalServer, body: bytes) -> None:
    token = json.loads((server_with_keys.data / "server.json").read_text())["token"]

    answer = httpx.post(server_with_keys.base_url + PATH, content=body, headers={"Authorization": f"Bearer {token}"})

    assert (answer.status_code, answer.json()["code"]) == (400, "ValidationException")
    assert "Traceback" not in server_with_keys.log.read_text()


def test_asks_for_the_token_before_it_reads_anything(server_with_keys: LocalServer) -> None:
    host, port = server_with_keys.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n".encode())
        head = connection.recv(100)

    assert head.startswith(b"HTTP/1.1 403 ")


def test_a_caller_that_leaves_is_no_error(server_with_keys: LocalServer) -> None:
    token = json.loads((server_with_keys.data / "server.json").read_text())["token"]
    host, port = server_with_keys.base_url.removeprefix("http://").split(":")
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n{{"
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head.encode())
    httpx.get(f"{server_with_keys.base_url}/v1/health/")
    server_with_keys.stop()

    assert "Traceback" not in server_with_keys.log.read_text()


@pytest.mark.parametrize(
    ("peer", "status"),
    [("127.0.0.1", 400), ("::1", 400), ("::ffff:127.0.0.1", 400), ("192.0.2.7", 403), ("::ffff:192.0.2.7", 403)],
)
def test_opens_to_this_machine_only(peer: str, status: int) -> None:
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"no json"}

    async def send(message: Any) -> None:
        said.append(message)

    headers = [(b"authorization", b"Bearer secret")]
    scope = {"type": "http", "path": PATH, "headers": headers, "client": (peer, 50_000)}
    asyncio.run(CommandDoor(nobody, "secret")(scope, receive, send))

    assert said[0]["status"] == status
