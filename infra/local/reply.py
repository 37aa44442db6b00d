"""Writes one HTTP answer: a function's, whole or chunk by chunk, or one of the gateway's own."""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.types import Send

from infra.api_gateway import PAYLOAD_BYTES, OwnAnswer

Headers = list[tuple[str, str]]
_JSON: Final = ("Content-Type", "application/json")
_OURS: Final = frozenset(
    {"connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)


class MalformedAnswerError(Exception):
    """A function answered something that API Gateway does not take."""


@dataclass(frozen=True)
class Whole:
    """An answer in one piece."""

    status: int
    headers: Headers
    body: bytes


class Reply:
    """The answer to one request, with the request's id in its head. `started` says whether the status has been sent."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.started = False

    async def whole(self, answer: Whole) -> None:
        """Sends status, headers and body."""
        length = [] if answer.status == 204 else [("Content-Length", str(len(answer.body)))]
        await self.start(answer.status, [*answer.headers, *length])
        await self._send({"type": "http.response.body", "body": answer.body})

    async def start(self, status: int, headers: Headers) -> None:
        """Sends the head of an answer whose chunks follow."""
        pairs = [*headers, ("x-amzn-RequestId", self._request_id)]
        encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})
        self.started = True

    async def chunk(self, data: bytes) -> None:
        """Sends a piece of the body at once. To a client that is gone it does nothing."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """Says that the body is complete. A body that is never ended is cut off, and the client sees that."""
        await self._send({"type": "http.response.body", "body": b""})


def own(answer: OwnAnswer, cors_headers: Mapping[str, str]) -> Whole:
    """An answer of the gateway itself, in the shape of every error."""
    return Whole(answer.status, [_JSON, *cors_headers.items()], json.dumps({"detail": answer.sentence}).encode())


def of_function(answer: Mapping[str, Any]) -> Whole:
    """A function's proxy response. Raises MalformedAnswerError for one that API Gateway would answer with 502."""
    status = answer.get("statusCode")
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise MalformedAnswerError(f"statusCode is {status!r}")
    body = _body(answer)
    if len(body) > PAYLOAD_BYTES:
        raise MalformedAnswerError(
            f"the body has {len(body)} bytes; {PAYLOAD_BYTES} are the limit of an answer in one piece"
        )
    return Whole(status, _with_type(_headers(answer)), body)


def stream_headers(headers: Mapping[str, str]) -> Headers:
    """The headers of a streamed answer, less those that belong to the connection."""
    return _with_type(_passed_on((name, [value]) for name, value in headers.items()))


def _headers(answer: Mapping[str, Any]) -> Headers:
    """`headers` and `multiValueHeaders` as one list; for a name in both, the latter counts."""
    several: Mapping[str, list[Any]] = answer.get("multiValueHeaders") or {}
    repeated = {name.lower() for name in several}
    single = {name: [value] for name, value in (answer.get("headers") or {}).items() if name.lower() not in repeated}
    return _passed_on([*single.items(), *several.items()])


def _passed_on(headers: Iterable[tuple[str, list[Any]]]) -> Headers:
    pairs = [(name, str(value)) for name, values in headers if name.lower() not in _OURS for value in values]
    for name, value in pairs:
        if not (name + value).isprintable() or not (name + value).isascii():
            raise MalformedAnswerError(f"the header {name!r} holds a character that a header may not")
    return pairs


def _with_type(headers: Headers) -> Headers:
    return headers if any(name.lower() == "content-type" for name, _ in headers) else [*headers, _JSON]


def _body(answer: Mapping[str, Any]) -> bytes:
    text = answer.get("body") or ""
    if not isinstance(text, str):
        raise MalformedAnswerError(f"the body is a {type(text).__name__}, not a string")
    try:
        return base64.b64decode(text, validate=True) if answer.get("isBase64Encoded") else text.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise MalformedAnswerError(f"the body cannot be sent: {error}") from error
