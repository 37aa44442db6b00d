"""Entity ids: Letta's prefixes, the uuid4 pattern that clients check, and creation time in the first 48 bits.

Ids made by one process sort in the order they were made, so an id is also the sort key of "by creation time".
"""

import re
import secrets
import threading
from typing import Final

from agentkeep import clock

_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_ANY: Final = re.compile(rf"^[a-z]+-{_UUID}$")
_RANDOM_BITS: Final = 74


def new(prefix: str) -> str:
    """A new id such as `agent-019a1b2c-3d4e-4f60-8a7b-...`, greater than every one this process made before."""
    return f"{prefix}-{format_uuid(*_tick.next())}"


def is_id(value: str, prefix: str) -> bool:
    """Whether `value` is an id of the kind `prefix`."""
    return value.startswith(f"{prefix}-") and _ANY.match(value) is not None


def format_uuid(milliseconds: int, random: int) -> str:
    """48 bits of time, version nibble 4, variant bits 10, 74 bits of `random`."""
    high, low = random >> 62, random & ((1 << 62) - 1)
    digits = f"{milliseconds:012x}4{high:03x}{(0b10 << 62) | low:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class _Tick:
    """Strictly increasing (milliseconds, random) pairs: the random part counts up within one millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def next(self) -> tuple[int, int]:
        with self._lock:
            now = clock.epoch_ms()
            milliseconds, random = self._last
            if now > milliseconds:
                self._last = (now, secrets.randbits(_RANDOM_BITS - 1))
            else:
                self._last = (milliseconds, random + 1 + secrets.randbits(32))
            return self._last


_tick = _Tick()
