"""The types of providers: where they are, what shape they have, and which are not there."""

import pytest

from agentkeep.models import provider_types
from agentkeep.models.provider_types import UnavailableTypeError


@pytest.mark.parametrize(
    ("name", "given", "address"),
    [
        ("groq", None, "https://api.groq.com/openai/v1"),
        ("openai", "https://proxy.example/api", "https://proxy.example/api"),
        ("ollama", None, "http://127.0.0.1:11434/v1"),
        ("ollama", "http://gpu.lan:11434", "http://gpu.lan:11434/v1"),
        ("vllm", "http://gpu.lan:8000/v1", "http://gpu.lan:8000/v1"),
        ("anthropic", "https://proxy.example", "https://proxy.example"),
    ],
)
def test_the_address_is_the_given_one_or_the_usual_one_of_the_type(name: str, given: str | None, address: str) -> None:
    assert provider_types.of(name).address(given) == address


@pytest.mark.parametrize("name", ["bedrock", "azure", "google_vertex", "chatgpt_oauth", "letta", "nonsense", ""])
def test_a_type_that_is_not_served_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(UnavailableTypeError, match="Available are: openai, anthropic, baseten") as refused:
        provider_types.of(name)

    assert refused.value.status == 400
