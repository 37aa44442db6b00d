"""Which providers can be called for the tenant at work: the deployment's, set up by environment, and the tenant's own.

A provider is looked up whenever one of its models is used, so what was changed counts from the next call on.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final

from agentkeep.models import anthropic_provider, openai_provider, provider_types
from agentkeep.models.endpoints import NO_KEY, Endpoint
from agentkeep.models.environment import Environment
from agentkeep.store import providers as provider_store
from agentkeep.store.entities import RESERVED_PROVIDERS, Provider
from agentkeep.store.pages import PageRequest
from agentkeep.tenancy.context import current_tenant
from agentkeep.tenancy.secrets import unseal

MOST_PROVIDERS: Final = 100
"""Of one tenant: all of them are asked when models are listed."""
DEPLOYMENT: Final[Mapping[str, Callable[[Environment], Endpoint | None]]] = {
    "openai": openai_provider.endpoint,
    "anthropic": anthropic_provider.endpoint,
}


def is_own(handle: str) -> bool:
    """Whether a handle names a model of a tenant's own provider."""
    return handle.partition("/")[0] not in RESERVED_PROVIDERS


def named(name: str, environment: Environment) -> Endpoint | None:
    """The provider of this name, if it is set up here for the tenant at work."""
    if name in RESERVED_PROVIDERS:
        return DEPLOYMENT[name](environment) if name in DEPLOYMENT else None
    provider = provider_store.named(name) if name and _has_tenant() else None
    return endpoint(provider) if provider else None


def of_deployment(environment: Environment) -> list[Endpoint]:
    """The providers that the environment sets up."""
    found = (setup(environment) for setup in DEPLOYMENT.values())
    return [each for each in found if each is not None]


def of_tenant() -> list[Endpoint]:
    """The tenant's own providers, oldest first; none where no tenant is at work."""
    if not _has_tenant():
        return []
    return [endpoint(provider) for provider in provider_store.page(PageRequest(MOST_PROVIDERS, descending=False))]


def endpoint(provider: Provider) -> Endpoint:
    """Where a tenant's provider is called, with the key that it keeps."""
    return with_key(provider, partial(_opened, provider.sealed_key))


def with_key(provider: Provider, open_key: Callable[[], str]) -> Endpoint:
    """Where a tenant's provider is called with another key, such as one that is not stored yet."""
    kind = provider_types.of(provider.provider_type)
    return Endpoint(
        provider=provider.name,
        provider_type=provider.provider_type,
        shape=kind.shape,
        base_url=kind.address(provider.base_url),
        identity=f"{provider.id} version {provider.version}",
        open_key=open_key,
        own=True,
        open_known=cache(partial(provider_store.models, provider.id)),
    )


def _opened(sealed: str | None) -> str:
    return unseal(sealed) if sealed else NO_KEY


def _has_tenant() -> bool:
    return current_tenant.get(None) is not None
