"""List items: what agents and blocks are found by. They live in the base table and are written with the entity.

Each list of a kind is a partition whose sort keys end in the entity id, so that order is creation order. A list item
carries the entity's facets, the few fields that lists filter by, so that filtering reads no entity.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from agentkeep.store import database, keys
from agentkeep.store.bodies import pack, unpack
from agentkeep.store.content import Record
from agentkeep.store.database import Write
from agentkeep.store.keys import SEPARATOR, Key
from agentkeep.store.pages import Scan

F = TypeVar("F", bound=Record)


@dataclass(frozen=True)
class Entry(Generic[F]):
    """A list item read back: which entity, its facets, and what it is ordered by."""

    id: str
    facets: F
    sort: str


@dataclass(frozen=True)
class Place:
    """Where an entity stands in a list: a partition, and what precedes the id in the sort key."""

    partition: str
    group: str = ""

    def key(self, identifier: str) -> Key:
        """The list item's key."""
        return Key(self.partition, f"{self.group}{SEPARATOR}{identifier}" if self.group else identifier)

    @property
    def prefix(self) -> str | None:
        """What the sort keys of this list begin with."""
        return f"{self.group}{SEPARATOR}" if self.group else None


def changes(identifier: str, old: Mapping[Place, Record], new: Mapping[Place, Record]) -> Iterator[Write]:
    """The writes that turn the old list items of an entity into the new ones."""
    for place in old.keys() - new.keys():
        yield database.delete("entities", place.key(identifier))
    for place, facets in new.items():
        if old.get(place) != facets:
            yield database.put("entities", place.key(identifier), {"id": identifier, **pack(facets)})


def scan(place: Place, facets: type[F], size: int | None = None) -> Scan[Entry[F]]:
    """A reader of one list; `start` is the id of an entity, `size` how many entries are probably wanted."""

    def read(*, forward: bool, start: str | int | None) -> Iterator[Entry[F]]:
        beyond = place.key(str(start)).sk if start is not None else None
        found = database.query(
            "entities", place.partition, forward=forward, start=beyond, prefix=place.prefix, page_size=size and size + 1
        )
        for item in found:
            yield Entry(item["id"], unpack(item, facets), item["id"])

    return read


def groups(partition: str, *, forward: bool, start: str | None) -> Iterator[str]:
    """The distinct groups of a partition in order, one small read each (tags of a tenant)."""
    position = _edge(start, forward) if start is not None else None
    while True:
        item = next(database.query("entities", partition, forward=forward, start=position, page_size=1), None)
        if item is None:
            return
        group = item["sk"].split(SEPARATOR)[0]
        yield group
        position = _edge(group, forward)


def _edge(group: str, forward: bool) -> str:
    return f"{group}{SEPARATOR}\U0010ffff" if forward else f"{group}{SEPARATOR}"


def list_partition(kind: str, *parts: str) -> str:
    """The partition of a list of one kind, e.g. all agents, or agents by tag."""
    return keys.partition(f"{kind}-list", *parts)
