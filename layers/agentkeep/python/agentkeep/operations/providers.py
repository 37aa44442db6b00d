"""Providers of a tenant: create, read, change, delete, check, and ask for their models."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from agentkeep import clock, ids
from agentkeep.api.requests.providers import CheckProvider, CreateProvider, ListProviders, UpdateProvider
from agentkeep.egress.addresses import usable_url
from agentkeep.errors import ConflictError
from agentkeep.models import ModelError, directory, lists, provider_types
from agentkeep.models.endpoints import NO_KEY, Endpoint
from agentkeep.models.lists import Models
from agentkeep.operations.revising import revise
from agentkeep.store import database
from agentkeep.store import providers as provider_store
from agentkeep.store.database import ConditionFailedError
from agentkeep.store.entities import RESERVED_PROVIDERS, Provider
from agentkeep.tenancy.context import current_caller
from agentkeep.tenancy.secrets import seal

_log: Final = logging.getLogger(__name__)


class ReservedNameError(ConflictError):
    """The name belongs to the deployment."""

    code = "PROVIDER_NAME_RESERVED"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The name '{name}' is the deployment's: models under '{name}/' are its own. Choose another,"
            f" such as 'my-{name.lower()}'."
        )


class NameTakenError(ConflictError):
    """Another provider of the tenant has the name."""

    code = "PROVIDER_NAME_TAKEN"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is a provider named '{name}' already. Update it, or choose another name.")


class TooManyProvidersError(ConflictError):
    """The tenant has as many providers as can be listed at once."""

    code = "TOO_MANY_PROVIDERS"

    def __init__(self) -> None:
        super().__init__(f"A tenant has at most {directory.MOST_PROVIDERS} providers. Delete one first.")


def create(request: CreateProvider) -> Provider:
    """A new provider, with the models it lists now; one that does not answer is kept all the same.

    Raises UnavailableTypeError, UnusableUrlError, RefusedAddressError, ReservedNameError, NameTakenError.
    """
    if request.name.lower() in RESERVED_PROVIDERS:
        raise ReservedNameError(request.name)
    if provider_store.count() >= directory.MOST_PROVIDERS:
        raise TooManyProvidersError
    new = _with_key(_draft(request.name, request.provider_type, request.base_url), request.api_key)
    made, models = _synced(new, directory.with_key(new, _key_of(request.api_key)))
    try:
        database.transact(list(provider_store.create_writes(made, models or ())))
    except ConditionFailedError as error:
        raise NameTakenError(request.name) from error
    return made


def _draft(name: str, provider_type: str, base_url: str | None) -> Provider:
    """A provider that is not stored yet, without its key. Raises UnavailableTypeError, UnusableUrlError."""
    provider_types.of(provider_type)
    now, caller = clock.now(), _caller()
    return Provider(
        id=ids.new("provider"),
        name=name,
        provider_type=provider_type,
        base_url=usable_url(base_url) if base_url else None,
        created_by_id=caller,
        last_updated_by_id=caller,
        created_at=now,
        updated_at=now,
    )


def _with_key(provider: Provider, api_key: str) -> Provider:
    return provider.model_copy(update={"sealed_key": seal(api_key) if api_key else None})


def _key_of(api_key: str) -> Callable[[], str]:
    return lambda: api_key or NO_KEY


def _synced(provider: Provider, endpoint: Endpoint) -> tuple[Provider, Models | None]:
    """The provider with the models it lists now; None when it cannot be asked. Raises RefusedAddressError."""
    try:
        models = lists.read(endpoint)
    except ModelError as error:
        _log.info("the models of %s are not known: %s", provider.id, error.code)
        return provider, None
    return provider.model_copy(update={"last_synced": clock.now()}), models


def retrieve(provider_id: str) -> Provider:
    """The provider. Raises NotFoundError."""
    return provider_store.get(provider_id)


def page(query: ListProviders) -> list[Provider]:
    """One page of providers."""
    return provider_store.page(query.page(), query.name, query.provider_type)


def update(provider_id: str, request: UpdateProvider) -> Provider:
    """The provider with another key or address, and the models it lists with them. Agents use it from their next call.

    Raises UnusableUrlError, RefusedAddressError, NotFoundError.
    """
    given = request.given()
    changes: dict[str, Any] = {}
    if "base_url" in given:
        changes["base_url"] = usable_url(given["base_url"]) if given["base_url"] else None
    if "api_key" in given:
        changes["sealed_key"] = seal(given["api_key"]) if given["api_key"] else None
    return revise(partial(_write, provider_id, **changes))


def _write(provider_id: str, **changes: Any) -> Provider:
    old = provider_store.get(provider_id)
    stamp = {"version": old.version + 1, "updated_at": clock.now(), "last_updated_by_id": _caller()}
    changed = old.model_copy(update=changes | stamp)
    new, models = _synced(changed, directory.endpoint(changed))
    database.transact(list(provider_store.update_writes(old, new, models)))
    return new


def _caller() -> str:
    return current_caller.get().principal


def refresh(provider_id: str) -> Provider:
    """The provider with the models it lists now. Raises ModelError when it cannot be asked, RefusedAddressError."""

    def attempt() -> Provider:
        old = provider_store.get(provider_id)
        models = lists.read(directory.endpoint(old))
        # A new version is a new identity: no process goes on with a list that it remembers.
        new = old.model_copy(update={"version": old.version + 1, "last_synced": clock.now()})
        database.transact(list(provider_store.update_writes(old, new, models)))
        return new

    return revise(attempt)


def delete(provider_id: str) -> None:
    """Deletes a provider. Agents with a model of it stay, and answer again when their model exists again."""
    revise(lambda: database.transact(list(provider_store.delete_writes(provider_store.get(provider_id)))))


def check(request: CheckProvider) -> str:
    """The type of a provider that is not kept, if its key is good. Raises ModelError, and what `create` raises."""
    draft = _draft("check", request.provider_type, request.base_url)
    lists.check_key(directory.with_key(draft, _key_of(request.api_key)))
    return draft.provider_type


def check_existing(provider_id: str) -> str:
    """The type of a provider, if the key it keeps is good. Raises ModelError, RefusedAddressError, NotFoundError."""
    provider = provider_store.get(provider_id)
    lists.check_key(directory.endpoint(provider))
    return provider.provider_type
