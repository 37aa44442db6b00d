"""Agents in DynamoDB: the agent's item, its list items, its activity, its edges to blocks.

Item shapes (entities table):
- `agent#{id}` / `state`: the agent; `version` guards updates; `deleted` marks a tombstone, which keeps `updated_at`
- `agent#{id}` / `secrets`: sealed secrets by name
- `agent#{id}` / `activity`: last run; gsi1 orders all agents by it
- `agent-list` / id, `agent-list#updated` / time NUL id, `agent-list#name#{digest}` / id, `agent-list#tag` / tag NUL id,
  `agent-list#identity#{id}` / id: list items with facets
- `block#{id}` / `agent#{id}`: the edge of an attached block
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from agentkeep import clock
from agentkeep.errors import NotFoundError
from agentkeep.store import database, keys, listing
from agentkeep.store.bodies import pack, unpack
from agentkeep.store.content import Record
from agentkeep.store.database import Item, Write
from agentkeep.store.entities import Agent, StopReason
from agentkeep.store.listing import Entry, Place
from agentkeep.store.pages import MOST_AT_ONCE, PageRequest, Scan, chunks, merged, take

Order = Literal["created_at", "updated_at", "last_run_completion"]


class AgentFacets(Record):
    """What lists of agents filter by."""

    name: str
    tags: list[str]
    hidden: bool
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    identity_ids: list[str]
    created_by_id: str | None = None


class Activity(Record):
    """When an agent finished a run last, how long that took, and why it stopped."""

    last_run_completion: datetime | None = None
    last_run_duration_ms: int | None = None
    last_stop_reason: StopReason | None = None


class Placed(NamedTuple):
    """An agent and what the list it was read from is ordered by."""

    sort: str
    agent: Agent


@dataclass(frozen=True)
class AgentFilter:
    """The filters of agents.list and agents.count. All that are given must fit; tags: all of them or any."""

    name: str | None = None
    tags: Sequence[str] = ()
    match_all_tags: bool = False
    query_text: str | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    identity_id: str | None = None
    identifier_keys: Sequence[str] = ()
    created_by_id: str | None = None
    last_stop_reason: str | None = None
    show_hidden: bool = False

    def fits(self, facets: AgentFacets) -> bool:
        """Whether an agent passes everything but `last_stop_reason`, which is not a facet."""
        exact = ("name", "project_id", "template_id", "base_template_id", "created_by_id")
        if any(getattr(self, name) not in (None, getattr(facets, name)) for name in exact):
            return False
        if facets.hidden and not self.show_hidden:
            return False
        if self.tags and not (all if self.match_all_tags else any)(tag in facets.tags for tag in self.tags):
            return False
        if (self.identity_id and self.identity_id not in facets.identity_ids) or self.identifier_keys:
            return False
        return not self.query_text or self.query_text.lower() in facets.name.lower()


def get(agent_id: str) -> Agent:
    """The agent. Raises NotFoundError when it does not exist or was deleted."""
    return from_item(database.get("entities", keys.entity("agent", agent_id)), agent_id)


def from_item(item: Item | None, agent_id: str) -> Agent:
    """The agent of an item read elsewhere; a missing item or a tombstone is NotFoundError."""
    if item is None or item.get("deleted"):
        raise NotFoundError("Agent", agent_id)
    return unpack(item, Agent).model_copy(update={"version": item["version"]})


def get_many(agent_ids: Iterable[str]) -> dict[str, Agent]:
    """The agents that exist among the ids, in the order of the ids."""
    wanted = {keys.entity("agent", agent_id): agent_id for agent_id in agent_ids}
    found = database.batch_get(("entities", key) for key in wanted)
    items = ((agent_id, found.get(("entities", key))) for key, agent_id in wanted.items())
    return {agent_id: from_item(item, agent_id) for agent_id, item in items if item and not item.get("deleted")}


def activities(agent_ids: Iterable[str]) -> dict[str, Activity]:
    """The last run of each agent."""
    wanted = {keys.activity(agent_id): agent_id for agent_id in agent_ids}
    found = database.batch_get(("entities", key) for key in wanted)
    return {wanted[key]: unpack(item, Activity) for (_, key), item in found.items()}


def revised(old: Agent, by: str, **changes: Any) -> Agent:
    """The next version of an agent, changed by the principal or agent `by`; `update_writes` stores it."""
    stamp = {"version": old.version + 1, "updated_at": clock.now(), "last_updated_by_id": by}
    return Agent.model_validate({**old.model_dump(), **changes, **stamp})


def create_writes(agent: Agent) -> Iterator[Write]:
    """The writes that make an agent, but for its `edge_writes`: the item last, so that it is seen when all else is."""
    yield from listing.changes(agent.id, {}, _places(agent))
    yield database.put("entities", keys.activity(agent.id), _activity_item(agent.id, Activity()))
    yield database.put("entities", keys.entity("agent", agent.id), _item(agent), "attribute_not_exists(pk)")


def update_writes(old: Agent, new: Agent) -> Iterator[Write]:
    """The writes that change an agent from the version that was read, the conditional one first."""
    yield _replace(old.version, new.id, _item(new))
    yield from edge_writes(new.id, [block_id for block_id in new.block_ids if block_id not in old.block_ids])
    for block_id in old.block_ids:
        if block_id not in new.block_ids:
            yield database.delete("entities", keys.block_agent(block_id, new.id))
    yield from listing.changes(new.id, _places(old), _places(new))


def delete_writes(agent: Agent) -> Iterator[Write]:
    """The writes that leave a tombstone: unseen at once, while a cursor at the agent still has its place."""
    yield _replace(agent.version, agent.id, _item(agent) | {"deleted": True})
    yield database.delete("entities", keys.agent_secrets(agent.id))
    yield database.update("entities", keys.activity(agent.id), "REMOVE gsi1pk")
    yield from listing.changes(agent.id, _places(agent), {})
    for block_id in agent.block_ids:
        yield database.delete("entities", keys.block_agent(block_id, agent.id))


def _replace(version: int, agent_id: str, item: Item) -> Write:
    condition = "version = :version AND attribute_not_exists(deleted)"
    return database.put("entities", keys.entity("agent", agent_id), item, condition, version=version)


def _item(agent: Agent) -> Item:
    return {"version": agent.version, "updated_at": _time(agent.updated_at), **pack(agent)}


def edge_writes(agent_id: str, block_ids: Iterable[str]) -> Iterator[Write]:
    """The writes that say an agent carries blocks."""
    for block_id in block_ids:
        yield database.put("entities", keys.block_agent(block_id, agent_id), {"id": agent_id})


def _places(agent: Agent) -> Mapping[Place, AgentFacets]:
    places = [Place(listing.list_partition("agent")), _by_update(agent.updated_at), _by_name(agent.name)]
    places += [Place(_tags(), tag) for tag in agent.tags]
    places += [_by_identity(identity_id) for identity_id in agent.identity_ids]
    return dict.fromkeys(places, _facets(agent))


def _facets(agent: Agent) -> AgentFacets:
    fields = agent.model_dump(include=set(AgentFacets.model_fields))
    return AgentFacets.model_validate(fields | {"hidden": bool(agent.hidden)})


def _by_name(name: str) -> Place:
    return Place(listing.list_partition("agent", "name", keys.digest(name)))


def _by_update(moment: datetime) -> Place:
    return Place(listing.list_partition("agent", "updated"), _time(moment))


def _by_identity(identity_id: str) -> Place:
    return Place(listing.list_partition("agent", "identity", identity_id))


def _tags() -> str:
    return listing.list_partition("agent", "tag")


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")


def record_activity(agent_id: str, activity: Activity) -> None:
    """Notes the end of a run; a write of its own, so that conversations of one agent never conflict over it."""
    item = _activity_item(agent_id, activity)
    newer = "attribute_exists(gsi1pk) AND gsi1sk < :place"
    change = database.update(
        "entities", keys.activity(agent_id), "SET #data = :data, gsi1sk = :place", newer,
        data=item["data"], place=item["gsi1sk"],
    )  # fmt: skip
    try:
        database.write(change)
    except database.ConditionFailedError:
        return  # a later run was noted first, or the agent is gone


class Secrets(Record):
    """An agent's secrets by name, each sealed for the tenant; never in lists, logs or events."""

    sealed: dict[str, str]


def secrets_write(agent_id: str, sealed: Mapping[str, str]) -> Write:
    """The write that sets all secrets of an agent."""
    return database.put("entities", keys.agent_secrets(agent_id), pack(Secrets(sealed=dict(sealed))))


def sealed_secrets(agent_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """The sealed secrets by name, of each agent that has any."""
    wanted = {keys.agent_secrets(agent_id): agent_id for agent_id in agent_ids}
    found = database.batch_get(("entities", key) for key in wanted)
    return {wanted[key]: unpack(item, Secrets).sealed for (_, key), item in found.items()}


def _activity_item(agent_id: str, activity: Activity) -> Item:
    moment = _time(activity.last_run_completion) if activity.last_run_completion else ""
    return {**pack(activity), "gsi1pk": _last_runs(), "gsi1sk": f"{moment}#{agent_id}"}


def _last_runs() -> str:
    return keys.partition("agent-last-runs")


def page(filters: AgentFilter, request: PageRequest, order: Order = "created_at") -> list[Agent]:
    """One page of agents. Filters read on until the page is full or the list ends."""
    scan, place = _source(filters, order, request.limit)

    def keep(found: Iterable[Placed]) -> Iterator[Placed]:
        fitting = (placed for placed in found if filters.fits(_facets(placed.agent)))
        return _stopped_with(filters.last_stop_reason, fitting) if filters.last_stop_reason else fitting

    return [placed.agent for placed in take(request, scan, place, lambda placed: placed.sort, keep)]


def _source(filters: AgentFilter, order: Order, size: int) -> tuple[Scan[Placed], Callable[[str], str]]:
    """Where agents are read from in an order, and the place of a cursor there."""
    if order == "last_run_completion":
        return _by_last_run(size), _last_run_place
    if order == "updated_at":
        return _loaded(_updated(size), filters, size), _updated_place
    return _loaded(_created(filters, size), filters, size), _created_place


def _loaded(entries: Scan[Entry[AgentFacets]], filters: AgentFilter, size: int) -> Scan[Placed]:
    """The agents of list items that fit. One that was deleted since its list item was read is left out."""

    def read(*, forward: bool, start: str | int | None) -> Iterator[Placed]:
        fitting = (entry for entry in entries(forward=forward, start=start) if filters.fits(entry.facets))
        for chunk in chunks(fitting, size):
            agents = get_many(entry.id for entry in chunk)
            yield from (Placed(entry.sort, agents[entry.id]) for entry in chunk if entry.id in agents)

    return read


def count(filters: AgentFilter) -> int:
    """How many agents fit; the same rule as the list's."""
    if filters.last_stop_reason:
        return sum(len(agents) for agents in _pages(filters))
    return sum(1 for entry in _created(filters)(forward=True, start=None) if filters.fits(entry.facets))


def _pages(filters: AgentFilter) -> Iterator[list[Agent]]:
    request = PageRequest(limit=MOST_AT_ONCE, descending=False)
    while agents := page(filters, request):
        yield agents
        request = replace(request, after=agents[-1].id)


def _created(filters: AgentFilter, size: int | None = None) -> Scan[Entry[AgentFacets]]:
    """The narrowest list that holds every match, in order of creation."""
    if filters.name is not None:
        return listing.scan(_by_name(filters.name), AgentFacets, size)
    if filters.tags and filters.match_all_tags:
        return listing.scan(Place(_tags(), filters.tags[0]), AgentFacets, size)
    if filters.tags:
        scans = [listing.scan(Place(_tags(), tag), AgentFacets, size) for tag in dict.fromkeys(filters.tags)]
        return lambda *, forward, start: merged(scans, lambda entry: entry.id, forward=forward, start=start)
    if filters.identity_id is not None:
        return listing.scan(_by_identity(filters.identity_id), AgentFacets, size)
    return listing.scan(Place(listing.list_partition("agent")), AgentFacets, size)


def _stopped_with(reason: str, found: Iterable[Placed]) -> Iterator[Placed]:
    for chunk in chunks(found, MOST_AT_ONCE):
        known = activities(placed.agent.id for placed in chunk)
        yield from (placed for placed in chunk if known.get(placed.agent.id, Activity()).last_stop_reason == reason)


def _created_place(cursor: str) -> str:
    _seen(cursor)
    return cursor


def _seen(cursor: str) -> Item:
    item = database.get("entities", keys.entity("agent", cursor))
    if item is None:
        raise NotFoundError("Agent", cursor)
    return item


def _updated(size: int) -> Scan[Entry[AgentFacets]]:
    def read(*, forward: bool, start: str | int | None) -> Iterator[Entry[AgentFacets]]:
        pk = listing.list_partition("agent", "updated")
        for item in database.query("entities", pk, forward=forward, start=start, page_size=size + 1):
            yield Entry(item["id"], unpack(item, AgentFacets), item["sk"])

    return read


def _updated_place(cursor: str) -> str:
    return f"{_seen(cursor)['updated_at']}{keys.SEPARATOR}{cursor}"


def _by_last_run(size: int) -> Scan[Placed]:
    """Agents by their newest run; those that never ran come before all others."""

    def read(*, forward: bool, start: str | int | None) -> Iterator[Placed]:
        found = database.query("entities", _last_runs(), index="gsi1", forward=forward, start=start, page_size=size + 1)
        for chunk in chunks((item["gsi1sk"] for item in found), size):
            agents = get_many(_agent_of(sort) for sort in chunk)
            yield from (Placed(sort, agents[_agent_of(sort)]) for sort in chunk if _agent_of(sort) in agents)

    return read


def _agent_of(last_run: str) -> str:
    return last_run.rpartition("#")[2]


def _last_run_place(cursor: str) -> str:
    _seen(cursor)
    item = database.get("entities", keys.activity(cursor))
    return str(item["gsi1sk"]) if item else f"#{cursor}"


def tag_names(request: PageRequest, containing: str | None) -> list[str]:
    """The tags in use, in alphabetical order; the cursor is a tag itself."""

    def scan(*, forward: bool, start: str | int | None) -> Iterator[str]:
        return listing.groups(_tags(), forward=forward, start=None if start is None else str(start))

    def keep(tags: Iterable[str]) -> Iterator[str]:
        return (tag for tag in tags if containing is None or containing.lower() in tag.lower())

    return take(request, scan, str, str, keep)


def carrying(
    block_id: str, *, forward: bool = True, start: str | None = None, size: int | None = None
) -> Iterator[str]:
    """The ids of the agents that carry a block, in order of creation; `size`: how many are probably wanted."""
    beyond = None if start is None else keys.block_agent(block_id, start).sk
    edges = database.query(
        "entities", keys.partition("block", block_id), forward=forward, start=beyond, prefix="agent#", page_size=size
    )
    return (item["id"] for item in edges)


def page_of_block(block_id: str, request: PageRequest) -> list[Agent]:
    """One page of the agents that carry a block."""

    def scan(*, forward: bool, start: str | int | None) -> Iterator[Agent]:
        first = None if start is None else str(start)
        for chunk in chunks(carrying(block_id, forward=forward, start=first, size=request.limit + 1), request.limit):
            yield from get_many(chunk).values()

    return take(request, scan, _created_place, lambda agent: agent.id)
