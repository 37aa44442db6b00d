"""The server process of one machine: a machine behind a socket, with the door for commands beside it."""

import logging
import socket
from collections.abc import Callable

from infra.local import recovery
from infra.local.command_door import CommandDoor
from infra.local.listening import address_of
from infra.local.machine import Machine, MachineSettings, running
from infra.local.server import Server


class LocalProcess:
    """Serves a machine on a bound socket. `run` blocks; `stop` may be called from another thread."""

    def __init__(self, settings: MachineSettings, bound: socket.socket) -> None:
        self._settings = settings
        self._bound = bound
        self._server: Server | None = None
        self.address = address_of(bound)
        logging.getLogger("uvicorn").setLevel(logging.WARNING)

    def run(self, when_up: Callable[[Machine], None]) -> None:
        """Until SIGINT, SIGTERM or `stop`. `when_up` is called on the event loop once requests are taken.

        Raises what `infra.local.machine.running` raises when the machine cannot start.
        """
        directory = self._settings.directory
        with running(self._settings) as machine:
            noted = directory.note_server(self.address)
            door = CommandDoor(machine.gateway, noted.token)
            self._server = Server(door, self._bound, lambda: _up(machine, when_up), machine.gateway.stop)
            try:
                self._server.serve_until_stopped()
            finally:
                directory.forget_server()

    def stop(self) -> None:
        """Ends `run`, cleanly and within two seconds."""
        if self._server is not None:
            self._server.stop()


def _up(machine: Machine, when_up: Callable[[Machine], None]) -> None:
    recovery.start()
    when_up(machine)
