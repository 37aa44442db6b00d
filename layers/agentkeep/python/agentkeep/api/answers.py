"""What a route answers when it is not simply a JSON value, and how answers are written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


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


def _encode(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} has no form in JSON")
