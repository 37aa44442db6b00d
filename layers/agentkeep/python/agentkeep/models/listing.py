"""The models that can be called here, as their providers list them: plain HTTPS, no SDK, remembered for a minute."""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from agentkeep.models import anthropic_provider, catalog, openai_provider
from agentkeep.models.environment import Environment, current_environment
from agentkeep.models.errors import ModelError, UnknownModelError
from agentkeep.models.interface import EmbeddingInfo, ModelInfo

if TYPE_CHECKING:
    import urllib3

REMEMBERED_SECONDS: Final = 60.0
REMEMBERED_FAILURE_SECONDS: Final = 10.0
_CONNECT_SECONDS: Final = 2.0
_READ_SECONDS: Final = 5.0
_WINDOW_NAMES: Final = ("max_input_tokens", "context_length", "max_model_len", "context_window")
_OUTPUT_NAMES: Final = ("max_tokens", "max_output_tokens", "max_completion_tokens")
_logger = logging.getLogger(__name__)

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
    """A provider as it is set up here, with the entries of its model list; None when it could not be read."""

    provider: Literal["openai", "anthropic"]
    endpoint: str
    entries: tuple[dict[str, Any], ...] | None


def list_models() -> list[ModelInfo]:
    """Every model that can be called here, the providers' first, the builtin one last.

    A provider that is down or refuses its key is represented by the well-known models of the catalog.
    """
    return [*_all_models(_providers()), DEMO]


def list_embedding_models() -> list[EmbeddingInfo]:
    """The embedding models that providers list and whose dimension is known."""
    return [info for listed in _providers() for info in _embeddings(listed)]


def find_model(handle: str) -> ModelInfo:
    """The model with this handle. Asks only its provider.

    Raises UnknownModelError when the provider is not set up here, or lists its models without this one. A model of a
    provider that cannot be asked just now is taken at its word.
    """
    prefix, _, name = handle.partition("/")
    listed = _providers(prefix)
    found = next((info for info in [*_all_models(listed), DEMO] if info.handle == handle), None)
    if found:
        return found
    if not name or not listed or listed[0].entries is not None:
        raise UnknownModelError(handle, [info.handle for info in list_models()])
    return _info(listed[0], {"id": name})


def forget_models() -> None:
    """Ask every provider anew at the next listing, after its keys or address changed."""
    _lists.forget()


def _providers(only: str | None = None) -> list[Listed]:
    """The providers that are set up here with their lists, or only the one of this name."""
    try:
        environment = current_environment()
    except ModelError as error:
        _logger.warning("no provider keys: %s", error.message)
        return []
    asked = (list_of(environment) for name, list_of in _LISTS.items() if only in (None, name))
    return [listed for listed in asked if listed is not None]


def _all_models(providers: Sequence[Listed]) -> list[ModelInfo]:
    return [info for listed in providers for info in _models(listed)]


def _openai(environment: Environment) -> Listed | None:
    endpoint = openai_provider.address(environment)
    if endpoint is None:
        return None
    key = openai_provider.api_key(environment)
    headers = {"Authorization": f"Bearer {key}"}
    entries = _lists.entries("openai", f"{endpoint.rstrip('/')}/models", headers)
    return Listed("openai", endpoint, entries and tuple(sorted(entries, key=_created, reverse=True)))


def _anthropic(environment: Environment) -> Listed | None:
    endpoint = anthropic_provider.address(environment)
    if endpoint is None:
        return None
    headers = {"x-api-key": anthropic_provider.api_key(environment), "anthropic-version": "2023-06-01"}
    entries = _lists.entries("anthropic", f"{endpoint.rstrip('/')}/v1/models?limit=1000", headers)
    return Listed("anthropic", endpoint, entries)


_LISTS: Final[Mapping[str, Callable[[Environment], Listed | None]]] = {"openai": _openai, "anthropic": _anthropic}


def _created(entry: dict[str, Any]) -> float:
    created = entry.get("created")
    return created if isinstance(created, int | float) else 0


def _models(listed: Listed) -> list[ModelInfo]:
    entries: Sequence[dict[str, Any]]
    if listed.entries is None:
        entries = [{"id": name} for name in catalog.WELL_KNOWN[listed.provider]]
    else:
        entries = listed.entries
    return [_info(listed, entry) for entry in entries if catalog.chats(entry["id"])]


def _info(listed: Listed, entry: dict[str, Any]) -> ModelInfo:
    name = entry["id"]
    handle = f"{listed.provider}/{name}"
    known = catalog.limits(handle)
    reasons = catalog.openai_reasons(name) if listed.provider == "openai" else catalog.claude(name).thinks
    return ModelInfo(
        handle=handle,
        name=name,
        provider_type=listed.provider,
        provider_name=listed.provider,
        endpoint=listed.endpoint,
        endpoint_type=listed.provider,
        context_window=_stated(entry, _WINDOW_NAMES) or known.context_window,
        max_output_tokens=_stated(entry, _OUTPUT_NAMES) or known.max_output_tokens,
        reasoning=reasons,
        display_name=str(entry.get("display_name") or name),
    )


def _stated(entry: dict[str, Any], names: Sequence[str]) -> int | None:
    values = (entry.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def _embeddings(listed: Listed) -> list[EmbeddingInfo]:
    names = [entry["id"] for entry in listed.entries or ()]
    if listed.entries is None and listed.endpoint == openai_provider.DEFAULT_ADDRESS:
        names = [name for name in catalog.EMBEDDING_DIMENSIONS if name.startswith("text-embedding")]
    return [
        EmbeddingInfo(f"{listed.provider}/{name}", name, listed.provider, listed.provider, listed.endpoint, dimension)
        for name in names
        if (dimension := catalog.embedding_dimension(name)) is not None
    ]


class _Lists:
    """Model lists by address and key, remembered for a minute; a failure for some seconds, so that it is not waited
    for again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], tuple[float, tuple[dict[str, Any], ...] | None]] = {}

    def entries(self, provider: str, url: str, headers: dict[str, str]) -> tuple[dict[str, Any], ...] | None:
        key = (url, hashlib.sha256(repr(sorted(headers.items())).encode()).hexdigest())
        with self._lock:
            kept = self._kept.get(key)
        if kept and time.monotonic() < kept[0]:
            return kept[1]
        entries = _read(provider, url, headers)
        remembered = REMEMBERED_FAILURE_SECONDS if entries is None else REMEMBERED_SECONDS
        with self._lock:
            self._kept[key] = (time.monotonic() + remembered, entries)
        return entries

    def forget(self) -> None:
        """Ask every provider anew."""
        with self._lock:
            self._kept.clear()


@cache
def _pool() -> "urllib3.PoolManager":
    import urllib3

    timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
    return urllib3.PoolManager(num_pools=4, retries=False, timeout=timeout)


def _read(provider: str, url: str, headers: dict[str, str]) -> tuple[dict[str, Any], ...] | None:
    import urllib3  # 20 ms, which functions that list no models need not wait for

    try:
        response = _pool().request("GET", url, headers=headers)
        document = response.json()
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        _logger.warning("the model list of %s could not be read (%s)", provider, type(error).__name__)
        return None
    entries = document.get("data") if isinstance(document, dict) else None
    if response.status != 200 or not isinstance(entries, list):
        _logger.warning("the model list of %s could not be read (status %d)", provider, response.status)
        return None
    return tuple(entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str))


_lists = _Lists()
