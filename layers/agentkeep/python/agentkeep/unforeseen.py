"""Errors that nobody foresaw, on their way into the log: what they are and where they happened, never what they say.

The text of an error may quote what caused it: pydantic quotes its input, AWS the values of a request. So wherever a
process catches all there is, it logs through this function.
"""

import logging
import traceback
from collections.abc import Iterator

_logger = logging.getLogger(__name__)


def log_unforeseen(error: BaseException, during: str) -> None:
    """Logs the types and frames of an error and of those that led to it. `during` says what came to nothing."""
    told = "\nwhich led to\n".join(_told(each) for each in reversed(list(_with_causes(error))))
    _logger.error("Unforeseen %s during %s:\n%s", type(error).__name__, during, told)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        hidden = following.__suppress_context__
        following = following.__cause__ or (None if hidden else following.__context__)


def _told(error: BaseException) -> str:
    kind = type(error)
    return "".join(traceback.format_tb(error.__traceback__)) + f"{kind.__module__}.{kind.__qualname__}"
