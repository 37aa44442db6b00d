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
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agentkeep.errors import NotFoundError
from agentkeep.store import database, keys, listing
from agentkeep.store.bodies import pack, unpack
from agentkeep.store.content import Record
from agentkeep.store.database import Item, Write
from agentkeep.store.entities import Agent, StopReason
from agentkeep.store.listing import Entry, Place
from agentkeep.store.pages import PageRequest, chunks, merged, take

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
        if self.identity_id and self.identity_id not in facets.identity_ids or self.identifier_keys:
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
    """The agents that exist among the ids."""
    wanted = {keys.entity("agent", agent_id): agent_id for agent_id in agent_ids}
    found = database.batch_get(("entities", key) for key in wanted)
    return {wanted[key]: from_item(item, wanted[key]) for (_, key), item in found.items() if not item.get("deleted")}


def activities(agent_ids: Iterable[str]) -> dict[str, Activity]:
    """The last run of each agent."""
    wanted = {keys.activity(agent_id): agent_id for agent_id in agent_ids}
    found = database.batch_get(("entities", key) for key in wanted)
    return {wanted[key]: unpack(item, Activity) for (_, key), item in found.items()}


def create_writes(agent: Agent) -> Iterator[Write]:
    """The writes that make an agent: the item last, so that it is seen when all else is there."""
    yield from _edges(agent.id, agent.block_ids)
    yield from listing.changes(agent.id, {}, _places(agent))
    yield database.put("entities", keys.activity(agent.id), _activity_item(agent.id, Activity()))
    yield database.put("entities", keys.entity("agent", agent.id), _item(agent), "attribute_not_exists(pk)")


def update_writes(old: Agent, new: Agent) -> Iterator[Write]:
    """The writes that change an agent from the version that was read, the conditional one first."""
    yield _replace(old.version, new.id, _item(new))
    yield from _edges(new.id, [block_id for block_id in new.block_ids if block_id not in old.block_ids])
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


def _edges(agent_id: str, block_ids: Iterable[str]) -> Iterator[Write]:
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


def sealed_secrets(agent_id: str) -> dict[str, str]:
    """The sealed secrets of an agent by name."""
    item = database.get("entities", keys.agent_secrets(agent_id))
    return unpack(item, Secrets).sealed if item else {}


def _activity_item(agent_id: str, activity: Activity) -> Item:
    moment = _time(activity.last_run_completion) if activity.last_run_completion else ""
    return {**pack(activity), "gsi1pk": _last_runs(), "gsi1sk": f"{moment}#{agent_id}"}


def _last_runs() -> str:
    return keys.partition("agent-last-runs")


def page(filters: AgentFilter, request: PageRequest, order: Order = "created_at") -> list[str]:
    """The ids of one page of agents. Filters read on until the page is full or the list ends."""
    if order == "created_at":
        found = take(request, _created(filters), _created_place, lambda entry: entry.sort, _keep(filters))
    elif order == "updated_at":
        found = take(request, _updated, _updated_place, lambda entry: entry.sort, _keep(filters))
    else:
        found = take(request, _by_last_run, _last_run_place, lambda entry: entry.sort, _keep(filters))
    return [entry.id for entry in found]


def count(filters: AgentFilter) -> int:
    """How many agents fit; the same rule as the list's."""
    entries = _created(filters)(forward=True, start=None)
    return sum(1 for _ in _keep(filters)(entries))


def _created(filters: AgentFilter) -> Callable[..., Iterator[Entry[AgentFacets]]]:
    """The narrowest list that holds every match, in order of creation."""
    if filters.name is not None:
        return listing.scan(_by_name(filters.name), AgentFacets)
    if filters.tags and filters.match_all_tags:
        return listing.scan(Place(_tags(), filters.tags[0]), AgentFacets)
    if filters.tags:
        scans = [listing.scan(Place(_tags(), tag), AgentFacets) for tag in filters.tags]
        return lambda *, forward, start: merged(scans, lambda entry: entry.id, forward=forward, start=start)
    if filters.identity_id is not None:
        return listing.scan(_by_identity(filters.identity_id), AgentFacets)
    return listing.scan(Place(listing.list_partition("agent")), AgentFacets)


def _keep(filters: AgentFilter) -> Callable[[Iterable[Entry[AgentFacets]]], Iterator[Entry[AgentFacets]]]:
    def keep(entries: Iterable[Entry[AgentFacets]]) -> Iterator[Entry[AgentFacets]]:
        fitting = listing.matching(entries, filters.fits)
        return _stopped_with(filters.last_stop_reason, fitting) if filters.last_stop_reason else fitting

    return keep


def _stopped_with(reason: str, entries: Iterable[Entry[AgentFacets]]) -> Iterator[Entry[AgentFacets]]:
    for chunk in chunks(entries, 100):
        known = activities(entry.id for entry in chunk)
        yield from (entry for entry in chunk if known.get(entry.id, Activity()).last_stop_reason == reason)


def _created_place(cursor: str) -> str:
    _seen(cursor)
    return cursor


def _seen(cursor: str) -> Item:
    item = database.get("entities", keys.entity("agent", cursor))
    if item is None:
        raise NotFoundError("Agent", cursor)
    return item


def _updated(*, forward: bool, start: str | int | None) -> Iterator[Entry[AgentFacets]]:
    partition = listing.list_partition("agent", "updated")
    for item in database.query("entities", partition, forward=forward, start=start):
        yield Entry(item["id"], unpack(item, AgentFacets), item["sk"])


def _updated_place(cursor: str) -> str:
    return f"{_seen(cursor)['updated_at']}{keys.SEPARATOR}{cursor}"


def _by_last_run(*, forward: bool, start: str | int | None) -> Iterator[Entry[AgentFacets]]:
    """Agents by their newest run; those that never ran come before all others."""
    found = database.query("entities", _last_runs(), index="gsi1", forward=forward, start=start)
    for chunk in chunks((item["gsi1sk"] for item in found), 100):
        agents = get_many(sort.rpartition("#")[2] for sort in chunk)
        for sort in chunk:
            if agent := agents.get(sort.rpartition("#")[2]):
                yield Entry(agent.id, _facets(agent), sort)


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


def carrying(block_id: str, *, forward: bool = True, start: str | None = None) -> Iterator[str]:
    """The ids of the agents that carry a block, in order of creation."""
    beyond = None if start is None else f"agent#{start}"
    pk = keys.partition("block", block_id)
    return (item["id"] for item in database.query("entities", pk, forward=forward, start=beyond, prefix="agent#"))


def page_of_block(block_id: str, request: PageRequest) -> list[str]:
    """The ids of one page of the agents that carry a block."""

    def scan(*, forward: bool, start: str | int | None) -> Iterator[str]:
        return carrying(block_id, forward=forward, start=None if start is None else str(start))

    return take(request, scan, _created_place, str)
