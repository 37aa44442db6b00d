"""One call of a handler: on a worker thread from its first line to the last chunk, heard from the event loop.

The thread never waits for the client. What nobody reads any more is dropped, and the handler still runs to its end,
as a Lambda does when its client leaves.
"""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agentkeep.unforeseen import log_unforeseen
from infra.local.lambda_context import LambdaContext
from infra.local.leftovers import started_here

_log: Final = logging.getLogger(__name__)

Handler = Callable[[Mapping[str, Any], LambdaContext], Any]


class Streamed(Protocol):
    """A streamed answer: `agentkeep.api.stream.StreamedResponse`."""

    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class StreamHead:
    """The beginning of a streamed answer; its chunks follow."""

    status_code: int
    headers: Mapping[str, str]


class FunctionFailedError(Exception):
    """The handler raised, or left threads behind where that is forbidden. In AWS: a function error."""


class StoppingError(Exception):
    """The server stops; the invocation is not heard to its end."""


class StreamEnd:
    """Nothing follows."""


Answer = Mapping[str, Any] | StreamHead
Heard = Mapping[str, Any] | StreamHead | bytes | StreamEnd | FunctionFailedError | StoppingError


class Invocation:
    """Created on the event loop; `run` is the task for a worker; `answer` and `chunks` are awaited on the loop."""

    def __init__(self, handler: Handler, event: Mapping[str, Any], context: LambdaContext, *, strict: bool) -> None:
        self._call = (handler, event, context)
        self._context = context
        self._strict = strict
        self._loop = asyncio.get_running_loop()
        self._heard: asyncio.Queue[Heard] = asyncio.Queue()
        self._abandoned = False

    def run(self) -> None:
        """Calls the handler and consumes its body, in context variables of its own."""
        contextvars.Context().run(self._run)

    async def answer(self, seconds: float) -> Answer:
        """The whole answer, or the head of a streamed one. Raises TimeoutError, FunctionFailedError, StoppingError."""
        heard = await self._next(seconds)
        if isinstance(heard, bytes | StreamEnd):
            raise FunctionFailedError("The answer has no head.")
        return heard

    async def chunk(self, seconds: float) -> bytes | None:
        """The next chunk, None at the end. Raises TimeoutError, FunctionFailedError, StoppingError."""
        heard = await self._next(seconds)
        return heard if isinstance(heard, bytes) else None

    def stop_listening(self) -> None:
        """What the handler says from now on is dropped; it runs on to its end."""
        self._abandoned = True

    def interrupt(self) -> None:
        """Makes whoever awaits this invocation get a StoppingError. Called on the event loop."""
        self._heard.put_nowait(StoppingError("The server stops."))

    async def _next(self, seconds: float) -> Mapping[str, Any] | StreamHead | bytes | StreamEnd:
        async with asyncio.timeout(seconds):
            heard = await self._heard.get()
        if isinstance(heard, FunctionFailedError | StoppingError):
            raise heard
        return heard

    def _run(self) -> None:
        try:
            with self._watched() as started:
                last = self._call_handler()
            if alive := [thread.name for thread in started if thread.is_alive()]:
                raise FunctionFailedError(f"Threads are left behind after the invocation: {', '.join(alive)}.")
        except FunctionFailedError as error:
            self._fail(error)
        except Exception as error:  # the border of the invocation: whatever a handler raises, its caller is answered
            log_unforeseen(error, f"an invocation of {self._context.function_name}")
            self._say(FunctionFailedError(f"It raised {type(error).__name__}."))
        else:
            self._say(last)

    def _watched(self) -> AbstractContextManager[list[threading.Thread]]:
        return started_here() if self._strict else nullcontext([])

    def _call_handler(self) -> Heard:
        handler, event, context = self._call
        answer = handler(event, context)
        if isinstance(answer, Mapping):
            return answer
        self._stream(answer)
        return StreamEnd()

    def _stream(self, answer: Streamed) -> None:
        self._say(StreamHead(answer.status_code, answer.headers))
        for chunk in answer.body:
            self._say(chunk)

    def _fail(self, error: FunctionFailedError) -> None:
        _log.error("%s failed: %s", self._context.function_name, error)
        self._say(error)

    def _say(self, heard: Heard) -> None:
        if self._abandoned:
            return
        try:
            self._loop.call_soon_threadsafe(self._heard.put_nowait, heard)
        except RuntimeError:  # the loop is closed: the server has stopped
            self._abandoned = True
