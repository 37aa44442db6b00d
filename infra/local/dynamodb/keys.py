"""Keys as bytes that sort the way DynamoDB sorts keys: text by UTF-8, numbers by value, binary by unsigned byte."""

from decimal import Decimal
from typing import Final, NamedTuple

from infra.local.dynamodb.values import AttributeValue

KEY_KINDS: Final = frozenset({"S", "N", "B"})
_NEGATIVE, _ZERO, _POSITIVE = b"\x7f", b"\x80", b"\x81"
_EXPONENT_BIAS: Final = 0x4000
_END: Final = b"\xff"


class RowKey(NamedTuple):
    """The primary key of an item as bytes; `sort` is empty where the table has no sort key."""

    partition: bytes
    sort: bytes


def encoded(value: AttributeValue) -> bytes:
    """The order-preserving bytes of a canonical key value of type S, N or B."""
    ((kind, content),) = value.items()
    if kind == "S":
        return str(content).encode()
    if kind == "B":
        return bytes(content)
    return _encoded_number(Decimal(content))


def _encoded_number(number: Decimal) -> bytes:
    """Sign, exponent, digits. Below zero the rest is inverted and ended, so that the larger magnitude comes first."""
    if not number:
        return _ZERO
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0").encode()
    magnitude = (number.adjusted() + _EXPONENT_BIAS).to_bytes(2, "big") + digits
    if number > 0:
        return _POSITIVE + magnitude
    return _NEGATIVE + bytes(255 - byte for byte in magnitude) + _END


def after_prefix(prefix: bytes) -> bytes | None:
    """The smallest bytes greater than everything that starts with `prefix`; None when there are none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
