"""The one way to call a model: provider by handle, retries inside, never an empty answer."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from agentkeep.models import anthropic_provider, directory, openai_provider, retries
from agentkeep.models.answers import not_empty
from agentkeep.models.endpoints import Endpoint, Shape
from agentkeep.models.errors import ModelAuthenticationError, UnknownModelError
from agentkeep.models.interface import ModelAnswer, ModelRequest

Call = Callable[[ModelRequest, float], ModelAnswer]
_DEMO: Final = "demo"


def _demo(request: ModelRequest, seconds: float) -> ModelAnswer:
    from agentkeep.models import demo  # its patterns take 30 ms to compile

    return demo.call(request, seconds)


_SHAPES: Final[Mapping[Shape, Callable[[ModelRequest, Endpoint, float], ModelAnswer]]] = {
    "openai": openai_provider.call,
    "anthropic": anthropic_provider.call,
}
_LOADERS: Final[Mapping[str, Callable[[], None]]] = {
    "openai": openai_provider.load,
    "anthropic": anthropic_provider.load,
}
_NO_KEY: Final[Mapping[str, str]] = {
    "openai": "There is no key for OpenAI: set OPENAI_API_KEY, or OPENAI_BASE_URL for another server.",
    "anthropic": "There is no key for Anthropic: set ANTHROPIC_API_KEY.",
}
_logger = logging.getLogger(__name__)


def complete(request: ModelRequest) -> ModelAnswer:
    """What the model answers to this request.

    Tries again what may succeed later, within `timeout_seconds`. Raises UnknownModelError for a handle of no provider,
    RefusedAddressError for a tenant's provider at an address that is not public, ModelError for everything that went
    wrong at or with the provider.
    """
    call = _call(request)
    return retries.with_retries(lambda seconds: not_empty(call(request, seconds), request), request.timeout_seconds)


def _call(request: ModelRequest) -> Call:
    if request.model and request.provider == _DEMO:
        return _demo
    endpoint = directory.named(request.provider, request.environment) if request.model else None
    if endpoint is not None:
        found, shape = endpoint, _SHAPES[endpoint.shape]
        return lambda request, seconds: shape(request, found, seconds)
    if request.model and request.provider in _NO_KEY:
        raise ModelAuthenticationError(_NO_KEY[request.provider])
    raise UnknownModelError(request.handle, [f"{name}/..." for name in (*_SHAPES, _DEMO, *_own_names())])


def _own_names() -> list[str]:
    return [endpoint.provider for endpoint in directory.of_tenant()]


def warm(handles: Iterable[str]) -> threading.Thread:
    """Import the SDKs that these handles need in a thread, and return it. For servers only: in a Lambda function no
    work outlives an invocation."""
    loaders = [_LOADERS[name] for name in sorted({handle.partition("/")[0] for handle in handles}) if name in _LOADERS]
    thread = threading.Thread(target=_load, args=(loaders,), name="warm-models", daemon=True)
    thread.start()
    return thread


def _load(loaders: Iterable[Callable[[], None]]) -> None:
    for load in loaders:
        load()
    _logger.debug("model SDKs are loaded")
