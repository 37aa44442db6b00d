"""Connections to addresses that users give: resolved, checked, and made to the very address that was checked.

A check of the name alone loses to DNS rebinding, so it happens where the socket is opened, for every connection anew:
a redirect, another spelling of an IP address and a name that changes its mind all come through here. Refused is what is
not public (IANA's special-purpose registries, as `ipaddress` knows them): loopback and with it Lambda's Runtime API,
private networks, link-local with the metadata services. `AGENTKEEP_ALLOW_PRIVATE_URLS=1` allows them.
"""

import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util import connection as sockets

from agentkeep.errors import BadRequestError

if TYPE_CHECKING:
    import httpx2

ALLOW_VARIABLE: Final = "AGENTKEEP_ALLOW_PRIVATE_URLS"
LONGEST_URL: Final = 2_048
_UNSAFE: Final = re.compile(r"[\s\x00-\x1f\x7f\\]")
_CARRYING: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
"""IPv6 networks whose addresses end in an IPv4 address (RFC 6052, section 2.1; RFC 4291, section 2.5.5.1)."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class RefusedAddressError(BadRequestError):
    """A host leads to an address that is not public."""

    code = "ADDRESS_REFUSED"

    def __init__(self, host: str, address: str) -> None:
        super().__init__(
            f"'{host}' leads to {address}, which is no public address, so this server does not connect to it."
            f" Where callers may reach the server's own network, set {ALLOW_VARIABLE}=1."
        )


class UnusableUrlError(BadRequestError):
    """A URL that nothing can be asked at."""

    code = "URL_UNUSABLE"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"The address {url[:200]!r} cannot be used: {reason}.")


def usable_url(url: str) -> str:
    """The URL without slashes at its end. Its host is not looked up: that is done when something connects to it.

    Raises UnusableUrlError unless it is http or https with a host, without credentials, query and fragment.
    """
    if len(url) > LONGEST_URL or not url.isascii() or _UNSAFE.search(url):
        raise UnusableUrlError(url, f"it may have at most {LONGEST_URL} ASCII characters, no spaces, no backslashes")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UnusableUrlError(url, str(error)) from error
    if parts.scheme not in ("http", "https") or not host:
        raise UnusableUrlError(url, "it has to begin with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise UnusableUrlError("(not shown)", "credentials do not belong in it; send a key as api_key")
    if parts.query or parts.fragment:
        raise UnusableUrlError(url, "it ends with its path; a query or fragment would not be sent")
    return url.rstrip("/")


def checked_addresses(host: str, port: int) -> list[str]:
    """The IP addresses of a host, all of which may be connected to.

    Raises RefusedAddressError if one of them may not, and OSError for a host that is not found.
    """
    found = resolve(host, port)
    if os.environ.get(ALLOW_VARIABLE) != "1":
        for address in found:
            if not is_public(ipaddress.ip_address(address.partition("%")[0])):
                raise RefusedAddressError(host, address)
    return found


def resolve(host: str, port: int) -> list[str]:
    """The IP addresses of a host, as this machine's resolver gives them."""
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: Address) -> bool:
    """Whether an address is anybody's on the internet, also where another one is wrapped in it."""
    return all(
        each.is_global and not each.is_multicast and not getattr(each, "is_site_local", False)
        for each in _unwrapped(address)
    )


def _unwrapped(address: Address) -> Iterator[Address]:
    """What packets to an address end up at: itself, or the IPv4 address that it carries."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            yield address.ipv4_mapped
            return
        if address.sixtofour:
            yield address.sixtofour
        if any(address in network for network in _CARRYING):
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    yield address


def _connected(connection: HTTPConnection) -> socket.socket:
    """A socket to the first checked address of a connection's host that answers."""
    failure: Exception = OSError(f"no address for {connection.host}")
    try:
        addresses = checked_addresses(connection._dns_host, connection.port)
    except (OSError, UnicodeError) as error:
        raise urllib3.exceptions.NewConnectionError(connection, f"{connection.host} is not found") from error
    for address in addresses:
        try:
            return sockets.create_connection(
                (address, connection.port), connection.timeout, socket_options=connection.socket_options
            )
        except OSError as error:
            failure = error
    raise urllib3.exceptions.NewConnectionError(connection, f"{connection.host} does not answer") from failure


class _CheckedHTTPConnection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _connected(self)


class _CheckedHTTPSConnection(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _connected(self)


class _CheckedHTTPPool(HTTPConnectionPool):
    ConnectionCls = _CheckedHTTPConnection


class _CheckedHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _CheckedHTTPSConnection


def checked_pool(**settings: Any) -> urllib3.PoolManager:
    """A urllib3 pool for addresses that users give. It uses no proxy; redirects, where it follows any, are checked."""
    pool = urllib3.PoolManager(**settings)
    pool.pool_classes_by_scheme = {"http": _CheckedHTTPPool, "https": _CheckedHTTPSPool}
    return pool


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
