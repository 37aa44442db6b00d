"""Which addresses that users give may be connected to."""

import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from agentkeep.errors import BadRequestError

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
