"""Blocks in DynamoDB: the block's item, its history, its list items.

Item shapes (entities table):
- `block#{id}` / `state`: the block; `version` counts writes and guards them
- `block#{id}` / `version#{n}`: the block as write number n left it
- `block#{id}` / `agent#{id}`: edges, written with the agent
- `block-list` / id, `block-list#label#{digest}` / id, `block-list#tag` / tag NUL id: list items with facets
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agentkeep.errors import BlockVersionNotFoundError, NotFoundError
from agentkeep.store import database, keys, listing
from agentkeep.store.bodies import pack, unpack
from agentkeep.store.content import Record
from agentkeep.store.database import Item, TableName, Write
from agentkeep.store.entities import Block, BlockVersion
from agentkeep.store.keys import Key
from agentkeep.store.listing import Entry, Place
from agentkeep.store.making import unmade
from agentkeep.store.pages import PageRequest, Scan, chunks, merged, take

Cause = Literal["create", "update", "tool", "undo"]


class BlockFacets(Record):
    """What lists of blocks filter by."""

    label: str
    name: str | None = None
    tags: list[str]
    hidden: bool
    is_template: bool
    project_id: str | None = None
    with_agent: str | None = None


@dataclass(frozen=True)
class BlockFilter:
    """The filters of blocks.list. All that are given must fit; `agents_*` count the agents that carry the block."""

    label: str | None = None
    label_search: str | None = None
    description_search: str | None = None
    value_search: str | None = None
    name: str | None = None
    tags: Sequence[str] = ()
    match_all_tags: bool = False
    project_id: str | None = None
    templates_only: bool = False
    identity_id: str | None = None
    identifier_keys: Sequence[str] = ()
    agents_gt: int | None = None
    agents_lt: int | None = None
    agents_eq: Sequence[int] = ()
    show_hidden: bool = False

    def fits(self, facets: BlockFacets) -> bool:
        """Whether a block passes what its facets can tell."""
        if any(getattr(self, name) not in (None, getattr(facets, name)) for name in ("label", "name", "project_id")):
            return False
        if (facets.hidden and not self.show_hidden) or (self.templates_only and not facets.is_template):
            return False
        if self.identity_id or self.identifier_keys:
            return False
        if self.tags and not (all if self.match_all_tags else any)(tag in facets.tags for tag in self.tags):
            return False
        return _contains(facets.label, self.label_search)

    def fits_block(self, block: Block) -> bool:
        """Whether a block passes what it tells itself: its facets, and the texts that may be too long for those."""
        searched = _contains(block.description, self.description_search) and _contains(block.value, self.value_search)
        return searched and self.fits(_facets(block))

    @property
    def counts_agents(self) -> bool:
        """Whether the number of agents decides."""
        return self.agents_gt is not None or self.agents_lt is not None or bool(self.agents_eq)

    def fits_count(self, agents: int) -> bool:
        """Whether a block carried by so many agents passes."""
        if self.agents_gt is not None and agents <= self.agents_gt:
            return False
        if self.agents_lt is not None and agents >= self.agents_lt:
            return False
        return not self.agents_eq or agents in self.agents_eq


def _contains(text: str | None, part: str | None) -> bool:
    return part is None or part.lower() in (text or "").lower()


def get(block_id: str) -> Block:
    """The block. Raises NotFoundError when it does not exist or was deleted."""
    item = database.get("entities", keys.entity("block", block_id))
    if item is None or item.get("deleted") or unmade(_makers([item])):
        raise NotFoundError("Block", block_id)
    return unpack(item, Block)


def get_many(block_ids: Iterable[str]) -> dict[str, Block]:
    """The blocks that exist among the ids, in the order of the ids."""
    wanted = places(block_ids)
    return among(database.batch_get(wanted.values()), wanted)


def places(block_ids: Iterable[str]) -> dict[str, tuple[TableName, Key]]:
    """Where blocks are, by id, for reading them together with something else."""
    return {block_id: ("entities", keys.entity("block", block_id)) for block_id in block_ids}


def among(found: Mapping[tuple[TableName, Key], Item], wanted: Mapping[str, tuple[TableName, Key]]) -> dict[str, Block]:
    """The blocks that exist among items read from `places`."""
    read = {block_id: found[place] for block_id, place in wanted.items() if place in found}
    there = {block_id: item for block_id, item in read.items() if not item.get("deleted")}
    hidden = unmade(_makers(there.values()))
    return {block_id: unpack(item, Block) for block_id, item in there.items() if item.get("with_agent") not in hidden}


def _makers(items: Iterable[Item]) -> set[str]:
    return {item["with_agent"] for item in items if "with_agent" in item}


def create_writes(block: Block, changed_by: str, with_agent: str | None = None) -> Iterator[Write]:
    """The writes that make a block: its first version, its list items, itself.

    `with_agent`: it comes with that agent in several transactions and is unseen until the last (`store.making`).
    """
    yield _version(block, changed_by, "create", None)
    yield from listing.changes(block.id, {}, _places(block, with_agent))
    item = _item(block) | ({"with_agent": with_agent} if with_agent else {})
    yield database.put("entities", keys.entity("block", block.id), item, "attribute_not_exists(pk)")


def update_writes(
    old: Block, new: Block, changed_by: str, cause: Cause = "update", run_id: str | None = None
) -> Iterator[Write]:
    """The writes of one change: conditional on the version read, with a history item in the same transaction."""
    yield _replace(old, _item(new))
    yield _version(new, changed_by, cause, run_id)
    yield from listing.changes(new.id, _places(old), _places(new))


def delete_writes(block: Block) -> Iterator[Write]:
    """The writes that leave a tombstone."""
    yield _replace(block, _item(block) | {"deleted": True})
    yield from listing.changes(block.id, _places(block), {})


def there_check(block_id: str) -> Write:
    """The condition that a block is still there, for the transaction that attaches it."""
    there = "attribute_exists(pk) AND attribute_not_exists(deleted)"
    return database.check("entities", keys.entity("block", block_id), there)


def _replace(old: Block, item: Item) -> Write:
    condition = "version = :version AND attribute_not_exists(deleted)"
    return database.put("entities", keys.entity("block", old.id), item, condition, version=old.version)


def _item(block: Block) -> Item:
    return {"version": block.version, **pack(block)}


def _version(block: Block, changed_by: str, cause: Cause, run_id: str | None) -> Write:
    entry = BlockVersion(
        block_id=block.id, version=block.version, value=block.value, label=block.label, description=block.description,
        limit=block.limit, changed_by=changed_by, changed_at=block.updated_at, cause=cause, run_id=run_id,
    )  # fmt: skip
    return database.put("entities", keys.block_version(block.id, block.version), pack(entry))


def version(block_id: str, number: int) -> BlockVersion:
    """One entry of a block's history. Raises BlockVersionNotFoundError."""
    item = database.get("entities", keys.block_version(block_id, number))
    if item is None:
        raise BlockVersionNotFoundError(block_id, number)
    return unpack(item, BlockVersion)


def history(block_id: str, limit: int, before_version: int | None) -> list[BlockVersion]:
    """The newest entries of a block's history, newest first."""
    pk = keys.partition("block", block_id)
    start = None if before_version is None else keys.block_version(block_id, before_version).sk
    items = database.query("entities", pk, forward=False, start=start, prefix="version#", page_size=limit)
    return [unpack(item, BlockVersion) for _, item in zip(range(limit), items, strict=False)]


def agents_count(block_id: str) -> int:
    """How many agents carry a block."""
    return database.count("entities", keys.partition("block", block_id), prefix="agent#")


def _places(block: Block, with_agent: str | None = None) -> Mapping[Place, BlockFacets]:
    facets = _facets(block).model_copy(update={"with_agent": with_agent})
    lists = [Place(listing.list_partition("block")), _by_label(block.label)]
    return dict.fromkeys(lists + [Place(_tags(), tag) for tag in block.tags], facets)


def _facets(block: Block) -> BlockFacets:
    fields = block.model_dump(include=set(BlockFacets.model_fields) - {"with_agent"})
    return BlockFacets.model_validate(fields | {"hidden": bool(block.hidden)})


def _by_label(label: str) -> Place:
    return Place(listing.list_partition("block", "label", keys.digest(label)))


def _tags() -> str:
    return listing.list_partition("block", "tag")


def page(filters: BlockFilter, request: PageRequest) -> list[Block]:
    """One page of blocks, oldest or newest first. Filters read on until the page is full or the list ends."""

    def keep(found: Iterable[Block]) -> Iterator[Block]:
        fitting = (block for block in found if filters.fits_block(block))
        if not filters.counts_agents:
            return fitting
        return (block for block in fitting if filters.fits_count(agents_count(block.id)))

    return take(request, _loaded(filters, request.limit), place, lambda block: block.id, keep)


def _loaded(filters: BlockFilter, size: int) -> Scan[Block]:
    """The blocks of list items that fit. One that was deleted since its list item was read is left out."""
    entries = _scan(filters, size)

    def read(*, forward: bool, start: str | int | None) -> Iterator[Block]:
        fitting = (entry for entry in entries(forward=forward, start=start) if filters.fits(entry.facets))
        for chunk in chunks(fitting, size):
            yield from get_many(entry.id for entry in chunk).values()

    return read


def count(filters: BlockFilter) -> int:
    """How many blocks pass what their facets can tell."""
    found = [entry.facets for entry in _scan(filters)(forward=True, start=None) if filters.fits(entry.facets)]
    hidden = unmade({facets.with_agent for facets in found if facets.with_agent})
    return sum(1 for facets in found if facets.with_agent not in hidden)


def _scan(filters: BlockFilter, size: int | None = None) -> Scan[Entry[BlockFacets]]:
    if filters.label is not None:
        return listing.scan(_by_label(filters.label), BlockFacets, size)
    if filters.tags and filters.match_all_tags:
        return listing.scan(Place(_tags(), filters.tags[0]), BlockFacets, size)
    if filters.tags:
        scans = [listing.scan(Place(_tags(), tag), BlockFacets, size) for tag in dict.fromkeys(filters.tags)]
        return lambda *, forward, start: merged(scans, lambda entry: entry.id, forward=forward, start=start)
    return listing.scan(Place(listing.list_partition("block")), BlockFacets, size)


def place(cursor: str) -> str:
    """Where a block stands in lists by creation, also a deleted one. Raises NotFoundError for one never seen."""
    if database.get("entities", keys.entity("block", cursor)) is None:
        raise NotFoundError("Block", cursor)
    return cursor


def touched(block: Block, at: datetime, by: str, **changes: object) -> Block:
    """The next version of a block."""
    stamp = {"version": block.version + 1, "updated_at": at, "last_updated_by_id": by}
    return block.model_copy(update=changes | stamp)
