"""ProjectionExpression: the parts of an item that are returned."""

from collections.abc import Iterable
from functools import lru_cache

from infra.local.dynamodb.expressions.documents import expect_disjoint, member
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.tokens import Path, Reader
from infra.local.dynamodb.values import AttributeValue, Item

_Wanted = dict[str | int, "_Wanted"]
"""The parts wanted below a place; nothing below means all of it."""


@lru_cache(maxsize=1024)
def parsed_projection(text: str) -> tuple[Path, ...]:
    """The paths of a projection, placeholders unresolved. Raises ExpressionError."""
    reader = Reader(text)
    paths = [reader.path()]
    while reader.accept(","):
        paths.append(reader.path())
    reader.expect_end()
    return tuple(paths)


class Projection:
    """Cuts items down to the paths that an expression names."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._wanted: _Wanted = {}
        for path in paths:
            place = self._wanted
            for part in path:
                place = place.setdefault(part, {})

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that it looks into."""
        return frozenset(map(str, self._wanted))

    @classmethod
    def bound(cls, text: str, placeholders: Placeholders) -> "Projection":
        """The projection of a request. Raises ExpressionError for overlapping paths."""
        paths = [placeholders.path(path) for path in parsed_projection(text)]
        expect_disjoint(paths)
        return cls(paths)

    def __call__(self, item: Item) -> Item:
        """The part of `item` that is wanted."""
        return _members(item, self._wanted)


def _members(members: Item, wanted: _Wanted) -> Item:
    cut = {str(name): _cut(members[str(name)], below) for name, below in wanted.items() if name in members}
    return {name: value for name, value in cut.items() if value is not None}


def _cut(value: AttributeValue, wanted: _Wanted) -> AttributeValue | None:
    if not wanted:
        return value
    if "M" in value and all(isinstance(part, str) for part in wanted):
        members = _members(value["M"], wanted)
        return {"M": members} if members else None
    indexes = sorted(part for part in wanted if isinstance(part, int))
    elements = [_element(value, index, wanted[index]) for index in indexes]
    kept = [element for element in elements if element is not None]
    return {"L": kept} if kept else None


def _element(value: AttributeValue, index: int, wanted: _Wanted) -> AttributeValue | None:
    element = member(value, index)
    return None if element is None else _cut(element, wanted)
