"""One request through a provider's SDK: the JSON it answered, or one of our errors.

The SDKs of OpenAI and Anthropic are built alike, so one module serves both. They take a second or more to import,
which is why they are imported where a model is called and nowhere else.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, Final

from agentkeep.egress.addresses import RefusedAddressError
from agentkeep.models import failures

Document = dict[str, Any]
_MOST_BYTES: Final = 64 * 1024 * 1024


def ask(
    sdk: ModuleType, provider: str, send: Callable[[], AbstractContextManager[Any]], seconds: float
) -> tuple[Document, str | None]:
    """The decoded answer and the provider's request id.

    `send` opens the SDK's streaming response, so that the time is bounded even when bytes trickle in.
    Raises a ModelError for every refusal, time-out, broken connection and unreadable answer, RefusedAddressError where
    the client does not connect to the address.
    """
    import httpx2  # the transport of both SDKs, loaded with them

    deadline = time.monotonic() + seconds
    try:
        with send() as response:
            body = _read(provider, response.iter_bytes(), deadline, seconds)
            return _decode(provider, body), _request_id(response.headers)
    except sdk.APIStatusError as error:
        raise failures.from_response(provider, error.status_code, error.body, error.response.headers) from error
    except (sdk.APITimeoutError, httpx2.TimeoutException) as error:
        raise failures.timed_out(provider, seconds) from error
    except (sdk.APIConnectionError, httpx2.HTTPError) as error:
        if isinstance(error.__cause__, RefusedAddressError):
            raise error.__cause__ from None
        raise failures.unreachable(provider, str(error.__cause__ or error)) from error


def _read(provider: str, chunks: Iterable[bytes], deadline: float, seconds: float) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if time.monotonic() > deadline:
            raise failures.timed_out(provider, seconds)
        if len(body) > _MOST_BYTES:
            raise failures.unreadable(provider, f"more than {_MOST_BYTES} bytes")
    return bytes(body)


def _decode(provider: str, body: bytes) -> Document:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise failures.unreadable(provider, f"not JSON: {type(error).__name__}") from error
    if not isinstance(document, dict):
        raise failures.unreadable(provider, "not a JSON object")
    return document


def _request_id(headers: Mapping[str, str]) -> str | None:
    return headers.get("request-id") or headers.get("x-request-id")
