"""Calls of `openai/...` models, through the openai SDK at `OPENAI_BASE_URL` with `OPENAI_API_KEY`."""

from typing import TYPE_CHECKING, Final

from agentkeep.models import openai_answer, openai_request, sdk
from agentkeep.models.environment import Environment
from agentkeep.models.errors import ModelAuthenticationError
from agentkeep.models.interface import ModelAnswer, ModelRequest
from agentkeep.models.sdk_clients import ClientCache

if TYPE_CHECKING:
    from openai import OpenAI

PROVIDER: Final = "openai"
DEFAULT_ADDRESS: Final = "https://api.openai.com/v1"
NO_KEY: Final = "no-key"


def address(environment: Environment) -> str | None:
    """The base URL in use, or None when neither a key nor an address is set."""
    given = environment.get("OPENAI_BASE_URL")
    return given or (DEFAULT_ADDRESS if environment.get("OPENAI_API_KEY") else None)


def api_key(environment: Environment) -> str:
    """The key, or a placeholder for a server at an own address, which may need none."""
    return environment.get("OPENAI_API_KEY") or NO_KEY


def call(request: ModelRequest, seconds: float) -> ModelAnswer:
    """One attempt, within `seconds`. Raises ModelError."""
    base_url = address(request.environment)
    if base_url is None:
        raise ModelAuthenticationError(
            "There is no key for OpenAI: set OPENAI_API_KEY, or OPENAI_BASE_URL for another server."
        )
    import openai

    client = _clients.get(api_key(request.environment), base_url)
    body = openai_request.build(request)
    create = client.chat.completions.with_streaming_response.create
    # As `extra_body` it is sent as it is; the SDK's walk over typed messages takes 0.15 ms for each of them.
    document, request_id = sdk.ask(
        openai,
        PROVIDER,
        lambda: create(model=request.model, messages=[], extra_body=body, timeout=seconds),
        seconds,
    )
    return openai_answer.read(document, request, request_id)


def load() -> None:
    """Import the SDK and what its first client and call would: one to two seconds that the first turn need not wait."""
    with _client(NO_KEY, DEFAULT_ADDRESS) as client:
        _ = client.chat.completions.with_streaming_response


def _client(key: str, base_url: str) -> "OpenAI":
    from openai import OpenAI

    return OpenAI(api_key=key, base_url=base_url, max_retries=0)


_clients: ClientCache["OpenAI"] = ClientCache(_client)
