"""API Gateway on one machine: HTTP in, proxy events to the deployed handlers, their answers out, whole or streamed."""

import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from agentkeep.api import cors
from infra import api_gateway
from infra.api_gateway import OwnAnswer
from infra.constructs.resource_tree import Target
from infra.local.authorization import Authorization, RefusedError, answering_none
from infra.local.browsers import BrowserDoor
from infra.local.events import authorizer_event, proxy_event
from infra.local.invocation import FunctionFailedError, Handler, Invocation, StoppingError, StreamHead
from infra.local.lambda_context import LambdaContext
from infra.local.leftovers import watch_threads
from infra.local.receiving import ClientLeftError, receive_body
from infra.local.relay import Until, relay
from infra.local.reply import MalformedAnswerError, Reply, of_function, own
from infra.local.request import Request
from infra.local.resources import Match, ResourceTree
from infra.local.workers import Workers

_log: Final = logging.getLogger(__name__)
_STOPPING: Final = OwnAnswer("STOPPING", 503, "The server is stopping. Send the request again.")
_EVENT_FITS_BELOW: Final = api_gateway.PAYLOAD_BYTES // 8
"""Whatever its characters, a body of this size does not grow past the limit when it is written as JSON."""

FindHandler = Callable[[str], Handler]


@dataclass(frozen=True)
class GatewaySettings:
    """How the gateway behaves; times are in seconds. `strict` fails invocations that leave threads behind.

    `door` looks at browsers' requests; None lets all in.
    """

    stage: str = "local"
    requires_key: bool = False
    authorizer_cache_seconds: float = 60
    buffered_seconds: float = api_gateway.BUFFERED_SECONDS
    streamed_seconds: float = api_gateway.STREAMED_SECONDS
    idle_seconds: float = api_gateway.STREAM_IDLE_SECONDS
    strict: bool = False
    door: BrowserDoor | None = None


class Gateway:
    """The ASGI application. `find_handler` gives a function's `lambda_handler` by name; it is called on a worker."""

    def __init__(self, tree: ResourceTree, find_handler: FindHandler, settings: GatewaySettings) -> None:
        self._tree = tree
        self._find_handler = find_handler
        self._settings = settings
        self._workers = Workers("lambda")
        self._running: set[Invocation] = set()
        self._authorization = Authorization(
            requires_key=settings.requires_key, seconds=settings.authorizer_cache_seconds
        )
        if settings.strict:
            watch_threads()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request. Other kinds of connection are not served yet."""
        if scope["type"] != "http":
            return
        try:
            body = await receive_body(scope, receive)
        except ClientLeftError:
            return
        request = Request.of(scope, body or b"")
        reply = Reply(send, request.id)
        try:
            await self._answer(request, reply, too_large=body is None)
        except RefusedError as error:
            await self._say(error.answer, request, reply)
        except StoppingError:
            await self._say(_STOPPING, request, reply)
        except TimeoutError:
            _log.error("%s %s: no answer within the time that API Gateway waits", request.method, request.path)
            await self._say(api_gateway.INTEGRATION_TIMEOUT, request, reply)
        except FunctionFailedError:
            await self._say(api_gateway.FUNCTION_FAILED, request, reply)
        except MalformedAnswerError as error:
            _log.error("%s %s: API Gateway would not take the answer: %s", request.method, request.path, error)
            await self._say(api_gateway.FUNCTION_FAILED, request, reply)

    def stop(self) -> None:
        """Ends what is being answered: streams of events say so, other answers are refused or cut off."""
        for invocation in self._running:
            invocation.interrupt()

    async def _answer(self, request: Request, reply: Reply, *, too_large: bool) -> None:
        if too_large:
            raise RefusedError(api_gateway.REQUEST_TOO_LARGE)
        if self._settings.door and (refusal := self._settings.door.refusal(request)):
            raise RefusedError(refusal)
        match = self._tree.match(request.method, request.path)
        authorizer = await self._authorize(request, match) if match.target.authorized else None
        event = proxy_event(request, match, self._settings.stage, authorizer)
        if not _fits(request, event):
            raise RefusedError(api_gateway.REQUEST_TOO_LARGE)
        await self._call(match.target, event, reply)

    async def _authorize(self, request: Request, match: Match) -> dict[str, Any]:
        async def ask() -> Mapping[str, Any]:
            event = authorizer_event(request, match, self._settings.stage)
            handler = _later(lambda: answering_none(self._find_handler("authorizer")))
            async with self._invocation("authorizer", handler, event, self._settings.buffered_seconds) as invocation:
                answer = await invocation.answer(self._settings.buffered_seconds)
            return answer if isinstance(answer, Mapping) else {}

        return await self._authorization.context(request, ask)

    async def _call(self, target: Target, event: Mapping[str, Any], reply: Reply) -> None:
        settings = self._settings
        seconds = settings.streamed_seconds if target.streaming else settings.buffered_seconds
        handler = _later(lambda: self._find_handler(target.function))
        async with self._invocation(target.function, handler, event, seconds) as invocation:
            until = time.monotonic() + seconds
            answer = await invocation.answer(seconds)
            if not isinstance(answer, StreamHead):
                await reply.whole(of_function(answer))
            elif not target.streaming:
                raise MalformedAnswerError("the answer is streamed, but its route is not")
            else:
                await relay(invocation, answer, Until(until, settings.idle_seconds), reply)

    @asynccontextmanager
    async def _invocation(
        self, function: str, handler: Handler, event: Mapping[str, Any], seconds: float
    ) -> AsyncIterator[Invocation]:
        context = LambdaContext(f"agentkeep-{self._settings.stage}-{function}", seconds)
        invocation = Invocation(handler, event, context, strict=self._settings.strict)
        self._running.add(invocation)
        self._workers.submit(invocation.run)
        try:
            yield invocation
        finally:
            self._running.discard(invocation)
            invocation.stop_listening()

    async def _say(self, answer: OwnAnswer, request: Request, reply: Reply) -> None:
        await reply.whole(own(answer, cors.headers(request.flat_headers)))


def _later(find: Callable[[], Handler]) -> Handler:
    """A handler that is looked up where it runs, since the first look-up imports the function."""
    return lambda event, context: find()(event, context)


def _fits(request: Request, event: Mapping[str, Any]) -> bool:
    if len(request.body) <= _EVENT_FITS_BELOW:
        return True
    return len(json.dumps(event, ensure_ascii=False).encode()) <= api_gateway.PAYLOAD_BYTES
