"""Calls of Anthropic-shaped models through the anthropic SDK: the deployment's own, and those of tenants."""

import hashlib
from typing import TYPE_CHECKING, Final

from agentkeep.models import anthropic_answer, anthropic_request, sdk
from agentkeep.models.endpoints import NO_KEY, Endpoint
from agentkeep.models.environment import Environment
from agentkeep.models.interface import ModelAnswer, ModelRequest
from agentkeep.models.sdk_clients import ClientCache

if TYPE_CHECKING:
    import httpx2
    from anthropic import Anthropic

PROVIDER: Final = "anthropic"
DEFAULT_ADDRESS: Final = "https://api.anthropic.com"


def endpoint(environment: Environment) -> Endpoint | None:
    """The deployment's own endpoint, or None when neither a key nor an address is set.

    A server at an own address may need no key.
    """
    key, given = environment.get("ANTHROPIC_API_KEY"), environment.get("ANTHROPIC_BASE_URL")
    if key is None and given is None:
        return None
    address = given or DEFAULT_ADDRESS
    identity = hashlib.sha256(f"{PROVIDER} {address} {key}".encode()).hexdigest()
    return Endpoint(PROVIDER, PROVIDER, "anthropic", address, identity, lambda: key or NO_KEY)


def call(request: ModelRequest, endpoint: Endpoint, seconds: float) -> ModelAnswer:
    """One attempt, within `seconds`. Raises ModelError, or RefusedAddressError for an address of a tenant."""
    import anthropic

    client = _clients.get(endpoint)
    built = anthropic_request.build(request)
    messages = client.messages.with_streaming_response
    document, request_id = sdk.ask(
        anthropic,
        endpoint.provider,
        lambda: messages.create(**built.body, extra_headers=built.headers, timeout=seconds),
        seconds,
    )
    return anthropic_answer.read(document, request, request_id)


def load() -> None:
    """Import the SDK and what its first client and call would: some seconds that the first turn need not wait."""
    with _client(NO_KEY, DEFAULT_ADDRESS, None) as client:
        _ = client.messages.with_streaming_response


def _client(key: str, base_url: str, http_client: "httpx2.Client | None" = None) -> "Anthropic":
    from anthropic import Anthropic

    # The SDK sends the key as a bearer token only; other servers of this shape may still read the older header.
    older = {} if base_url == DEFAULT_ADDRESS else {"x-api-key": key}
    return Anthropic(api_key=key, base_url=base_url, max_retries=0, default_headers=older, http_client=http_client)


_clients: ClientCache["Anthropic"] = ClientCache(_client)
