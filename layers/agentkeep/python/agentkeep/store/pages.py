"""Pages of a list. Letta's cursors are entity ids: a page starts right after one, or ends right before one."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice, takewhile
from typing import Final, Protocol, TypeVar

MOST_AT_ONCE: Final = 100
"""Keys of one BatchGetItem (DynamoDB API reference)."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class PageRequest:
    """What a caller asks for. `after` and `before` are entity ids and follow the requested order.

    A page holds `limit` matches or is the end of the list. With `before` it is the `limit` matches that come
    right before that entity, still in the requested order, and with `after` beside it none from that entity back:
    clients walk towards the front with `before`, so the page is taken from that end.
    """

    limit: int = 50
    descending: bool = True
    after: str | None = None
    before: str | None = None


class Scan(Protocol[T_co]):
    """Reads a list from one of its ends, or from just beyond the sort value `start`, in either direction."""

    def __call__(self, *, forward: bool, start: str | int | None) -> Iterator[T_co]: ...


def take(
    page: PageRequest,
    scan: "Scan[T]",
    place: Callable[[str], str | int],
    sort_value: Callable[[T], str | int],
    keep: Callable[[Iterable[T]], Iterator[T]] = iter,
) -> list[T]:
    """The page of a list.

    `place` gives the sort value of a cursor, also of a deleted entity, and raises NotFoundError for one never seen.
    `keep` filters lazily, so that a page is filled by reading on, never by filtering one page.
    """
    forward = not page.descending
    if page.before is None:
        start = place(page.after) if page.after is not None else None
        return list(islice(keep(scan(forward=forward, start=start)), page.limit))
    items = scan(forward=not forward, start=place(page.before))
    if page.after is not None:
        end = place(page.after)
        items = takewhile(lambda item: _precedes(sort_value(item), end, not forward), items)
    return list(islice(keep(items), page.limit))[::-1]


def _precedes(value: str | int, end: str | int, forward: bool) -> bool:
    assert type(value) is type(end)
    return value < end if forward else value > end  # type: ignore[operator]


def take_of(
    items: Iterable[T], page: PageRequest, sort_value: Callable[[T], str], place: Callable[[str], str]
) -> list[T]:
    """The page of a list that is at hand."""
    ordered = sorted(items, key=sort_value)

    def scan(*, forward: bool, start: str | int | None) -> Iterator[T]:
        for item in ordered if forward else reversed(ordered):
            value = sort_value(item)
            if start is None or (value > str(start) if forward else value < str(start)):
                yield item

    return take(page, scan, place, sort_value)


def merged(
    scans: Iterable["Scan[T]"], sort_value: Callable[[T], str], *, forward: bool, start: str | int | None
) -> Iterator[T]:
    """Several lists with the same sort value read as one; an entity in several of them comes once."""
    streams = [scan(forward=forward, start=start) for scan in scans]
    last: str | None = None
    for item in merge(*streams, key=sort_value, reverse=not forward):
        if sort_value(item) != last:
            last = sort_value(item)
            yield item


def chunks(items: Iterable[T], size: int, most: int = MOST_AT_ONCE) -> Iterator[list[T]]:
    """Lists of `size` items, then four times as many each time, up to `most`, read lazily.

    A page of all that there is reads what it shows; one that looks for a rare match soon reads in large steps.
    """
    iterator = iter(items)
    while chunk := list(islice(iterator, min(size, most))):
        yield chunk
        size *= 4
