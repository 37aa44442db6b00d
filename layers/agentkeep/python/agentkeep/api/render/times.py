"""Times as Letta writes them: entities to the microsecond, messages to the second."""

from datetime import datetime
from typing import overload


@overload
def moment(value: datetime) -> str: ...
@overload
def moment(value: None) -> None: ...
def moment(value: datetime | None) -> str | None:
    """The time of an entity, such as `2026-11-29T18:58:22.740503Z`."""
    return None if value is None else value.isoformat().replace("+00:00", "Z")


def message_date(value: datetime) -> str:
    """The time of a message, such as `2026-11-29T18:58:23+00:00`."""
    return value.replace(microsecond=0).isoformat()
