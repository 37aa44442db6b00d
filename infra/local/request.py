"""One HTTP request as API Gateway sees it: method, path without its prefix, headers, query and body."""

import base64
import ipaddress
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.types import Scope

from agentkeep import clock
from infra.api_gateway import BINARY_MEDIA_TYPES

ROOT: Final = "/v1"
Multi = dict[str, list[str]]


@dataclass(frozen=True)
class Request:
    """A request whose body has arrived. `path` is percent-encoded, as REST APIs pass it on, and starts at `/v1`."""

    method: str
    path: str
    prefix: str
    query: Multi
    headers: Multi
    source_ip: str
    body: bytes
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    received_at: int = field(default_factory=clock.epoch_ms)

    @classmethod
    def of(cls, scope: Scope, body: bytes) -> "Request":
        """The request of an ASGI scope of type http."""
        raw = scope.get("raw_path") or scope["path"].encode()
        prefix, path = _split(raw.split(b"?")[0].decode("latin-1"))
        query = parse_qsl(scope["query_string"].decode("utf-8", "replace"), keep_blank_values=True)
        headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        client = scope.get("client") or ("127.0.0.1", 0)
        return cls(scope["method"], path, prefix, _multi(query), _multi(headers), client[0], body)

    def header(self, name: str) -> str | None:
        """The last value of a header, by its lower-case name."""
        values = self.headers.get(name)
        return values[-1] if values else None

    @property
    def flat_headers(self) -> dict[str, str]:
        """The last value of each header, by lower-case name."""
        return last_values(self.headers) or {}

    @cached_property
    def text(self) -> tuple[str | None, bool]:
        """The body as an event holds it, and whether it is base64: text types travel as text, all else encoded."""
        if not self.body:
            return None, False
        if is_binary(self.header("content-type")):
            return base64.b64encode(self.body).decode(), True
        return self.body.decode("utf-8", "replace"), False


def is_binary(content_type: str | None) -> bool:
    """Whether a body of this type is passed on as base64."""
    return (content_type or "").lower().startswith(BINARY_MEDIA_TYPES)


def host_of(header: str | None) -> str:
    """The host name of a Host header or of an origin, in lower case, without port and brackets; "" for nonsense."""
    text = header or ""
    try:
        return urlsplit(text if "//" in text else f"//{text}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine, whatever a name server says."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _split(path: str) -> tuple[str, str]:
    """What stands before `/v1`, as a stage or a proxy's mount point would, and the path from there on."""
    if path == ROOT or path.startswith(f"{ROOT}/"):
        return "", path
    prefix, found, rest = path.partition(f"{ROOT}/")
    if found:
        return prefix, found + rest
    return (path.removesuffix(ROOT), ROOT) if path.endswith(ROOT) else ("", path)


def _multi(pairs: Iterable[tuple[str, str]]) -> Multi:
    values: Multi = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def last_values(values: Multi) -> dict[str, str] | None:
    """One value for each name, the last, as in the single-value fields of an event; None for no name."""
    return {name: each[-1] for name, each in values.items()} or None
