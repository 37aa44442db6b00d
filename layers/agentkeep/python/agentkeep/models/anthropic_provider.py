"""Calls of `anthropic/...` models, through the anthropic SDK at `ANTHROPIC_BASE_URL` with `ANTHROPIC_API_KEY`."""

from typing import TYPE_CHECKING, Final

from agentkeep.models import anthropic_answer, anthropic_request, sdk
from agentkeep.models.environment import Environment
from agentkeep.models.errors import ModelAuthenticationError
from agentkeep.models.interface import ModelAnswer, ModelRequest
from agentkeep.models.sdk_clients import ClientCache

if TYPE_CHECKING:
    from anthropic import Anthropic

PROVIDER: Final = "anthropic"
DEFAULT_ADDRESS: Final = "https://api.anthropic.com"
NO_KEY: Final = "no-key"


def address(environment: Environment) -> str | None:
    """The base URL in use, or None when neither a key nor an address is set."""
    given = environment.get("ANTHROPIC_BASE_URL")
    return given or (DEFAULT_ADDRESS if environment.get("ANTHROPIC_API_KEY") else None)


def api_key(environment: Environment) -> str:
    """The key, or a placeholder for a server at an own address, which may need none."""
    return environment.get("ANTHROPIC_API_KEY") or NO_KEY


def call(request: ModelRequest, seconds: float) -> ModelAnswer:
    """One attempt, within `seconds`. Raises ModelError."""
    base_url = address(request.environment)
    if base_url is None:
        raise ModelAuthenticationError("There is no key for Anthropic: set ANTHROPIC_API_KEY.")
    import anthropic

    client = _clients.get(api_key(request.environment), base_url)
    built = anthropic_request.build(request)
    messages = client.messages.with_streaming_response
    document, request_id = sdk.ask(
        anthropic,
        PROVIDER,
        lambda: messages.create(**built.body, extra_headers=built.headers, timeout=seconds),
        seconds,
    )
    return anthropic_answer.read(document, request, request_id)


def load() -> None:
    """Import the SDK and what its first client and call would: some seconds that the first turn need not wait."""
    with _client(NO_KEY, DEFAULT_ADDRESS) as client:
        _ = client.messages.with_streaming_response


def _client(key: str, base_url: str) -> "Anthropic":
    from anthropic import Anthropic

    # The SDK sends the key as a bearer token only; other servers of this shape may still read the older header.
    older = {} if base_url == DEFAULT_ADDRESS else {"x-api-key": key}
    return Anthropic(api_key=key, base_url=base_url, max_retries=0, default_headers=older)


_clients: ClientCache["Anthropic"] = ClientCache(_client)
