"""The numbers that an operator may set by environment variable: read at each use, refused at the start when wrong."""

import math
import os
from dataclasses import dataclass
from typing import Final

from agentkeep.errors import SettingError


@dataclass(frozen=True)
class Number:
    """A variable that holds a number from `least` to `most`; `default` counts where it is unset or blank."""

    variable: str
    default: float
    least: float
    most: float

    def read(self) -> float:
        """Its value now. Raises SettingError for what is no number, or out of range."""
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        value = _number(text)
        if not self.least <= value <= self.most:
            raise SettingError(self.variable, text, f"a number from {self.least:g} to {self.most:g}")
        return value


LEASE_SECONDS: Final = Number("AGENTKEEP_LEASE_SECONDS", 30, 0.1, 900)
"""How long a conversation waits for a driver that died."""

HEARTBEAT_AFTER_SECONDS: Final = Number("AGENTKEEP_HEARTBEAT_AFTER_SECONDS", 20, 0, 880)
"""How long a blocking answer holds back its status."""

AUTHORIZER_CACHE_SECONDS: Final = Number("AGENTKEEP_AUTHORIZER_CACHE_SECONDS", 60, 0, 3600)
"""How long a key is trusted unasked on one machine. In AWS the stage's setting of the same name says it."""

CLOCK_OFFSET_SECONDS: Final = Number("AGENTKEEP_CLOCK_OFFSET_SECONDS", 0, -1e9, 1e9)
"""How far the clock is moved, for trials on one machine."""

_ALL: Final = (LEASE_SECONDS, HEARTBEAT_AFTER_SECONDS, AUTHORIZER_CACHE_SECONDS, CLOCK_OFFSET_SECONDS)


def check() -> None:
    """Ends a start with the first SettingError, so that a wrong value is not met by one request after the other."""
    for number in _ALL:
        number.read()


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
