"""The address that a server listens on: taking it, or saying in a sentence why it cannot be had."""

import errno
import socket

from infra.local.data_directory import DataDirectory, StartError


class PortTakenError(StartError):
    """Somebody listens on the port already: the server of `directory`, or another program."""

    def __init__(self, host: str, port: int, directory: DataDirectory) -> None:
        self.holder = _holder(port, directory)
        super().__init__(
            f"Port {port} on {host} is taken by {self.holder}. Stop it, or choose another port with --port."
        )


def listen(host: str, port: int, directory: DataDirectory) -> socket.socket:
    """A socket bound to the address; port 0 takes a free one. `directory` tells whether its own server is in the way.

    Raises PortTakenError, or StartError where the address cannot be had for another reason.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio switches Nagle's delay (40 ms an answer) off only where the protocol is said in so many words
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError(host, port, directory) from error
        raise StartError(_why(host, port, error)) from error
    return bound


def address_of(bound: socket.socket) -> str:
    """`http://127.0.0.1:8283`: where this machine reaches the socket, by loopback if it listens on all addresses."""
    host, port = bound.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def _holder(port: int, directory: DataDirectory) -> str:
    server = directory.running_server()
    if server is None or not server.is_alive or not server.address.endswith(f":{port}"):
        return "another program"
    return f"the agentkeep that is running already (process {server.process}, data in {directory.path})"


def _why(host: str, port: int, error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"Port {port} may only be used by an administrator. Choose one above 1023 with --port."
    return f"'{host}' is not an address of this machine ({error.strerror}). Choose another with --host."
