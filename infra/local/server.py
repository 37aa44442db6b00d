"""Serves an ASGI application on a socket until it is told to stop, and then stops within two seconds."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

_KEEP_ALIVE_SECONDS: Final = 75
"""Longer than clients keep idle connections, so that none is closed just as a request is sent on it."""

_GRACE_SECONDS: Final = 1
_BACKLOG: Final = 1024


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
