"""Attribute values: checked and brought into one canonical form, and measured by DynamoDB's own rule.

Values have the shape of the low-level client: `{"S": str}`, `{"N": str}`, `{"B": bytes}`, `{"M": {...}}` ... In
canonical form numbers are plain decimals and sets are sorted, so that equal values are equal dicts.
"""

import math
import re
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any, Final

from infra.local.dynamodb.errors import DynamoError, invalid

AttributeValue = dict[str, Any]
Item = dict[str, AttributeValue]

MAX_ITEM_BYTES: Final = 400 * 1024
_MAX_DEPTH: Final = 32
_MAX_DIGITS: Final = 38
_LARGEST_EXPONENT: Final = 125
_SMALLEST_EXPONENT: Final = -130
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)
_CONTAINER_BYTES: Final = 3
_EXACT: Final = Context(prec=2 * (_LARGEST_EXPONENT - _SMALLEST_EXPONENT))


def checked_item(item: Any) -> Item:
    """A canonical copy of an item. Raises ValidationException for what DynamoDB does not store."""
    return _map(item, 0)


def checked_value(value: Any, depth: int = 0) -> AttributeValue:
    """A canonical copy of one attribute value."""
    if not isinstance(value, dict) or not value:
        raise invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
    if len(value) > 1:
        raise invalid(
            "Supplied AttributeValue has more than one datatypes set,"
            " must contain exactly one of the supported datatypes"
        )
    ((kind, content),) = value.items()
    if kind in _NESTING:
        if depth >= _MAX_DEPTH:
            raise invalid("Nesting Levels have exceeded supported limits")
        return {kind: _NESTING[kind](content, depth + 1)}
    if kind not in _FLAT:
        raise invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
    return {kind: _FLAT[kind](content)}


def checked_text(content: Any) -> str:
    """A text that can be stored. Raises SerializationException for lone surrogates, which have no UTF-8."""
    if not isinstance(content, str):
        raise _wrong_type(content)
    if not content.isascii():
        try:
            content.encode()
        except UnicodeEncodeError as error:
            raise DynamoError("SerializationException", "A string is not valid Unicode (lone surrogate).") from error
    return content


def _binary(content: Any) -> bytes:
    if not isinstance(content, bytes):
        raise _wrong_type(content)
    return content


def canonical_number(content: Any) -> str:
    """A number as DynamoDB returns it: plain decimal notation, no superfluous zeros, at most 38 digits."""
    if not isinstance(content, str):
        raise _wrong_type(content)
    if content.isascii() and content.isdigit() and len(content) <= _MAX_DIGITS and content[0] != "0":
        return content
    if _NUMBER.fullmatch(content) is None:
        raise invalid(f"The parameter cannot be converted to a numeric value: {content}")
    return number_text(Decimal(content))


def number_text(number: Decimal) -> str:
    """The canonical form of `number`. Raises ValidationException when it is outside of DynamoDB's range."""
    if not number:
        return "0"
    if number.adjusted() > _LARGEST_EXPONENT:
        raise invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
    if number.adjusted() < _SMALLEST_EXPONENT:
        raise invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
    if len(_significant(number)) > _MAX_DIGITS:
        raise invalid("Attempting to store more than 38 significant digits in a Number")
    return format(_EXACT.normalize(number), "f")


def number_sum(left: str, right: str, sign: int) -> str:
    """The exact sum of two canonical numbers (`sign` 1), or their difference (`sign` -1)."""
    return number_text(_EXACT.add(Decimal(left), Decimal(right) * sign))


def _significant(number: Decimal) -> str:
    return "".join(map(str, number.as_tuple().digits)).strip("0")


def _boolean(content: Any) -> bool:
    if not isinstance(content, bool):
        raise _wrong_type(content)
    return content


def _null(content: Any) -> bool:
    if content is not True:
        raise invalid(
            "One or more parameter values were invalid: Null attribute value types must have the value of true"
        )
    return True


def _set_of(member: Callable[[Any], Any], noun: str) -> Callable[[Any], list[Any]]:
    def check(content: Any) -> list[Any]:
        if not isinstance(content, list):
            raise _wrong_type(content)
        if not content:
            raise invalid(f"One or more parameter values were invalid: An {noun} set  may not be empty")
        members = sorted(map(member, content))
        if len(set(members)) < len(members):
            raise invalid("One or more parameter values were invalid: Input collection contains duplicates")
        return members

    return check


def _list(content: Any, depth: int) -> list[AttributeValue]:
    if not isinstance(content, list):
        raise _wrong_type(content)
    return [checked_value(element, depth) for element in content]


def _map(content: Any, depth: int) -> Item:
    if not isinstance(content, dict):
        raise _wrong_type(content)
    return {checked_text(name): checked_value(member, depth) for name, member in content.items()}


def _wrong_type(content: Any) -> DynamoError:
    return DynamoError("SerializationException", f"Unexpected value type in payload: {type(content).__name__}")


_FLAT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "S": checked_text,
    "N": canonical_number,
    "B": _binary,
    "BOOL": _boolean,
    "NULL": _null,
    "SS": _set_of(checked_text, "string"),
    "NS": _set_of(canonical_number, "number"),
    "BS": _set_of(_binary, "binary"),
}
_NESTING: Final[Mapping[str, Callable[[Any, int], Any]]] = {"L": _list, "M": _map}


def item_size(item: Item) -> int:
    """Bytes as DynamoDB counts them: UTF-8 of names and texts, digits by pairs, 3 bytes per list or map, 1 per member.

    Source: "DynamoDB item sizes and formats" in the developer guide.
    """
    return sum(_text_size(name) + _value_size(value) for name, value in item.items())


def _value_size(value: AttributeValue) -> int:
    ((kind, content),) = value.items()
    return _SIZES[kind](content)


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _number_size(text: str) -> int:
    digits = text.lstrip("-").replace(".", "").strip("0")
    return math.ceil(len(digits) / 2) + 1 + text.startswith("-")


_SIZES: Final[Mapping[str, Callable[[Any], int]]] = {
    "S": _text_size,
    "N": _number_size,
    "B": len,
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "SS": lambda members: sum(map(_text_size, members)),
    "NS": lambda members: sum(map(_number_size, members)),
    "BS": lambda members: sum(map(len, members)),
    "L": lambda elements: _CONTAINER_BYTES + sum(1 + _value_size(element) for element in elements),
    "M": lambda members: _CONTAINER_BYTES + len(members) + item_size(members),
}
