"""Time as the system sees it. `AGENTKEEP_CLOCK_OFFSET_SECONDS` moves it, so that expiry can be tried on one machine."""

import time
from datetime import UTC, datetime, timedelta

from agentkeep.settings import CLOCK_OFFSET_SECONDS


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC) + timedelta(seconds=_offset())


def epoch_ms() -> int:
    """Milliseconds since 1970, the unit of every time stored for comparing."""
    return int((time.time() + _offset()) * 1000)


def _offset() -> float:
    return CLOCK_OFFSET_SECONDS.read()
