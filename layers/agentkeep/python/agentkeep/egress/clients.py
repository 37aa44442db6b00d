"""Checked connections of httpx2, the transport of the model SDKs."""

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from agentkeep.egress.addresses import checked_addresses

if TYPE_CHECKING:
    import httpx2


def checked_client(**settings: Any) -> "httpx2.Client":
    """An httpx2 client, the kind that the model SDKs take, for addresses that users give.

    It uses no proxy and follows no redirect unless told so; those it follows are checked.
    """
    import httpx2

    return httpx2.Client(transport=_checked_transport()(), trust_env=False, **settings)


@cache
def _checked_transport() -> "type[httpx2.HTTPTransport]":
    """The transport's class, made at its first use: httpx2 takes a third of a second to import."""
    import httpcore2
    import httpx2

    certificates = httpx2.create_ssl_context()

    class CheckedBackend(httpcore2.SyncBackend):
        def connect_tcp(self, host: str, port: int, *rest: Any, **options: Any) -> httpcore2.NetworkStream:
            try:
                addresses = checked_addresses(host, port)
            except (OSError, UnicodeError) as error:
                raise httpcore2.ConnectError(f"{host} is not found") from error
            for address in addresses[:-1]:
                with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                    return super().connect_tcp(address, port, *rest, **options)
            return super().connect_tcp(addresses[-1], port, *rest, **options)

    class CheckedTransport(httpx2.HTTPTransport):
        def __init__(self) -> None:
            super().__init__(verify=certificates)
            self._pool = httpcore2.ConnectionPool(
                ssl_context=certificates,
                max_connections=100,
                max_keepalive_connections=20,
                keepalive_expiry=5.0,
                network_backend=CheckedBackend(),
            )

    return CheckedTransport
