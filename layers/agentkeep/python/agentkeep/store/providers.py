"""Providers of a tenant in DynamoDB: the provider's item, its name, its list item.

Item shapes (entities table):
- `provider#{id}` / `state`: the provider, its key sealed; `version` counts writes and guards them
- `provider#{id}` / `models`: what it listed when it was last asked
- `provider-name#{digest}` / `state`: the id of the provider with this name
- `provider-list` / id: list item with facets
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from agentkeep.errors import NotFoundError
from agentkeep.store import database, keys, listing
from agentkeep.store.bodies import pack, unpack
from agentkeep.store.content import Record
from agentkeep.store.database import Item, TableName, Write
from agentkeep.store.entities import Provider, ProviderModel, ProviderModels
from agentkeep.store.keys import Key
from agentkeep.store.listing import Entry, Place
from agentkeep.store.pages import PageRequest, Scan, chunks, take


class ProviderFacets(Record):
    """What the list of providers filters by."""

    name: str
    provider_type: str


def get(provider_id: str) -> Provider:
    """The provider. Raises NotFoundError when it does not exist or was deleted."""
    item = database.get("entities", keys.entity("provider", provider_id))
    if item is None or item.get("deleted"):
        raise NotFoundError("Provider", provider_id)
    return unpack(item, Provider)


def named(name: str) -> Provider | None:
    """The provider with this name, if there is one."""
    found = database.get("entities", keys.provider_name(name))
    if found is None:
        return None
    return _get_many([found["id"]]).get(found["id"])


def models(provider_id: str) -> list[ProviderModel]:
    """The models that the provider listed when it was last asked."""
    item = database.get("entities", keys.provider_models(provider_id))
    return unpack(item, ProviderModels).models if item else []


def create_writes(provider: Provider, models: Sequence[ProviderModel]) -> Iterator[Write]:
    """The writes that make a provider. Its name must be free: that is the condition of the first of them."""
    yield database.put("entities", keys.provider_name(provider.name), {"id": provider.id}, "attribute_not_exists(pk)")
    yield database.put("entities", keys.entity("provider", provider.id), _item(provider), "attribute_not_exists(pk)")
    yield _put_models(provider.id, models)
    yield from listing.changes(provider.id, {}, _places(provider))


def update_writes(old: Provider, new: Provider, models: Sequence[ProviderModel] | None) -> Iterator[Write]:
    """The writes of one change, conditional on the version read. Name and type stay, and so do models that are None."""
    yield _replace(old, _item(new))
    if models is not None:
        yield _put_models(new.id, models)


def delete_writes(provider: Provider) -> Iterator[Write]:
    """The writes that leave a tombstone without the key, and set the name free."""
    bare = provider.model_copy(update={"sealed_key": None})
    yield _replace(provider, _item(bare) | {"deleted": True})
    yield database.delete("entities", keys.provider_name(provider.name))
    yield database.delete("entities", keys.provider_models(provider.id))
    yield from listing.changes(provider.id, _places(provider), {})


def _replace(old: Provider, item: Item) -> Write:
    condition = "version = :version AND attribute_not_exists(deleted)"
    return database.put("entities", keys.entity("provider", old.id), item, condition, version=old.version)


def _put_models(provider_id: str, models: Sequence[ProviderModel]) -> Write:
    return database.put("entities", keys.provider_models(provider_id), pack(ProviderModels(models=list(models))))


def _item(provider: Provider) -> Item:
    return {"version": provider.version, **pack(provider)}


def _places(provider: Provider) -> Mapping[Place, ProviderFacets]:
    return {_list(): ProviderFacets(name=provider.name, provider_type=provider.provider_type)}


def _list() -> Place:
    return Place(listing.list_partition("provider"))


def page(request: PageRequest, name: str | None = None, provider_type: str | None = None) -> list[Provider]:
    """One page of providers by creation. Filters read on until the page is full or the list ends."""
    entries = listing.scan(_list(), ProviderFacets, request.limit)

    def fits(entry: Entry[ProviderFacets]) -> bool:
        return name in (None, entry.facets.name) and provider_type in (None, entry.facets.provider_type)

    def read(*, forward: bool, start: str | int | None) -> Iterator[Provider]:
        for chunk in chunks(filter(fits, entries(forward=forward, start=start)), request.limit):
            yield from _get_many(entry.id for entry in chunk).values()

    scan: Scan[Provider] = read
    return take(request, scan, _place, lambda provider: provider.id)


def count() -> int:
    """How many providers the tenant has."""
    return database.count("entities", listing.list_partition("provider"))


def _get_many(provider_ids: Iterable[str]) -> dict[str, Provider]:
    wanted: dict[str, tuple[TableName, Key]] = {
        provider_id: ("entities", keys.entity("provider", provider_id)) for provider_id in provider_ids
    }
    found = database.batch_get(wanted.values())
    there = {provider_id: found[place] for provider_id, place in wanted.items() if place in found}
    return {provider_id: unpack(item, Provider) for provider_id, item in there.items() if not item.get("deleted")}


def _place(cursor: str) -> str:
    """Where a provider stands in the list, also a deleted one. Raises NotFoundError for one never seen."""
    if database.get("entities", keys.entity("provider", cursor)) is None:
        raise NotFoundError("Provider", cursor)
    return cursor
