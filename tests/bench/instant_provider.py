"""A provider in the shape of OpenAI's that answers at once. It has a process of its own, so as not to be measured."""

import asyncio
import json
import multiprocessing
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

MODEL: Final = "gpt-4o-mini"
TEXT_TURN: Final = "Good morning."
TOOL_TURN: Final = "Remember that I like tea."
_CALL: Final = {"label": "human", "old_string": "tea", "new_string": "tea"}
_USAGE: Final = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@contextmanager
def instant_provider() -> Iterator[str]:
    """Its base URL. It calls `memory_replace` when TOOL_TURN is the newest message, and says a sentence otherwise."""
    bound = socket.create_server(("127.0.0.1", 0), backlog=256)
    process = multiprocessing.get_context("fork").Process(target=_run, args=(bound,), daemon=True)
    process.start()
    yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
    process.terminate()
    process.join()


def _run(bound: socket.socket) -> None:
    asyncio.run(_serve(bound))


async def _serve(bound: socket.socket) -> None:
    server = await asyncio.start_server(_talk, sock=bound)
    await server.serve_forever()


async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            body = await reader.readexactly(_length(head))
            writer.write(_http(_answer(json.loads(body)) if body else _models()))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _length(head: bytes) -> int:
    found = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    return int(found[0].split(b":")[1]) if found else 0


def _http(document: Any) -> bytes:
    body = json.dumps(document).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def _models() -> Any:
    return {"object": "list", "data": [{"id": MODEL, "object": "model"}]}


def _answer(request: Any) -> Any:
    newest = request["messages"][-1]
    calls = newest["role"] == "user" and newest["content"] == TOOL_TURN
    function = {"name": "memory_replace", "arguments": json.dumps(_CALL)}
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else "Good morning to you."}
    if calls:
        message["tool_calls"] = [{"id": f"call_{len(request['messages'])}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": _USAGE}
