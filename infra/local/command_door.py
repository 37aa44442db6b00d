"""A door for commands of this machine (`agentkeep keys`) into the running server, whose data file they may not open.

It takes DynamoDB calls on the system table from whoever can read the token in the data directory: its owner.
"""

import asyncio
import hmac
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from botocore import xform_name
from botocore.exceptions import ClientError
from starlette.types import ASGIApp, Receive, Scope, Send

from agentkeep.tenancy.client import system_client
from infra.local.aws.service import AwsError, Operation
from infra.local.data_directory import RunningServer
from infra.local.receiving import receive_body
from infra.local.reply import Reply, Whole

PATH: Final = "/_local/dynamodb"
OPERATIONS: Final = ("GetItem", "PutItem", "UpdateItem", "Query", "BatchGetItem")
_SECONDS: Final = 10
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class DoorClosedError(Exception):
    """The running server cannot be reached."""

    def __init__(self, server: RunningServer, error: OSError) -> None:
        super().__init__(f"The agentkeep at {server.address} (process {server.process}) does not answer: {error}.")


class CommandDoor:
    """ASGI: answers its own path, passes everything else on to `app`."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        body = await receive_body(scope, receive)
        status, answer = 403, {"code": "AccessDenied", "message": "The token is not the one in the data directory."}
        if self._opens(scope):
            status, answer = await asyncio.to_thread(_perform, json.loads(body or b"{}"))
        await Reply(send, "local").whole(
            Whole(status, [("Content-Type", "application/json")], json.dumps(answer).encode())
        )

    def _opens(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        return hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode())


def _perform(call: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    operation, parameters = call["operation"], call["parameters"]
    tables = {parameters.get("TableName"), *parameters.get("RequestItems", {})} - {None}
    if operation not in OPERATIONS or tables != {os.environ["AGENTKEEP_SYSTEM_TABLE"]}:
        return 403, {
            "code": "AccessDenied",
            "message": f"{operation} on {', '.join(sorted(tables))} is not for commands.",
        }
    try:
        answer = getattr(system_client("dynamodb"), xform_name(operation))(**parameters)
    except ClientError as error:
        return 400, {"code": error.response["Error"]["Code"], "message": error.response["Error"]["Message"]}
    return 200, {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def operations_through(server: RunningServer) -> dict[str, Operation]:
    """DynamoDB as the running server serves it, for `infra.local.aws.service.serve` in another process."""
    return {operation: partial(_send, server, operation) for operation in OPERATIONS}


def _send(server: RunningServer, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        server.address + PATH,
        data=json.dumps({"operation": operation, "parameters": parameters}).encode(),
        headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"},
    )
    try:
        with _DIRECT.open(request, timeout=_SECONDS) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        refusal = json.load(error)
        raise AwsError(refusal["code"], refusal["message"], error.code) from error
    except OSError as error:
        raise DoorClosedError(server, error) from error
