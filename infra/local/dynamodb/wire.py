"""Items as JSON: bytes travel as base64 in data files, Lambda events and request bodies."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from infra.local.dynamodb.errors import DynamoError

_BINARY_MARKS: Final = ('"B":', '"BS":')


def dumped(value: Any, *, sort_keys: bool = False) -> str:
    """Compact JSON, bytes as base64."""
    return (_SORTED if sort_keys else _PLAIN).encode(value)


def loaded(text: str) -> Any:
    """What `dumped` wrote, or a request body, with binary values as bytes."""
    value = json.loads(text)
    return _with_bytes(value) if any(mark in text for mark in _BINARY_MARKS) else value


def _base64(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is not part of an item")
    return base64.b64encode(value).decode("ascii")


def _encoder(*, sort_keys: bool) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_base64, sort_keys=sort_keys)


_PLAIN: Final = _encoder(sort_keys=False)
_SORTED: Final = _encoder(sort_keys=True)


def _with_bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_bytes(element) for element in value]
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1:
        ((kind, content),) = value.items()
        if kind == "B" and isinstance(content, str):
            return {"B": _bytes(content)}
        if kind == "BS" and isinstance(content, list) and all(isinstance(member, str) for member in content):
            return {"BS": [_bytes(member) for member in content]}
    return {name: _with_bytes(member) for name, member in value.items()}


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise DynamoError("SerializationException", "A binary value is not valid base64.") from error
