"""The model list of a provider, read by plain HTTP without any SDK, and remembered for a minute."""

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from agentkeep.errors import AgentKeepError
from agentkeep.models import failures, provider_types
from agentkeep.models.endpoints import Endpoint
from agentkeep.models.errors import ModelError
from agentkeep.store.entities import ProviderModel

if TYPE_CHECKING:
    import urllib3

REMEMBERED_SECONDS: Final = 60.0
REMEMBERED_FAILURE_SECONDS: Final = 10.0
MOST_MODELS: Final = 2_000
_MOST_BYTES: Final = 8 * 1024 * 1024
_MOST_SECONDS: Final = 10.0
_KEPT: Final = 1_000
_CONNECT_SECONDS: Final = 2.0
_READ_SECONDS: Final = 5.0
_WINDOW_NAMES: Final = (
    "max_input_tokens", "context_length", "max_model_len", "context_window", "max_context_length",
)  # fmt: skip
_OUTPUT_NAMES: Final = ("max_tokens", "max_output_tokens", "max_completion_tokens")
_LONGEST_NAME: Final = 256
_logger = logging.getLogger(__name__)

Models = tuple[ProviderModel, ...]


def check_key(endpoint: Endpoint) -> None:
    """Asks the provider something that it answers only to a good key. Raises ModelError or RefusedAddressError."""
    _ask(endpoint, provider_types.of(endpoint.provider_type).key_path)


def read(endpoint: Endpoint) -> Models:
    """The models that the provider lists, the newest first where it tells. Raises ModelError, RefusedAddressError."""
    document = _ask(endpoint, "v1/models?limit=1000" if endpoint.shape == "anthropic" else "models")
    entries = document.get("data") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise failures.unreadable(endpoint.provider, "no list of models")
    named = [entry for entry in entries if isinstance(entry, dict) and _is_name(entry.get("id"))]
    models = [_model(endpoint, entry) for entry in named[:MOST_MODELS]]
    return tuple(sorted(models, key=lambda model: model.created, reverse=True))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME


def _model(endpoint: Endpoint, entry: Mapping[str, Any]) -> ProviderModel:
    created, shown = entry.get("created"), entry.get("display_name")
    return ProviderModel(
        # Google lists resource names, such as models/gemini-2.5-pro, and takes plain ones.
        id=entry["id"].removeprefix("models/") if endpoint.provider_type == "google_ai" else entry["id"],
        display_name=shown if _is_name(shown) else None,
        context_window=_stated(entry, _WINDOW_NAMES),
        max_output_tokens=_stated(entry, _OUTPUT_NAMES),
        created=created if isinstance(created, int | float) else 0,
    )


def _stated(entry: Mapping[str, Any], names: Sequence[str]) -> int | None:
    values = (entry.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and 0 < value < 10**12), None)


@cache
def _pool(own: bool) -> "urllib3.PoolManager":
    import urllib3

    from agentkeep.egress.pools import checked_pool

    timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
    make = checked_pool if own else urllib3.PoolManager
    return make(num_pools=32 if own else 4, retries=False, timeout=timeout)


def _ask(endpoint: Endpoint, path: str) -> Any:
    import urllib3  # 20 ms, which functions that list no models need not wait for

    url = f"{endpoint.base_url.rstrip('/')}/{path}"
    try:
        response = _pool(endpoint.own).request("GET", url, headers=_headers(endpoint), preload_content=False)
        try:
            body = _body(response)
        finally:
            response.close()
    except urllib3.exceptions.NewConnectionError as error:  # of the kind of time-outs in urllib3
        raise failures.unreachable(endpoint.provider, "no connection") from error
    except urllib3.exceptions.TimeoutError as error:
        raise failures.timed_out(endpoint.provider, _MOST_SECONDS) from error
    except urllib3.exceptions.HTTPError as error:
        raise failures.unreachable(endpoint.provider, type(error).__name__) from error
    return _document(endpoint, response, body)


def _headers(endpoint: Endpoint) -> dict[str, str]:
    key = endpoint.api_key
    if endpoint.shape == "anthropic":
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return {"Authorization": f"Bearer {key}"}


def _body(response: "urllib3.BaseHTTPResponse") -> bytes:
    """The body, unless it is endless or trickles in."""
    import urllib3

    deadline = time.monotonic() + _MOST_SECONDS
    body = bytearray()
    while chunk := response.read1(65_536):
        body += chunk
        if len(body) > _MOST_BYTES or time.monotonic() > deadline:
            raise urllib3.exceptions.ResponseError("a model list without end")
    return bytes(body)


def _document(endpoint: Endpoint, response: "urllib3.BaseHTTPResponse", body: bytes) -> Any:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if 300 <= response.status < 400:
        raise failures.unreadable(endpoint.provider, "it redirects; set base_url to the address it redirects to")
    if response.status != 200:
        raise failures.from_response(endpoint.provider, response.status, document, response.headers)
    if document is None:
        raise failures.unreadable(endpoint.provider, "not JSON")
    return document


class ModelLists:
    """Model lists by the identity of their provider, remembered for a minute; a failure for some seconds, so that it
    is not waited for again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, Models | None]] = {}

    def models(self, endpoint: Endpoint) -> Models | None:
        """What the provider lists; None when it could not be asked."""
        with self._lock:
            kept = self._kept.get(endpoint.identity)
        if kept and time.monotonic() < kept[0]:
            return kept[1]
        models = _read_or_none(endpoint)
        remembered = REMEMBERED_FAILURE_SECONDS if models is None else REMEMBERED_SECONDS
        with self._lock:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[endpoint.identity] = (time.monotonic() + remembered, models)
        return models

    def forget(self) -> None:
        """Ask every provider anew."""
        with self._lock:
            self._kept.clear()


def _read_or_none(endpoint: Endpoint) -> Models | None:
    try:
        return read(endpoint)
    except AgentKeepError as error:
        status = error.status if isinstance(error, ModelError) else error.code
        _logger.warning("the model list of %s could not be read (status %s)", endpoint.provider, status)
        return None
