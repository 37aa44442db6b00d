"""A door in front of a server that notes what goes through it: each request, and the answer it got."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import httpx
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from tests.local.clients import TLS

_OF_ONE_HOP: Final = {b"content-length", b"transfer-encoding", b"connection", b"host"}


@dataclass(frozen=True)
class Exchange:
    """One request, the status it was answered with, and the content type."""

    method: str
    path: str
    status: int
    kind: str


class Recorder:
    """An ASGI application that passes everything on to `target`."""

    def __init__(self, target: str) -> None:
        self.exchanges: list[Exchange] = []
        self._target = target

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        headers = [(name, value) for name, value in request.headers.raw if name not in _OF_ONE_HOP]
        async with httpx.AsyncClient(base_url=self._target, timeout=60, verify=TLS) as client:
            onward = client.build_request(
                request.method,
                httpx.URL(path=request.url.path, query=request.url.query.encode()),
                headers=headers,
                content=await request.body(),
            )
            answer = await client.send(onward, stream=True)
            kind = answer.headers.get("content-type", "")
            self.exchanges.append(Exchange(request.method, request.url.path, answer.status_code, kind))
            shown = {name: value for name, value in answer.headers.items() if name.lower().encode() not in _OF_ONE_HOP}
            await StreamingResponse(_body(answer), answer.status_code, shown)(scope, request.receive, send)


async def _body(answer: httpx.Response) -> AsyncIterator[bytes]:
    async for chunk in answer.aiter_raw():
        yield chunk
