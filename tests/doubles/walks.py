"""Walking a list page by page as letta-client's SyncArrayPage does: `after` the last id, `before` the first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.system import System

Json = dict[str, Any]


@dataclass(frozen=True)
class List:
    """One list operation. `name` is what a page's items are known by: their id, a tag itself, a version."""

    function: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    name: Callable[[Any], str] = lambda item: str(item["id"])

    def page(self, system: System, **query: Any) -> list[Any]:
        """One page; refuses an answer that is none."""
        answer = system.call(self.function, "GET", self.path, query={**self.query, **query})
        assert answer.status == 200, (answer.status, answer.body)
        page: list[Any] = answer.body
        return page


def forwards(
    system: System, listed: List, *, limit: int = 7, meanwhile: Callable[[list[str]], None] | None = None
) -> list[str]:
    """The names of all items in the order of the walk. `meanwhile` is called between pages with the last page."""
    walked: list[str] = []
    cursor: Json = {}
    sizes = []
    while page := listed.page(system, limit=limit, **cursor):
        names = list(dict.fromkeys(map(listed.name, page)))
        walked += names
        sizes.append(len(names))
        cursor = {"after": names[-1]}
        if meanwhile:
            meanwhile(names)
    assert all(size == limit for size in sizes[:-1]), f"a page that is not the last one has fewer than {limit}: {sizes}"
    return walked


def backwards(system: System, listed: List, start: str, *, limit: int = 7) -> list[str]:
    """The names of all items before `start`, in the order of the list, walked from there towards the front."""
    walked: list[str] = []
    sizes = []
    while page := listed.page(system, limit=limit, before=start):
        names = list(dict.fromkeys(map(listed.name, page)))
        walked = names + walked
        sizes.append(len(names))
        start = names[0]
    assert all(size == limit for size in sizes[:-1]), f"a page that is not the last one has fewer than {limit}: {sizes}"
    return walked


def expect_walks(system: System, listed: List, expected: list[str], *, limit: int = 7) -> None:
    """Walks a list in both orders and from both ends; `expected` is what it holds in ascending order."""
    for order, names in (("asc", expected), ("desc", expected[::-1])):
        ordered = List(listed.function, listed.path, {**listed.query, "order": order}, listed.name)
        assert forwards(system, ordered, limit=limit) == names, (order, listed)
        if names:
            assert backwards(system, ordered, names[-1], limit=limit) == names[:-1], (order, listed)
