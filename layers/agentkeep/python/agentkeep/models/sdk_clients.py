"""SDK clients, one per key and address, shared by threads and kept: a client holds its open connections."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

Client = TypeVar("Client")
KEPT: Final = 32


class ClientCache(Generic[Client]):
    """The newest clients by key and address. Both SDKs' clients may be used by several threads at once."""

    def __init__(self, make: Callable[[str, str], Client]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._clients: OrderedDict[tuple[str, str], Client] = OrderedDict()

    def get(self, key: str, address: str) -> Client:
        """The client for this API key and base URL."""
        with self._lock:
            if (key, address) not in self._clients:
                self._clients[key, address] = self._make(key, address)
            self._clients.move_to_end((key, address))
            if len(self._clients) > KEPT:
                self._clients.popitem(last=False)
            return self._clients[key, address]
