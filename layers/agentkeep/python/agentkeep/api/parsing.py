"""From what arrived to a model: JSON bodies and query strings, checked, cleaned, refused with a sentence."""

import base64
import binascii
import json
import math
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, Final, NoReturn, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from agentkeep.api.answers import payload_bytes
from agentkeep.errors import InvalidRequestError, TooLargeError
from agentkeep.text import clean

M = TypeVar("M", bound=BaseModel)

MAX_DEPTH: Final = 100
"""Levels of nesting that a body may have. JSON schemas of tools, the deepest bodies there are, stay below 30."""

MAX_BYTES: Final = 5_900_000
"""Of a body, as it arrives. What is made from it is answered with, and an answer holds 6 MB (Lambda quotas)."""

Event = Mapping[str, Any]


def parse_body(event: Event, model: type[M]) -> M:
    """The JSON body of a proxy event as `model`. Unknown fields are ignored, no body at all is an empty object.

    NUL characters are dropped and lone surrogates replaced in every string. Raises InvalidRequestError with the path
    of the field that does not fit.
    """
    value = _clean(_json(_text(event)), 0)
    if not isinstance(value, dict):
        raise InvalidRequestError("body", f"should be a JSON object such as {{...}}, not {_kind(value)}.")
    return _validated(model, value, "body")


def _text(event: Event) -> str:
    body = event.get("body") or ""
    if payload_bytes(body) > MAX_BYTES:
        raise TooLargeError(f"The body has more than {MAX_BYTES // 1000:,} KB. Send its parts one after the other.")
    if not event.get("isBase64Encoded"):
        return str(body)
    try:
        return base64.b64decode(body).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidRequestError("body", "should be JSON in UTF-8; these bytes are not UTF-8.") from None


def _json(text: str) -> object:
    if not text.strip():
        return {}
    try:
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse_number, parse_float=_finite)
    except RecursionError:
        raise InvalidRequestError("body", f"nests deeper than {MAX_DEPTH} levels.") from None
    except ValueError as error:
        raise InvalidRequestError("body", f"is not valid JSON: {error}.") from None


def _refuse_number(name: str) -> NoReturn:
    raise InvalidRequestError("body", f"holds {name}, which is not a number in JSON; send null instead.")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise InvalidRequestError("body", f"holds the number {digits[:40]}, which is out of range.")
    return value


def _clean(value: object, depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if depth > MAX_DEPTH:
        raise InvalidRequestError("body", f"nests deeper than {MAX_DEPTH} levels.")
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {clean(name): _clean(item, depth + 1) for name, item in value.items()}
    return value


def parse_query(event: Event, model: type[M]) -> M:
    """The query string of a proxy event as `model`.

    A list field takes its key several times; a scalar one takes the last. An empty value counts as not given.
    Raises InvalidRequestError with the name of the parameter that does not fit.
    """
    given = {name: [clean(value) for value in values if value] for name, values in _multi_values(event).items()}
    lists = _list_fields(model)
    values = {name: found if name in lists else found[-1] for name, found in given.items() if found}
    return _validated(model, values, "query")


def _multi_values(event: Event) -> Mapping[str, list[str]]:
    many = event.get("multiValueQueryStringParameters") or {}
    single = event.get("queryStringParameters") or {}
    return {name: [value] for name, value in single.items()} | dict(many)


@cache
def _list_fields(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(name for name, field in model.model_fields.items() if _is_list(field.annotation))


def _is_list(annotation: object) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return any(_is_list(option) for option in get_args(annotation))
    return get_origin(annotation) is list


def _validated(model: type[M], value: Mapping[str, object], whole: str) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _refusal(error, whole) from None


def _refusal(error: ValidationError, whole: str) -> InvalidRequestError:
    """The first complaint of pydantic, with the path of the field, what came, and how many more there are."""
    first, *others = error.errors(include_url=False)
    path = ".".join(str(part) for part in first["loc"] if not str(part).startswith("<")) or whole
    reason = first["msg"].removeprefix("Value error, ").rstrip(".")
    if first["type"] not in ("missing", "value_error"):
        reason += f"; it was {_kind(first['input'])}"
    more = f" (and {len(others)} more)" if others else ""
    return InvalidRequestError(path, f"{reason}.{more}")


def _kind(value: object) -> str:
    """A value in the words of JSON, short enough for a sentence."""
    if value is None:
        return "null"
    if isinstance(value, (list, dict)):
        return "an array" if isinstance(value, list) else "an object"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:60]}..."
