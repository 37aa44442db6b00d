"""Models as the providers list them, over loopback and without any SDK."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from agentkeep.models import (
    UnknownModelError,
    find_model,
    forget_models,
    list_embedding_models,
    list_models,
    warm,
)
from agentkeep.models.listing import DEMO
from tests.doubles.provider import BAD_KEY, ScriptedProvider

VARIABLES = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "AGENTKEEP_PROVIDERS_SECRET",
)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    """The provider of both kinds, named by the environment; nothing is remembered yet."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with ScriptedProvider() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        forget_models()
        yield running
    forget_models()


def test_handles_come_from_the_providers_and_the_builtin_model_is_last(provider: ScriptedProvider) -> None:
    handles = [model.handle for model in list_models()]

    assert handles[0] == "openai/gpt-4o-mini"
    assert "anthropic/claude-opus-5-5" in handles
    assert handles[-1] == "demo/memory"
    assert not {"openai/text-embedding-3-small", "openai/whisper-1"} & set(handles)


def test_a_model_is_described_by_its_list_and_the_catalog(provider: ScriptedProvider) -> None:
    found = find_model("openai/gpt-5")

    assert (found.name, found.provider_type, found.endpoint_type) == ("gpt-5", "openai", "openai")
    assert (found.context_window, found.max_output_tokens, found.reasoning) == (272_000, 128_000, True)
    assert found.endpoint == provider.openai_base_url


def test_the_list_is_asked_for_once_a_minute(provider: ScriptedProvider) -> None:
    list_models()
    list_models()

    assert len(provider.requests) == 2


def test_finding_a_model_asks_its_provider_only(provider: ScriptedProvider) -> None:
    find_model("anthropic/claude-haiku-4-5")
    find_model("demo/memory")

    assert [seen.path for seen in provider.requests] == ["/v1/models"]
    assert "x-api-key" in provider.requests[0].headers


def test_embedding_models_have_their_dimension(provider: ScriptedProvider) -> None:
    assert [(model.handle, model.dimension) for model in list_embedding_models()] == [
        ("openai/text-embedding-3-small", 1536)
    ]


def test_a_model_that_its_provider_does_not_list_is_unknown(provider: ScriptedProvider) -> None:
    with pytest.raises(UnknownModelError, match=r"Handle openai/none not found, must be one of \[openai/gpt-4o-mini, "):
        find_model("openai/none")


def test_a_provider_that_cannot_be_asked_is_taken_at_its_word(
    provider: ScriptedProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.lists_models = False

    assert find_model("openai/anything").context_window == 32_768
    assert "openai/gpt-4.1" in [model.handle for model in list_models()]
    assert "the model list of openai could not be read (status 500)" in caplog.text


def test_a_key_that_is_refused_leaves_the_catalog(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", BAD_KEY)

    assert "openai/gpt-4.1" in [model.handle for model in list_models()]


def test_without_any_key_there_is_the_builtin_model(
    provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    assert list_models() == [DEMO]
    assert find_model("demo/memory") == DEMO
    with pytest.raises(UnknownModelError, match="OPENAI_API_KEY"):
        find_model("openai/gpt-4.1")


def test_an_own_server_needs_no_key(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")

    assert find_model("openai/gpt-4o-mini").endpoint == provider.openai_base_url


def test_listing_loads_no_sdk_and_warming_loads_the_one_that_is_needed() -> None:
    program = (
        "import sys; from agentkeep.models import list_models, warm; list_models();"
        "print([name for name in ('openai', 'anthropic', 'boto3') if name in sys.modules]);"
        "warm(['openai/gpt-4o', 'demo/memory']).join();"
        "print([name for name in ('openai', 'anthropic') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.splitlines() == ["[]", "['openai']"]


@pytest.mark.parametrize(
    ("provider", "first_call"),
    [("openai", "chat.completions.with_streaming_response"), ("anthropic", "messages.with_streaming_response")],
)
def test_after_warming_a_first_call_imports_next_to_nothing(provider: str, first_call: str) -> None:
    program = (
        "import sys; from agentkeep.models import warm;"
        f"from agentkeep.models import {provider}_provider as sdk; warm(['{provider}/x']).join();"
        "loaded = set(sys.modules);"
        f"sdk._client('key', 'http://127.0.0.1:1').{first_call};"
        "print(len(set(sys.modules) - loaded))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert int(done.stdout) <= 3


def test_warming_is_over_when_its_thread_is() -> None:
    thread = warm(["demo/memory"])
    thread.join(10)

    assert not thread.is_alive()
