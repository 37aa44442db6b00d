"""Passes a streamed answer on, chunk by chunk as they are made."""

import json
import logging
import time
from dataclasses import dataclass
from typing import Final

from infra.api_gateway import STREAM_BYTES
from infra.local.invocation import FunctionFailedError, Invocation, StoppingError, StreamHead
from infra.local.reply import Reply, stream_headers

_log: Final = logging.getLogger(__name__)
_STOPPED: Final = {
    "message_type": "error_message",
    "run_id": None,
    "error_type": "server_stopping",
    "message": "The server is stopping.",
    "detail": "What was committed is kept. Send the message again when the server is back.",
    "seq_id": None,
}


@dataclass(frozen=True)
class Until:
    """When API Gateway cuts a stream off: at `end` (of time.monotonic) or after a silence of `idle` seconds."""

    end: float
    idle: float

    @property
    def next_chunk(self) -> float:
        """How many seconds the next chunk may take."""
        return min(self.idle, self.end - time.monotonic())


async def relay(invocation: Invocation, head: StreamHead, until: Until, reply: Reply) -> None:
    """Sends the answer to its end, whether or not the client still listens.

    A handler that fails or takes too long has its answer cut off, which the client sees as a broken transfer.
    """
    await reply.start(head.status_code, stream_headers(head.headers))
    try:
        await _send_chunks(invocation, until, reply)
    except StoppingError:
        if _is_event_stream(head):
            await reply.chunk(b"event: error\ndata: " + json.dumps(_STOPPED).encode() + b"\n\n")
            await reply.end()
    except TimeoutError:
        _log.error("A stream was cut off: it took longer than API Gateway lets it.")
    except FunctionFailedError:
        _log.error("A stream was cut off: its function failed.")
    else:
        await reply.end()


async def _send_chunks(invocation: Invocation, until: Until, reply: Reply) -> None:
    size = 0
    while (chunk := await invocation.chunk(until.next_chunk)) is not None:
        size += len(chunk)
        if size > STREAM_BYTES:
            raise FunctionFailedError(f"It is larger than the {STREAM_BYTES} bytes that a Lambda may stream.")
        if chunk:
            await reply.chunk(chunk)


def _is_event_stream(head: StreamHead) -> bool:
    return any(
        value.startswith("text/event-stream") for name, value in head.headers.items() if name.lower() == "content-type"
    )
