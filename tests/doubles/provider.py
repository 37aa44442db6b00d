"""A model provider on loopback, shaped like OpenAI and like Anthropic, that answers by script and refuses as they do.

with ScriptedProvider() as provider:
    provider.script(call("memory_insert", {"label": "human", "new_string": "Tea"}), say("Noted."))
    ...
    assert provider.requests[0].body["model"] == "gpt-4o-mini"
"""

import asyncio
import itertools
import json
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.doubles import provider_rules as rules
from tests.doubles.provider_replies import ACKNOWLEDGED, Reply, arguments_text, asked_for, newest_request
from tests.doubles.provider_rules import RefusedError

BAD_KEY: Final = "bad-key"
OPENAI_MODELS: Final = ("gpt-4o-mini", "gpt-4.1", "gpt-5", "gpt-5.4", "o3", "text-embedding-3-small", "whisper-1")
ANTHROPIC_MODELS: Final = (
    "claude-opus-5-5",
    "claude-haiku-4-5",
    "claude-sonnet-4-20250514",
    "claude-3-5-haiku-20241022",
)
_OVERFLOW: Final = {
    "openai": "This model's maximum context length is {limit} tokens. Your messages resulted in {size} tokens.",
    "anthropic": "prompt is too long: {size} tokens > {limit} maximum",
}
_ANTHROPIC_ERRORS: Final = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """A request that arrived, and the status it was answered with."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    status: int


class ScriptedProvider:
    """The provider, in a thread. Use it as a context manager, or with `start` and `stop`.

    Each request takes the next reply of `script`; with none left, what the newest user message asks for in its lines
    (see `provider_replies.asked_for`), else "Acknowledged.". A request that a real provider would refuse is refused and
    takes no reply. `context_window` is in tokens of four characters. Any key but "bad-key" is good.
    """

    def __init__(self, context_window: int = 100_000) -> None:
        self.context_window = context_window
        self.requests: list[Seen] = []
        self.lists_models = True
        self._replies: deque[Reply] = deque()
        self._numbers = itertools.count(1)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._server = uvicorn.Server(uvicorn.Config(self._app(), log_level="critical", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    @property
    def address(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def openai_base_url(self) -> str:
        """What to set OPENAI_BASE_URL to."""
        return f"{self.address}/v1"

    @property
    def anthropic_base_url(self) -> str:
        """What to set ANTHROPIC_BASE_URL to."""
        return self.address

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make this the provider of both kinds of models."""
        return {
            "OPENAI_API_KEY": "test-key",
            "OPENAI_BASE_URL": self.openai_base_url,
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": self.anthropic_base_url,
        }

    def script(self, *replies: Reply) -> None:
        """The next replies, after those that are still waiting."""
        self._replies.extend(replies)

    def reset(self) -> None:
        """Forgets the script and the requests."""
        self._replies.clear()
        self.requests.clear()

    @property
    def calls(self) -> list[Seen]:
        """The requests for answers, without those for model lists."""
        return [seen for seen in self.requests if not seen.path.endswith("/models")]

    def start(self) -> "ScriptedProvider":
        """Returns when requests are taken."""
        self._thread.start()
        deadline = time.monotonic() + 10
        while not self._server.started:
            assert time.monotonic() < deadline, "the scripted provider did not start"
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        """Ends the server, open connections included."""
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)
        self._socket.close()

    def __enter__(self) -> "ScriptedProvider":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._openai, methods=["POST"]),
                Route("/v1/messages", self._anthropic, methods=["POST"]),
                Route("/v1/models", self._models),
            ]
        )

    async def _models(self, request: Request) -> Response:
        anthropic = "x-api-key" in request.headers
        status = 401 if _key(request) == BAD_KEY else 200 if self.lists_models else 500
        self.requests.append(Seen(request.url.path, {}, dict(request.headers), status))
        names = ANTHROPIC_MODELS if anthropic else OPENAI_MODELS
        entries = [{"id": name, "display_name": name.title()} for name in names]
        return JSONResponse({"data": entries} if status == 200 else {"error": {"message": "no"}}, status)

    async def _openai(self, request: Request) -> Response:
        body = await request.json()
        try:
            self._admit("openai", _key(request), body, OPENAI_MODELS)
            rules.refuse_openai(body)
            reply = self._next(body)
            await asyncio.sleep(reply.wait)
            _raise_refusal(reply)
        except RefusedError as refusal:
            return self._answer(request, body, refusal.status, _openai_error(refusal), _headers(refusal))
        completion = _completion(reply, body, next(self._numbers))
        return await self._send(request, body, reply, completion)

    async def _anthropic(self, request: Request) -> Response:
        body = await request.json()
        try:
            self._admit("anthropic", _key(request), body, ANTHROPIC_MODELS)
            rules.refuse_anthropic(body, request.headers)
            reply = self._next(body)
            await asyncio.sleep(reply.wait)
            _raise_refusal(reply)
        except RefusedError as refusal:
            return self._answer(request, body, refusal.status, _anthropic_error(refusal), _headers(refusal))
        return await self._send(request, body, reply, _message(reply, body, next(self._numbers)))

    def _admit(self, kind: str, key: str, body: Mapping[str, Any], models: tuple[str, ...]) -> None:
        if key in ("", BAD_KEY):
            raise RefusedError("Incorrect API key provided.", 401)
        if body["model"] not in models:
            raise RefusedError(f"The model `{body['model']}` does not exist.", 404, "model_not_found")
        size = rules.tokens(body)
        if size > self.context_window:
            message = _OVERFLOW[kind].format(limit=self.context_window, size=size)
            raise RefusedError(message, code="context_length_exceeded")

    def _next(self, body: Mapping[str, Any]) -> Reply:
        if self._replies:
            return self._replies.popleft()
        text, step = newest_request(body["messages"])
        return asked_for(text, step) or ACKNOWLEDGED

    async def _send(
        self, request: Request, body: Mapping[str, Any], reply: Reply, document: dict[str, Any]
    ) -> Response:
        content = reply.body if reply.body is not None else json.dumps(document).encode()
        if reply.cut or reply.trickle:
            self.requests.append(Seen(request.url.path, body, dict(request.headers), 200))
            stream = _trickled() if reply.trickle else _cut(content)
            return StreamingResponse(stream, headers={"content-length": str(len(content))} if reply.cut else None)
        return self._answer(request, body, 200, content, {"x-request-id": document["id"]})

    def _answer(
        self, request: Request, body: Mapping[str, Any], status: int, content: object, headers: Mapping[str, str]
    ) -> Response:
        self.requests.append(Seen(request.url.path, body, dict(request.headers), status))
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        return Response(raw, status, headers, "application/json")


def _key(request: Request) -> str:
    return request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")


async def _trickled() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(0.05)


async def _cut(content: bytes) -> AsyncIterator[bytes]:
    yield content[: len(content) // 2]


def _raise_refusal(reply: Reply) -> None:
    if reply.status != 200:
        raise RefusedError(reply.text or "", reply.status, reply.code, reply.retry_after_ms)


def _headers(refusal: RefusedError) -> dict[str, str]:
    return {} if refusal.retry_after_ms is None else {"retry-after-ms": str(refusal.retry_after_ms)}


def _openai_error(refusal: RefusedError) -> dict[str, Any]:
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.code}}


def _anthropic_error(refusal: RefusedError) -> dict[str, Any]:
    kind = _ANTHROPIC_ERRORS.get(refusal.status, "api_error")
    message = "prompt is too long" if refusal.code == "context_length_exceeded" else refusal.message
    return {"type": "error", "error": {"type": kind, "message": message}}


def _completion(reply: Reply, body: Mapping[str, Any], number: int) -> dict[str, Any]:
    calls = [
        {
            "id": reply.call_id or f"call_{number}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": arguments_text(arguments)},
        }
        for index, (name, arguments) in enumerate(reply.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "tool_calls": calls or None}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    finish = {"length": "length", "refusal": "content_filter"}.get(reply.finish, "tool_calls" if calls else "stop")
    prompt, output = reply.usage.get("prompt", rules.tokens(body)), reply.usage.get("completion", 10)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": reply.usage.get("cached", 0)},
            "completion_tokens_details": {"reasoning_tokens": reply.usage.get("reasoning", 0)},
        },
    }


def _message(reply: Reply, body: Mapping[str, Any], number: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if reply.thinking is not None:
        signed = rules.signature(reply.thinking, body)
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": signed})
    if reply.redacted is not None:
        content.append({"type": "redacted_thinking", "data": reply.redacted})
    if reply.text is not None:
        content.append({"type": "text", "text": reply.text})
    for index, (name, arguments) in enumerate(reply.calls):
        given = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
        content.append({"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": given})
    finish = {"length": "max_tokens", "refusal": "refusal"}.get(reply.finish, "tool_use" if reply.calls else "end_turn")
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": finish,
        "usage": {
            "input_tokens": reply.usage.get("prompt", rules.tokens(body)),
            "output_tokens": reply.usage.get("completion", 10),
            "cache_read_input_tokens": reply.usage.get("cached", 0),
            "cache_creation_input_tokens": reply.usage.get("written", 0),
            "output_tokens_details": {"thinking_tokens": reply.usage.get("reasoning", 0)},
        },
    }
