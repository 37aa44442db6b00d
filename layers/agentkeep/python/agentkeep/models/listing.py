"""The models that can be called here for the tenant at work, as their providers list them."""

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Final

from agentkeep.models import catalog, directory, openai_provider
from agentkeep.models.endpoints import Category, Endpoint
from agentkeep.models.environment import Environment, current_environment
from agentkeep.models.errors import ModelError, UnknownModelError
from agentkeep.models.interface import EmbeddingInfo, ModelInfo
from agentkeep.models.lists import ModelLists
from agentkeep.store.entities import ProviderModel

_ASKED_AT_ONCE: Final = 8
_CATEGORIES: Final[tuple[Category, ...]] = ("base", "byok")
_logger = logging.getLogger(__name__)
_lists = ModelLists()

DEMO: Final = ModelInfo(
    handle="demo/memory",
    name="memory",
    provider_type="demo",
    provider_name="demo",
    endpoint="builtin",
    endpoint_type="openai",
    context_window=catalog.limits("demo/memory").context_window,
    max_output_tokens=catalog.limits("demo/memory").max_output_tokens,
    reasoning=False,
    display_name="memory (built in, rule-based)",
)


@dataclass(frozen=True)
class Listed:
    """A provider with the models it lists; None when it could not be asked."""

    endpoint: Endpoint
    models: Sequence[ProviderModel] | None


def list_models(categories: Iterable[Category] = _CATEGORIES) -> list[ModelInfo]:
    """Every model that can be called here: the deployment's providers first, then the tenant's, the builtin one last.

    A provider that is down or refuses its key is represented by what it listed before, one of the deployment's by the
    well-known models of the catalog.
    """
    infos = [info for listed in _asked(_endpoints(categories)) for info in _models(listed)]
    return [*infos, DEMO] if "base" in categories else infos


def list_embedding_models() -> list[EmbeddingInfo]:
    """The embedding models that providers list and whose dimension is known."""
    return [info for listed in _asked(_endpoints(_CATEGORIES)) for info in _embeddings(listed)]


def find_model(handle: str) -> ModelInfo:
    """The model with this handle. Asks only its provider.

    Raises UnknownModelError when the provider is not set up here, or lists its models without this one. A model of a
    provider that cannot be asked just now is taken at its word.
    """
    if handle == DEMO.handle:
        return DEMO
    prefix, _, name = handle.partition("/")
    endpoint = directory.named(prefix, _environment()) if name else None
    if endpoint is None:
        raise UnknownModelError(handle, [info.handle for info in list_models()])
    listed = Listed(endpoint, _lists.models(endpoint))
    found = next((info for info in _models(listed) if info.handle == handle), None)
    if found is None and listed.models is not None:
        raise UnknownModelError(handle, [info.handle for info in list_models()])
    return found or _info(endpoint, ProviderModel(id=name))


def known_model(endpoint: Endpoint, name: str) -> ModelInfo:
    """A model of a tenant's provider by what that listed before, without asking it."""
    return _info(endpoint, next((model for model in endpoint.known if model.id == name), ProviderModel(id=name)))


def forget_models() -> None:
    """Ask every provider anew at the next listing, after its keys or address changed."""
    _lists.forget()


def _environment() -> Environment:
    try:
        return current_environment()
    except ModelError as error:
        _logger.warning("no provider keys: %s", error.message)
        return Environment()


def _endpoints(categories: Iterable[Category]) -> list[Endpoint]:
    base = directory.of_deployment(_environment()) if "base" in categories else []
    return base + (directory.of_tenant() if "byok" in categories else [])


def _asked(endpoints: Sequence[Endpoint]) -> list[Listed]:
    """The providers with their lists, asked side by side: some may be down, and each of those is waited for."""
    if len(endpoints) < 2:
        return [Listed(endpoint, _lists.models(endpoint)) for endpoint in endpoints]
    with ThreadPoolExecutor(min(_ASKED_AT_ONCE, len(endpoints)), "model-lists") as threads:
        asked = [threads.submit(copy_context().run, _lists.models, endpoint) for endpoint in endpoints]
        return [Listed(endpoint, answer.result()) for endpoint, answer in zip(endpoints, asked, strict=True)]


def _models(listed: Listed) -> list[ModelInfo]:
    models = _known(listed.endpoint) if listed.models is None else listed.models
    return [_info(listed.endpoint, model) for model in models if catalog.chats(model.id)]


def _known(endpoint: Endpoint) -> Sequence[ProviderModel]:
    if endpoint.own:
        return endpoint.known
    return [ProviderModel(id=name) for name in catalog.WELL_KNOWN[endpoint.provider]]


def _info(endpoint: Endpoint, model: ProviderModel) -> ModelInfo:
    known = catalog.limits(f"{endpoint.shape}/{model.id}")
    return ModelInfo(
        handle=f"{endpoint.provider}/{model.id}",
        name=model.id,
        provider_type=endpoint.provider_type,
        provider_name=endpoint.provider,
        endpoint=endpoint.base_url,
        endpoint_type=endpoint.shape,
        context_window=model.context_window or known.context_window,
        max_output_tokens=model.max_output_tokens or known.max_output_tokens,
        reasoning=catalog.openai_reasons(model.id) if endpoint.shape == "openai" else catalog.claude(model.id).thinks,
        display_name=model.display_name or model.id,
        provider_category=endpoint.category,
    )


def _embeddings(listed: Listed) -> list[EmbeddingInfo]:
    endpoint = listed.endpoint
    names = [model.id for model in (endpoint.known if listed.models is None else listed.models)]
    if listed.models is None and endpoint.base_url == openai_provider.DEFAULT_ADDRESS and not endpoint.own:
        names = [name for name in catalog.EMBEDDING_DIMENSIONS if name.startswith("text-embedding")]
    return [
        EmbeddingInfo(
            handle=f"{endpoint.provider}/{name}",
            name=name,
            provider_type=endpoint.provider_type,
            provider_name=endpoint.provider,
            endpoint=endpoint.base_url,
            dimension=dimension,
            provider_category=endpoint.category,
        )
        for name in names
        if (dimension := catalog.embedding_dimension(name)) is not None
    ]
