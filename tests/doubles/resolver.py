"""A resolver of names that answers by script, and a record of where sockets would have been opened."""

import socket
from typing import Any

import pytest


class Resolver:
    """Takes the place of the machine's resolver: each look-up of a name gives the next of its answers, the last again
    and again. IP addresses in any spelling stay with the machine's own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: dict[str, list[list[str]]] = {}
        self.connected: list[tuple[str, int]] = []
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._getaddrinfo)
        monkeypatch.setattr(socket, "create_connection", self._connect)
        monkeypatch.setattr("urllib3.util.connection.create_connection", self._connect)

    def knows(self, name: str, *answers: list[str]) -> None:
        """Look-ups of `name` give `answers`, one after the other."""
        self.names[name] = list(answers)

    def _getaddrinfo(self, host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        answers = self.names.get(host)
        if answers is None:
            return self._real(host, port, *args, **options | {"flags": socket.AI_NUMERICHOST})
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    def _connect(self, address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        self.connected.append(address)
        raise ConnectionRefusedError(f"nothing listens at {address}")
