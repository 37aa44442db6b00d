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
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from botocore import xform_name
from botocore.exceptions import ClientError, ParamValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from agentkeep.tenancy.client import system_client
from infra.local.aws.service import AwsError, Operation
from infra.local.data_directory import RunningServer
from infra.local.receiving import ClientLeftError, receive_body
from infra.local.reply import Reply, Whole
from infra.local.request import is_loopback

PATH: Final = "/_local/dynamodb"
OPERATIONS: Final = ("GetItem", "PutItem", "UpdateItem", "Query", "BatchGetItem")
Answer = tuple[int, dict[str, Any]]
_SECONDS: Final = 10
_FORM: Final = 'A call is JSON: {"operation": "Query", "parameters": {...}}.'
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class DoorClosedError(Exception):
    """The running server cannot be reached."""

    def __init__(self, server: RunningServer, error: OSError) -> None:
        super().__init__(
            f"The agentkeep at {server.address} (process {server.process}) does not answer: {str(error).rstrip('.')}."
        )


@dataclass(frozen=True)
class Call:
    """One operation with the parameters of the low-level client."""

    operation: str
    parameters: dict[str, Any]


_CALL: Final = TypeAdapter(Call)


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
        try:
            status, answer = await self._answer(scope, receive)
        except ClientLeftError:
            return
        await Reply(send, "local").whole(
            Whole(status, [("Content-Type", "application/json")], json.dumps(answer).encode())
        )

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        """Nothing of a stranger's request is read beyond its head."""
        if not is_loopback((scope.get("client") or ("", 0))[0]):
            return _refused(403, "Commands are taken from this machine only.")
        if not self._opens(scope):
            return _refused(403, "The token is not the one in the data directory.")
        call = _call_of(await receive_body(scope, receive))
        return await asyncio.to_thread(_perform, call) if call else _refused(400, _FORM)

    def _opens(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        return hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode())


def _call_of(body: bytes | None) -> Call | None:
    """The call that a body asks for; None for a body that asks for none."""
    try:
        return _CALL.validate_json(body or b"")
    except ValidationError:
        return None


def _perform(call: Call) -> Answer:
    parameters = call.parameters
    requested = parameters.get("RequestItems", {})
    if not isinstance(requested, dict):
        return _refused(400, "RequestItems is an object: keys by table.")
    tables = [parameters.get("TableName"), *requested]
    system_table = os.environ["AGENTKEEP_SYSTEM_TABLE"]
    if call.operation not in OPERATIONS or any(table not in (None, system_table) for table in tables):
        return _refused(403, f"{call.operation} on {', '.join(map(str, tables))} is not for commands.")
    try:
        answer = getattr(system_client("dynamodb"), xform_name(call.operation))(**parameters)
    except ClientError as error:
        return 400, {"code": error.response["Error"]["Code"], "message": error.response["Error"]["Message"]}
    except ParamValidationError as error:
        return _refused(400, str(error))
    return 200, {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def _refused(status: int, message: str) -> Answer:
    return status, {"code": "AccessDenied" if status == 403 else "ValidationException", "message": message}


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
