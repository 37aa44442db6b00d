"""Changing an entity that others may change at the same time: read, change, write if it is still what was read."""

from collections.abc import Callable
from typing import Final, TypeVar

from agentkeep.errors import ConflictError
from agentkeep.store.database import ConditionFailedError

T = TypeVar("T")
_TRIES: Final = 12


class ContendedError(ConflictError):
    """Others changed the entity again and again."""

    code = "CONTENDED"

    def __init__(self) -> None:
        super().__init__("Other requests keep changing this at the same time. Send the request again in a moment.")


def revise(attempt: Callable[[], T]) -> T:
    """Calls `attempt`, which reads and writes conditionally, until no other write came between the two."""
    for _ in range(_TRIES):
        try:
            return attempt()
        except ConditionFailedError:
            continue
    raise ContendedError
