"""SDK clients, one per key and address, shared by threads and kept: a client holds its open connections."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from agentkeep.egress.clients import checked_client
from agentkeep.models.endpoints import Endpoint

if TYPE_CHECKING:
    import httpx2

Client = TypeVar("Client")
KEPT: Final = 32


class ClientCache(Generic[Client]):
    """The newest clients by key and address. Both SDKs' clients may be used by several threads at once.

    `make` gets key, base URL and the transport to use: one that checks addresses where a tenant gave them, else None
    for the SDK's own.
    """

    def __init__(self, make: "Callable[[str, str, httpx2.Client | None], Client]") -> None:
        self._make = make
        self._lock = threading.Lock()
        self._clients: OrderedDict[tuple[str, str, bool], Client] = OrderedDict()

    def get(self, endpoint: Endpoint) -> Client:
        """The client for an endpoint's key and base URL."""
        key, address = endpoint.api_key, endpoint.base_url
        wanted = (key, address, endpoint.own)
        with self._lock:
            if wanted not in self._clients:
                self._clients[wanted] = self._make(key, address, checked_client() if endpoint.own else None)
            self._clients.move_to_end(wanted)
            if len(self._clients) > KEPT:
                self._clients.popitem(last=False)
            return self._clients[wanted]
