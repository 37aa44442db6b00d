"""Serves an ASGI application on a socket until it is told to stop, and then stops within two seconds."""

import errno
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from infra.local.data_directory import StartError

_KEEP_ALIVE_SECONDS: Final = 75
"""Longer than clients keep idle connections, so that none is closed just as a request is sent on it."""

_GRACE_SECONDS: Final = 1
_BACKLOG: Final = 1024


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 takes a free one. Raises StartError when it cannot be had."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio switches Nagle's delay (40 ms an answer) off only where the protocol is said in so many words
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        raise StartError(_why(host, port, error)) from error
    return bound


def address_of(bound: socket.socket) -> str:
    """`http://127.0.0.1:8283`: where this machine reaches the socket, by loopback if it listens on all addresses."""
    host, port = bound.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


class Server(uvicorn.Server):
    """Serves `app` on `bound`. `when_up` is called when requests are taken, `when_stopping` when no more are."""

    def __init__(
        self, app: ASGIApp, bound: socket.socket, when_up: Callable[[], None], when_stopping: Callable[[], None]
    ) -> None:
        super().__init__(_config(app))
        self._bound = bound
        self._when_up = when_up
        self._when_stopping = when_stopping

    def serve_until_stopped(self) -> None:
        """Returns after SIGINT, SIGTERM or `stop`."""
        self.run(sockets=[self._bound])

    def stop(self) -> None:
        """Makes `serve_until_stopped` return soon. May be called from any thread."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Opens the socket."""
        await super().startup(sockets)
        self._when_up()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends what is being answered and closes the connections."""
        self._when_stopping()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike uvicorn's, does not raise the signal again at the end: there is still a machine to be closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def _why(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is taken by another program. Stop it, or choose another port with --port."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"Port {port} may only be used by an administrator. Choose one above 1023 with --port."
    return f"'{host}' is not an address of this machine ({error.strerror}). Choose another with --host."
