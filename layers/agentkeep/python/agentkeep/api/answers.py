"""What a route answers when it is not simply a JSON value, and how answers are written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

MAX_BYTES: Final = 6_000_000
"""Of a buffered answer. Lambda takes 6 MB, which hold the body as a JSON string (Lambda quotas)."""


@dataclass(frozen=True)
class Answer:
    """A JSON answer with a status of its own. `body` is anything that `dumps` takes."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


def dumps(value: Any) -> str:
    """Compact JSON. Times become ISO 8601, and a lone surrogate, which UTF-8 cannot hold, a question mark."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_encode)
    return text.encode("utf-8", "replace").decode()


def payload_bytes(body: str) -> int:
    """Bytes of a body in an invocation or its answer, where it is a string inside JSON; exact where it may matter."""
    if len(body) * 7 < MAX_BYTES:
        return len(body)
    return len(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))


def _encode(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} has no form in JSON")
