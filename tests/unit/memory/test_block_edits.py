"""Edits of a block's value: what they do, what they leave alone, and what their refusals teach."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkeep.memory.edits import (
    EmptySearchError,
    LineNumbersError,
    LineOutOfRangeError,
    TextNotFoundError,
    TextNotUniqueError,
    insert,
    replace_every,
    replace_once,
    rewrite,
)

LINE = st.text("ab1: \t\r-\u00e9", max_size=8)
LINES = st.lists(LINE, min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("value", "line", "result"),
    [
        ("one\ntwo", -1, "one\ntwo\nNEW"),
        ("one\ntwo", 0, "NEW\none\ntwo"),
        ("one\ntwo", 1, "one\nNEW\ntwo"),
        ("one\ntwo", 2, "one\ntwo\nNEW"),
        ("", -1, "NEW"),
        ("", 7, "NEW"),
        ("one\n", -1, "one\n\nNEW"),
    ],
)
def test_inserting(value: str, line: int, result: str) -> None:
    assert insert(value, "NEW", line) == result


@pytest.mark.parametrize("line", [3, -2, 99])
def test_inserting_behind_a_line_that_is_not_there(line: int) -> None:
    with pytest.raises(LineOutOfRangeError, match=f"insert_line {line} is not a line of the block, which has 2"):
        insert("one\ntwo", "NEW", line)


@given(lines=LINES, text=LINE, data=st.data())
def test_inserting_keeps_every_line_in_place(lines: list[str], text: str, data: st.DataObject) -> None:
    value = "\n".join(lines)
    line = data.draw(st.integers(0, len(lines)))

    result = insert(value, text, line).split("\n")

    assert result == ([text] if not value else [*lines[:line], text, *lines[line:]])


def test_replacing_one_place() -> None:
    assert replace_once("Name: Bob\nLikes tea", "tea", "coffee\nand cake") == "Name: Bob\nLikes coffee\nand cake"


def test_replacing_by_nothing_removes() -> None:
    assert replace_once("a\nb\nc", "b\n", "") == "a\nc"


def test_tabs_and_spaces_elsewhere_stay() -> None:
    assert replace_once("\tone\r\n  two", "two", "2") == "\tone\r\n  2"


def test_an_empty_block_can_be_filled_by_replacing_nothing() -> None:
    assert replace_once("", "", "first") == "first"
    assert replace_every("", "", "first") == "first"


@pytest.mark.parametrize("replace", [replace_once, replace_every])
def test_replacing_nothing_in_a_filled_block_is_refused(replace: Callable[[str, str, str], str]) -> None:
    with pytest.raises(EmptySearchError, match="the text to replace is empty"):
        replace("filled", "", "x")


def test_not_found_points_to_the_nearest_line() -> None:
    value = "Name: Bob\nLikes green tea\nLives in Lyon"

    with pytest.raises(TextNotFoundError) as refusal:
        replace_once(value, "likes Green tee", "x")

    assert "`likes Green tee` does not occur in the block" in refusal.value.message
    assert "The nearest line is line 2: `Likes green tea`." in refusal.value.message


def test_not_found_points_to_the_line_that_differs_among_several() -> None:
    value = "# Tasks\n- call the dentist\n- buy bread"

    with pytest.raises(TextNotFoundError, match="nearest line is line 3: `- buy bread`"):
        replace_once(value, "- call the dentist\n- buy  breads", "x")


def test_not_found_where_nothing_is_alike() -> None:
    with pytest.raises(TextNotFoundError, match="The block has 2 lines and none is like it"):
        replace_once("one\ntwo", "kkkk", "x")


def test_not_found_in_an_empty_block() -> None:
    with pytest.raises(TextNotFoundError, match="The block is empty"):
        replace_once("", "tea", "x")


def test_an_error_quotes_only_the_beginning_of_a_long_text() -> None:
    with pytest.raises(TextNotFoundError) as refusal:
        replace_once("short", "z" * 100_000, "x")

    assert len(refusal.value.message) < 600


def test_several_matches_are_told_by_line() -> None:
    with pytest.raises(TextNotUniqueError, match="`tea` occurs 3 times, beginning on lines 1, 1, 3"):
        replace_once("tea tea\ncoffee\ntea", "tea", "x")


def test_overlapping_matches_are_several() -> None:
    with pytest.raises(TextNotUniqueError, match="occurs 2 times"):
        replace_once("aaa", "aa", "b")


def test_a_great_many_matches_are_not_all_listed() -> None:
    with pytest.raises(TextNotUniqueError, match=r"occurs 50000 times, .*1, 1 and further ones") as refusal:
        replace_once("a" * 50_000, "a", "b")

    assert len(refusal.value.message) < 600


@pytest.mark.parametrize("pasted", ["2→ Likes tea", "Line 2: Likes tea", "2: Likes tea", "  2\tLikes tea"])
def test_a_search_with_line_numbers_is_told_to_drop_them(pasted: str) -> None:
    with pytest.raises(LineNumbersError, match="without the numbers in front of the lines"):
        replace_once("Name: Bob\nLikes tea", pasted, "x")


def test_numbers_that_belong_to_the_block_are_text() -> None:
    assert replace_once("1: milk\n2: bread", "2: bread", "2: cake") == "1: milk\n2: cake"


@pytest.mark.parametrize("text", ["1→ milk", "1→ milk\n\n2→ bread"])
@pytest.mark.parametrize(
    "edit",
    [insert, lambda value, text: replace_once(value, "a", text), lambda value, text: replace_every(value, "a", text)],
)
def test_new_text_with_line_numbers_is_refused(edit: Callable[[str, str], str], text: str) -> None:
    with pytest.raises(LineNumbersError):
        edit("a", text)


def test_a_rewritten_block_with_line_numbers_is_refused() -> None:
    with pytest.raises(LineNumbersError):
        rewrite("1→ milk")


@pytest.mark.parametrize("text", ["1. milk\n2. bread", "Line 4: the blue route", "12: noon", "a → b", "1→ milk\nbread"])
def test_new_text_with_numbers_of_its_own_is_kept(text: str) -> None:
    assert rewrite(text) == text
    assert insert("a", text) == f"a\n{text}"


def test_replacing_every_place() -> None:
    assert replace_every("tea, tea\ntea", "tea", "mate") == "mate, mate\nmate"


def test_replacing_every_place_needs_one() -> None:
    with pytest.raises(TextNotFoundError, match="does not occur"):
        replace_every("coffee", "tea", "mate")


@given(before=LINES, after=LINES, new=LINE)
def test_replacing_a_line_loses_no_other(before: list[str], after: list[str], new: str) -> None:
    value = "\n".join([*before, "→unique→", *after])

    assert replace_once(value, "→unique→", new).split("\n") == [*before, new, *after]
