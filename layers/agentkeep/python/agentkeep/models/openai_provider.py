"""Calls of OpenAI-shaped models through the openai SDK: the deployment's own, and those of tenants."""

import hashlib
from typing import TYPE_CHECKING, Final

from agentkeep.models import openai_answer, openai_request, sdk
from agentkeep.models.endpoints import NO_KEY, Endpoint
from agentkeep.models.environment import Environment
from agentkeep.models.interface import ModelAnswer, ModelRequest
from agentkeep.models.sdk_clients import ClientCache

if TYPE_CHECKING:
    import httpx2
    from openai import OpenAI

PROVIDER: Final = "openai"
DEFAULT_ADDRESS: Final = "https://api.openai.com/v1"


def endpoint(environment: Environment) -> Endpoint | None:
    """The deployment's own endpoint, or None when neither a key nor an address is set.

    A server at an own address may need no key.
    """
    key, given = environment.get("OPENAI_API_KEY"), environment.get("OPENAI_BASE_URL")
    if key is None and given is None:
        return None
    address = given or DEFAULT_ADDRESS
    identity = hashlib.sha256(f"{PROVIDER} {address} {key}".encode()).hexdigest()
    return Endpoint(PROVIDER, PROVIDER, "openai", address, identity, lambda: key or NO_KEY)


def call(request: ModelRequest, endpoint: Endpoint, seconds: float) -> ModelAnswer:
    """One attempt, within `seconds`. Raises ModelError, or RefusedAddressError for an address of a tenant."""
    import openai

    client = _clients.get(endpoint)
    body = openai_request.build(request)
    create = client.chat.completions.with_streaming_response.create
    # As `extra_body` it is sent as it is; the SDK's walk over typed messages takes 0.15 ms for each of them.
    document, request_id = sdk.ask(
        openai,
        endpoint.provider,
        lambda: create(model=request.model, messages=[], extra_body=body, timeout=seconds),
        seconds,
    )
    return openai_answer.read(document, request, request_id)


def load() -> None:
    """Import the SDK and what its first client and call would: one to two seconds that the first turn need not wait."""
    with _client(NO_KEY, DEFAULT_ADDRESS, None) as client:
        _ = client.chat.completions.with_streaming_response


def _client(key: str, base_url: str, http_client: "httpx2.Client | None" = None) -> "OpenAI":
    from openai import OpenAI

    return OpenAI(api_key=key, base_url=base_url, max_retries=0, http_client=http_client)


_clients: ClientCache["OpenAI"] = ClientCache(_client)
