"""The resolver of every function: from a proxy event to an answer, in one place.

A handler names its route and permission, reads its input as models and returns JSON, an `Answer` or a
`StreamedResponse`. Errors it raises become answers here (`api/errors.py`).

    app = Resolver()

    @app.get("/v1/blocks/<block_id>", permission="block:read")
    def retrieve(block_id: str) -> Json:
        return render_block(blocks.get(block_id))

    @app.get("/v1/blocks", permission="block:read")
    def list_blocks() -> list[Json]:
        query = app.query(ListBlocks)
        return [render_block(block) for block in blocks.page(query.filters(), query.page())]

    @app.post("/v1/agents/<agent_id>/messages", permission="message:send", streaming=True)
    def send(agent_id: str) -> StreamedResponse:
        request = app.body(SendMessages)
        return blocking(lambda emit: turns.run(agent_id, request, emit), request.view().show)

    def lambda_handler(event: Event, context: Any) -> Reply:
        return app.resolve(event, context)

Inside a handler `agentkeep.tenancy.context` holds the caller, and so it does while a streamed body is read. Path
parameters arrive decoded and are of the right kind (`api/identifiers.py`); `<name+>` takes slashes too.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aws_lambda_powertools.event_handler.api_gateway import APIGatewayRestResolver, Route
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent
from pydantic import BaseModel

from agentkeep.api import authorized, coming, cors, identifiers, paths
from agentkeep.api.answers import Answer
from agentkeep.api.errors import error_answer
from agentkeep.api.parsing import parse_body, parse_query
from agentkeep.api.replies import Reply, reply
from agentkeep.api.stream import ContextBody, StreamedResponse
from agentkeep.errors import NotBuiltError
from agentkeep.tenancy.context import acting_as

Event = Mapping[str, Any]
Handler = TypeVar("Handler", bound=Callable[..., Any])
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Operation:
    """A route as its handler declared it. `path` is written as in the route table: `/v1/blocks/{block_id}`."""

    method: str
    path: str
    permission: str | None
    streaming: bool


@dataclass
class _Request:
    """What Powertools keeps of a request. It does so in class attributes, where threads see each other's."""

    event: Any = None
    lambda_context: Any = None
    variables: dict[str, Any] = field(default_factory=dict)
    frames: list[str] = field(default_factory=list)


class _PerRequest:
    """An attribute of Powertools' resolver that lives with the request."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, resolver: Any, owner: type) -> Any:
        return self if resolver is None else getattr(resolver.request_state, self._name)

    def __set__(self, resolver: Any, value: object) -> None:
        setattr(resolver.request_state, self._name, value)


class Resolver(APIGatewayRestResolver):
    """Powertools' resolver with its request state in a context variable, and our way to answers. Safe under threads."""

    current_event: Any = _PerRequest("event")
    lambda_context: Any = _PerRequest("lambda_context")
    context: Any = _PerRequest("variables")
    processed_stack_frames: Any = _PerRequest("frames")

    def __init__(self) -> None:
        self._outside = _Request()
        self._state: ContextVar[_Request] = ContextVar("request", default=self._outside)
        self._declared: dict[tuple[str, str], Operation] = {}
        super().__init__()

    @property
    def request_state(self) -> _Request:
        """The state of the request at work, of nobody else's."""
        return self._state.get()

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The routes of this function."""
        return tuple(self._declared.values())

    def body(self, model: type[M]) -> M:
        """The request's JSON body. Raises InvalidRequestError."""
        return parse_body(self.current_event.raw_event, model)

    def query(self, model: type[M]) -> M:
        """The request's query string. Raises InvalidRequestError."""
        return parse_query(self.current_event.raw_event, model)

    def header(self, name: str) -> str | None:
        """A header of the request, by its name in lower case."""
        return _headers(self.current_event.raw_event).get(name)

    def get(self, rule: str, *, permission: str | None, streaming: bool = False) -> Callable[[Handler], Handler]:  # type: ignore[override]
        """Declares a GET route. `permission` is what the caller's role must include; None asks for no caller.

        With `streaming`, every answer of the route is a StreamedResponse, refusals too.
        """
        return self._declare("GET", rule, permission, streaming)

    def post(self, rule: str, *, permission: str | None, streaming: bool = False) -> Callable[[Handler], Handler]:  # type: ignore[override]
        """Declares a POST route; see `get`."""
        return self._declare("POST", rule, permission, streaming)

    def patch(self, rule: str, *, permission: str | None, streaming: bool = False) -> Callable[[Handler], Handler]:  # type: ignore[override]
        """Declares a PATCH route; see `get`."""
        return self._declare("PATCH", rule, permission, streaming)

    def put(self, rule: str, *, permission: str | None, streaming: bool = False) -> Callable[[Handler], Handler]:  # type: ignore[override]
        """Declares a PUT route; see `get`."""
        return self._declare("PUT", rule, permission, streaming)

    def delete(self, rule: str, *, permission: str | None, streaming: bool = False) -> Callable[[Handler], Handler]:  # type: ignore[override]
        """Declares a DELETE route; see `get`."""
        return self._declare("DELETE", rule, permission, streaming)

    def _declare(self, method: str, rule: str, permission: str | None, streaming: bool) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            path = re.sub(r"<(\w+)\+?>", r"{\1}", rule)
            self._declared[method, rule] = Operation(method, path, permission, streaming)
            self.route(rule, method)(handler)
            self._dynamic_routes.sort(key=lambda route: "+>" in route.path)
            return handler

        return register

    @staticmethod
    def _compile_regex(rule: str, base_regex: str = "^{}$") -> re.Pattern[str]:
        one_segment = re.sub(r"<(\w+)>", r"(?P<\1>[^/]+)", rule)
        return re.compile(base_regex.format(re.sub(r"<(\w+)\+>", r"(?P<\1>.+)", one_segment)))

    def resolve(self, event: Event, context: Any) -> Reply:  # type: ignore[override]
        """The reply to a proxy event. Never raises: what goes wrong is answered too. HEAD is a GET without its body."""
        path = paths.normalised(event.get("path") or "/")
        token = self._state.set(_Request(APIGatewayProxyEvent({**event, "path": path}), context))
        try:
            method = event["httpMethod"].upper()
            found = self._resolved("GET" if method == "HEAD" else method, path, event)
            return {**found, "body": ""} if method == "HEAD" and isinstance(found, dict) else found
        finally:
            self._state.reset(token)

    def _resolved(self, method: str, path: str, event: Event) -> Reply:
        headers = _headers(event)
        if method == "OPTIONS":
            return reply(Answer(204, None, cors.preflight(headers)), cors.headers(headers), streaming=False)
        route, arguments = self._match(method, path)
        operation = self._declared[method, route.path] if route else None
        result: object
        try:
            with _acting(operation, event):
                result = _called(route, arguments) if route else self._unmatched(method, path)
        except Exception as error:  # the border of the function: all become answers, unforeseen ones are logged
            result = error_answer(error, _request_id(event))
        return reply(result, cors.headers(headers), streaming=operation is not None and operation.streaming)

    def _match(self, method: str, path: str) -> tuple[Route | None, dict[str, str]]:
        for route in (*self._static_routes, *self._dynamic_routes):
            if route.method == method and (found := route.rule.match(path)):
                return route, {name: paths.decoded(value) for name, value in found.groupdict().items()}
        return None, {}

    def _unmatched(self, method: str, path: str) -> Answer:
        if coming.is_coming(method, path):
            raise NotBuiltError(f"{method} {path}")
        routes = (*self._static_routes, *self._dynamic_routes)
        if allowed := sorted({route.method for route in routes if route.rule.match(path)}):
            return Answer(405, {"detail": "Method Not Allowed"}, {"Allow": ", ".join(allowed)})
        return Answer(404, {"detail": "Not Found"})


def _acting(operation: Operation | None, event: Event) -> AbstractContextManager[object]:
    if operation is None or operation.permission is None:
        return nullcontext()
    return acting_as(authorized.caller(event, operation.permission))


def _called(route: Route, arguments: dict[str, str]) -> object:
    identifiers.check_path(arguments)
    result = route.func(**arguments)
    if isinstance(result, StreamedResponse):
        return StreamedResponse(result.status_code, result.headers, ContextBody(result.body, copy_context()))
    return result


def _headers(event: Event) -> dict[str, str]:
    return {name.lower(): value for name, value in (event.get("headers") or {}).items()}


def _request_id(event: Event) -> str:
    return str((event.get("requestContext") or {}).get("requestId") or "")
