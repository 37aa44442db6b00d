"""Takes in the body of a request, up to what API Gateway takes."""

from typing import Final

from starlette.types import Receive, Scope

from infra.api_gateway import REQUEST_BYTES

_DRAINED: Final = 10 * REQUEST_BYTES


class ClientLeftError(Exception):
    """The client was gone before its request was complete."""


async def receive_body(scope: Scope, receive: Receive) -> bytes | None:
    """The whole body; None for one that is too large. Raises ClientLeftError.

    Most clients read no answer before they have sent everything, so a body that is too large is still received, up to
    a point, and thrown away. A client that asks first (`Expect: 100-continue`) is not made to send it.
    """
    if _declared(scope) > REQUEST_BYTES and _header(scope, b"expect"):
        return None
    chunks: list[bytes] = []
    size = 0
    while size <= _DRAINED:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= REQUEST_BYTES:
            chunks.append(chunk)
        if not message.get("more_body"):
            break
    return b"".join(chunks) if size <= REQUEST_BYTES else None


def _declared(scope: Scope) -> int:
    value = _header(scope, b"content-length") or b"0"
    return int(value) if value.isdigit() else 0


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)
