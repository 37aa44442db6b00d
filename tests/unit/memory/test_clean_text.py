"""`clean` makes any text storable and changes nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkeep.text import clean


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("a\0b\0", "ab"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ud83da", "\ufffda"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("tab\tline\n\r", "tab\tline\n\r"),
    ],
)
def test_cleaning(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(st.text("ab\0\n\u00e9\ud83d\ude00\ud800\udfff\U0001f600"))
def test_any_text_becomes_storable_and_stays_so(text: str) -> None:
    cleaned = clean(text)

    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert "\0" not in cleaned
    assert clean(cleaned) == cleaned


@given(st.text("ab\x01\n\r\t\u00e9\ufffd\U0001f600"))
def test_storable_text_is_left_alone(text: str) -> None:
    assert clean(text) == text
