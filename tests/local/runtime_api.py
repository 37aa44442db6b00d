"""Lambda's Runtime API as a function sees it, on a loopback socket: hands out events, takes answers in."""

import json
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final

DEADLINE_MS: Final = 30_000


@dataclass
class Posted:
    """What a function posted: the path behind `/runtime/`, headers, body, trailers, and when each chunk came."""

    path: str
    headers: Mapping[str, str]
    chunks: list[bytes] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    trailers: dict[str, str] = field(default_factory=dict)
    complete: bool = True

    @property
    def body(self) -> bytes:
        """All of it."""
        return b"".join(self.chunks)


class RuntimeApiServer:
    """Serves one function.

    After `hang_up_after` chunks the receiver of a streamed answer is gone; with `refuse` no answer is accepted.
    """

    def __init__(self, *, hang_up_after: int | None = None, refuse: bool = False) -> None:
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.posted: queue.Queue[Posted] = queue.Queue()
        self.hang_up_after = hang_up_after
        self.refuse = refuse
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        """`AWS_LAMBDA_RUNTIME_API`."""
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection of the function."""

    protocol_version = "HTTP/1.1"
    api: ClassVar[RuntimeApiServer]

    def do_GET(self) -> None:
        event = self.api.events.get(timeout=10)
        self.send_response(200)
        self.send_header("Lambda-Runtime-Aws-Request-Id", event.get("id", "request-1"))
        self.send_header("Lambda-Runtime-Deadline-Ms", str(int(time.time() * 1000) + DEADLINE_MS))
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-west-1:1:function:messages")
        self.send_header("Lambda-Runtime-Trace-Id", "Root=1-2-3")
        self._finish(json.dumps(event).encode())

    def do_POST(self) -> None:
        posted = Posted(self.path.removeprefix("/2018-06-01/runtime/"), dict(self.headers))
        if self.headers.get("Transfer-Encoding") == "chunked":
            self._read_chunks(posted)
        else:
            posted.chunks.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.api.posted.put(posted)
        if posted.complete:
            self.send_response(413 if self.api.refuse and posted.path.endswith("/response") else 202)
            self._finish(b'{"status":"OK"}')

    def _read_chunks(self, posted: Posted) -> None:
        while size := int(self.rfile.readline(), 16):
            posted.chunks.append(self.rfile.read(size))
            posted.arrivals.append(time.monotonic())
            self.rfile.readline()
            if self.api.hang_up_after == len(posted.chunks):
                posted.complete = False
                self.close_connection = True
                self.connection.close()
                return
        while line := self.rfile.readline().strip().decode():
            name, _, value = line.partition(": ")
            posted.trailers[name] = value

    def _finish(self, body: bytes) -> None:
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keeps quiet."""
