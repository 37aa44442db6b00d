"""Times as the agent sees them: in its own time zone, with the zone named."""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo


@lru_cache(maxsize=256)
def zone(name: str) -> tzinfo:
    """The IANA time zone `name`, or UTC if there is none: a stored agent must stay able to speak."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def stamp(at: datetime, timezone: str) -> str:
    """`at` to the second, such as `2026-11-29 19:58:23 CET (UTC+01:00)`."""
    local = at.astimezone(zone(timezone))
    iso, name = local.isoformat(sep=" ", timespec="seconds"), local.tzname() or ""
    offset = f"UTC{iso[19:]}" if local.utcoffset() else "UTC"
    shown = f"{name} ({offset})" if name.isalpha() and name != "UTC" else offset
    return f"{iso[:19]} {shown}"


def ago(at: datetime, now: datetime) -> str:
    """How long before `now` it was, in the largest whole unit: `5 minutes ago`."""
    seconds = int(max(now - at, timedelta(0)).total_seconds())
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if count := seconds // length:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
