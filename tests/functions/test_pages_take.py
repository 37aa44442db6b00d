"""Pages of a list that is known whole, against the plainest model of them."""

from collections.abc import Iterable, Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkeep.errors import NotFoundError
from agentkeep.store.pages import PageRequest, Scan, chunks, merged, take, take_of

values = st.lists(st.integers(0, 60), unique=True, max_size=40)
cursors = st.none() | st.integers(0, 60)
requests = st.builds(
    PageRequest,
    limit=st.integers(1, 9),
    descending=st.booleans(),
    after=cursors.map(lambda value: None if value is None else f"{value:02}"),
    before=cursors.map(lambda value: None if value is None else f"{value:02}"),
)


def plain(items: Iterable[str], request: PageRequest) -> list[str]:
    """The page, from all items at once."""
    ordered = sorted(items, reverse=request.descending)
    beyond = (lambda item, cursor: item < cursor) if request.descending else (lambda item, cursor: item > cursor)
    between = [
        item
        for item in ordered
        if (request.after is None or beyond(item, request.after))
        and (request.before is None or beyond(request.before, item))
    ]
    return between[-request.limit :] if request.before is not None else between[: request.limit]


def scan_of(items: Iterable[str]) -> Scan[str]:
    def scan(*, forward: bool, start: str | int | None) -> Iterator[str]:
        for item in sorted(items, reverse=not forward):
            if start is None or (item > str(start) if forward else item < str(start)):
                yield item

    return scan


@given(values, requests)
def test_a_page_is_what_the_plain_list_gives(numbers: list[int], request: PageRequest) -> None:
    items = [f"{number:02}" for number in numbers]

    assert take(request, scan_of(items), str, str) == plain(items, request)
    assert take_of(items, request, str, str) == plain(items, request)


@given(values, requests, st.integers(1, 5))
def test_a_filter_fills_the_page_from_what_comes_later(numbers: list[int], request: PageRequest, step: int) -> None:
    items = [f"{number:02}" for number in numbers]

    page = take(request, scan_of(items), str, str, lambda found: (item for item in found if int(item) % step == 0))

    assert page == plain([item for item in items if int(item) % step == 0], request)


@given(values, st.integers(1, 9), st.booleans())
def test_a_walk_meets_every_item_once_and_in_order(numbers: list[int], limit: int, descending: bool) -> None:
    items = [f"{number:02}" for number in numbers]
    walked: list[str] = []
    request = PageRequest(limit=limit, descending=descending)

    while page := take(request, scan_of(items), str, str):
        walked += page
        request = PageRequest(limit=limit, descending=descending, after=page[-1])

    assert walked == sorted(items, reverse=descending)


@given(st.lists(values, max_size=5), st.booleans(), cursors)
def test_lists_read_as_one_give_each_item_once(lists: list[list[int]], forward: bool, start: int | None) -> None:
    texts = [[f"{number:02}" for number in numbers] for numbers in lists]
    first = None if start is None else f"{start:02}"

    read = list(merged([scan_of(items) for items in texts], str, forward=forward, start=first))

    everything = sorted({item for items in texts for item in items}, reverse=not forward)
    beyond = [item for item in everything if first is None or (item > first if forward else item < first)]
    assert read == beyond


def test_an_unknown_cursor_is_refused_before_anything_is_read() -> None:
    def unknown(cursor: str) -> str:
        raise NotFoundError("Agent", cursor)

    def scan(*, forward: bool, start: str | int | None) -> Iterator[str]:
        raise AssertionError("read")

    for request in (PageRequest(after="nobody"), PageRequest(before="nobody")):
        with pytest.raises(NotFoundError, match="nobody"):
            take(request, scan, unknown, str)


def test_chunks_grow_so_that_a_rare_match_is_found_in_few_reads() -> None:
    sizes = [len(chunk) for chunk in chunks(range(500), 7)]

    assert sizes == [7, 28, 100, 100, 100, 100, 65]


def test_a_page_reads_no_further_than_its_last_item() -> None:
    read: list[int] = []

    def counting() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    list(islice(chunks(counting(), 7), 1))

    assert read == list(range(7))
