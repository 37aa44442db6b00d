"""How often and how long a model call is tried again.

At most two retries, so that nobody waits long for a provider that is down. The wait doubles from half a second, with
jitter so that many callers do not come back at once; a provider's own `retry-after` goes first, up to a bound.
"""

import logging
import random
import time
from collections.abc import Callable
from typing import Final

from agentkeep.models.errors import ModelError
from agentkeep.models.interface import ModelAnswer

BASE_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 10.0

_logger = logging.getLogger(__name__)


def pause(seconds: float) -> None:
    """Wait before the next attempt. Tests put something shorter in its place."""
    time.sleep(seconds)


def with_retries(call: Callable[[float], ModelAnswer], timeout_seconds: float) -> ModelAnswer:
    """The answer of `call`, which gets the seconds that are left; the last ModelError when no attempt worked."""
    deadline = time.monotonic() + timeout_seconds
    attempt = 0
    while True:
        try:
            return call(max(0.0, deadline - time.monotonic()))
        except ModelError as error:
            wait = wait_before_retry(error, attempt)
            if wait is None or time.monotonic() + wait >= deadline:
                raise
            _logger.warning(
                "model call failed (%s, status %d), retry %d in %.1f s", error.code, error.status, attempt + 1, wait
            )
        pause(wait)
        attempt += 1


def wait_before_retry(error: ModelError, attempt: int) -> float | None:
    """Seconds to wait after failed attempt number `attempt` (from 0), or None when there is no next one."""
    if attempt >= error.retries:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_WAIT_SECONDS else None
    return float(BASE_SECONDS * 2**attempt * random.uniform(0.5, 1.0))
