"""Times in the agent's zone."""

from datetime import UTC, datetime, timedelta

import pytest

from agentkeep.memory.local_time import ago, stamp, zone

EVENING = datetime(2026, 11, 29, 18, 58, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("timezone", "shown"),
    [
        ("UTC", "2026-11-29 18:58:23 UTC"),
        ("Europe/Paris", "2026-11-29 19:58:23 CET (UTC+01:00)"),
        ("Asia/Kolkata", "2026-11-30 00:28:23 IST (UTC+05:30)"),
        ("America/Sao_Paulo", "2026-11-29 15:58:23 UTC-03:00"),
    ],
)
def test_stamp_names_the_zone(timezone: str, shown: str) -> None:
    assert stamp(EVENING, timezone) == shown


@pytest.mark.parametrize("name", ["", "Mars/Base", "../etc/passwd", "America", "a\0b", "x" * 5000])
def test_a_zone_that_does_not_exist_is_utc(name: str) -> None:
    assert zone(name) is UTC


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7_199, "1 hour ago"),
        (7_200, "2 hours ago"),
        (172_800, "2 days ago"),
    ],
)
def test_ago_uses_the_largest_whole_unit(seconds: int, words: str) -> None:
    assert ago(EVENING - timedelta(seconds=seconds), EVENING) == words
