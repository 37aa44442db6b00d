"""The types of providers that a tenant can set up: which API each speaks, and where it usually is.

Addresses are those that providers commonly give for OpenAI-compatible clients; `base_url` sets one that has moved.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from agentkeep.errors import BadRequestError
from agentkeep.models.endpoints import Shape


@dataclass(frozen=True)
class ProviderType:
    """One type. `self_hosted`: one's own server, whose API is under `/v1` even where a user leaves that out.

    `key_path` answers only with a good key; at most providers the list of models does.
    """

    base_url: str
    shape: Shape = "openai"
    self_hosted: bool = False
    key_path: str = "models"

    def address(self, given: str | None) -> str:
        """The base URL in use: the given one, else the usual one."""
        if given is None:
            return self.base_url
        return f"{given}/v1" if self.self_hosted and not urlsplit(given).path else given


TYPES: Final[Mapping[str, ProviderType]] = {
    "openai": ProviderType("https://api.openai.com/v1"),
    "anthropic": ProviderType("https://api.anthropic.com", "anthropic", key_path="v1/models?limit=1000"),
    "baseten": ProviderType("https://inference.baseten.co/v1"),
    "cerebras": ProviderType("https://api.cerebras.ai/v1"),
    "deepseek": ProviderType("https://api.deepseek.com/v1"),
    "fireworks": ProviderType("https://api.fireworks.ai/inference/v1"),
    "google_ai": ProviderType("https://generativelanguage.googleapis.com/v1beta/openai"),
    "groq": ProviderType("https://api.groq.com/openai/v1"),
    "hugging-face": ProviderType("https://router.huggingface.co/v1"),
    "lmstudio_openai": ProviderType("http://127.0.0.1:1234/v1", self_hosted=True),
    "minimax": ProviderType("https://api.minimax.io/v1"),
    "mistral": ProviderType("https://api.mistral.ai/v1"),
    "moonshot": ProviderType("https://api.moonshot.ai/v1"),
    "ollama": ProviderType("http://127.0.0.1:11434/v1", self_hosted=True),
    "openrouter": ProviderType("https://openrouter.ai/api/v1", key_path="key"),
    "sglang": ProviderType("http://127.0.0.1:30000/v1", self_hosted=True),
    "together": ProviderType("https://api.together.xyz/v1"),
    "vllm": ProviderType("http://127.0.0.1:8000/v1", self_hosted=True),
    "xai": ProviderType("https://api.x.ai/v1"),
    "zai": ProviderType("https://api.z.ai/api/paas/v4"),
    "zai_coding": ProviderType("https://api.z.ai/api/coding/paas/v4"),
}


class UnavailableTypeError(BadRequestError):
    """A type of provider that is not served here."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Providers of the type '{name[:100]}' are not available here. Available are: {', '.join(TYPES)}."
            " Any other server that speaks OpenAI's chat completions is of the type 'openai', with its base_url."
        )


def of(name: str) -> ProviderType:
    """The type of this name. Raises UnavailableTypeError."""
    found = TYPES.get(name)
    if found is None:
        raise UnavailableTypeError(name)
    return found
