"""The one way to call a model: provider by handle, retries inside, never an empty answer."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from agentkeep.models import anthropic_provider, openai_provider, retries
from agentkeep.models.answers import not_empty
from agentkeep.models.errors import UnknownModelError
from agentkeep.models.interface import ModelAnswer, ModelRequest

Call = Callable[[ModelRequest, float], ModelAnswer]


def _demo(request: ModelRequest, seconds: float) -> ModelAnswer:
    from agentkeep.models import demo  # its patterns take 30 ms to compile

    return demo.call(request, seconds)


_CALLS: Final[Mapping[str, Call]] = {
    "openai": openai_provider.call,
    "anthropic": anthropic_provider.call,
    "demo": _demo,
}
_LOADERS: Final[Mapping[str, Callable[[], None]]] = {
    "openai": openai_provider.load,
    "anthropic": anthropic_provider.load,
}
_logger = logging.getLogger(__name__)


def complete(request: ModelRequest) -> ModelAnswer:
    """What the model answers to this request.

    Tries again what may succeed later, within `timeout_seconds`. Raises UnknownModelError for a handle of no provider,
    ModelError for everything that went wrong at or with the provider.
    """
    provider = request.handle.partition("/")[0]
    if provider not in _CALLS or not request.model:
        raise UnknownModelError(request.handle, [f"{name}/..." for name in _CALLS])
    call = _CALLS[provider]
    return retries.with_retries(lambda seconds: not_empty(call(request, seconds), request), request.timeout_seconds)


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
