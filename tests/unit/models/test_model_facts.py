"""What is known about models without asking: limits, kinds, token counts; and where keys come from."""

import json

import boto3
import pytest
from moto import mock_aws

from agentkeep.models import catalog, environment
from agentkeep.models.calls import complete
from agentkeep.models.environment import Environment, current_environment
from agentkeep.models.errors import ModelAuthenticationError, UnknownModelError
from agentkeep.models.interface import ModelRequest
from agentkeep.models.tokens import estimate_tokens
from agentkeep.store.content import ImagePart
from tests.doubles.messages import called, message, returned


@pytest.mark.parametrize(
    ("handle", "context_window", "output"),
    [
        ("openai/gpt-4o-mini-2024-07-18", 128_000, 16_384),
        ("openai/gpt-4.1-nano", 1_047_576, 32_768),
        ("openai/gpt-5-mini", 272_000, 128_000),
        ("openai/gpt-5.4", 1_050_000, 128_000),
        ("openai/llama-3-8b", 32_768, 4_096),
        ("anthropic/claude-3-5-haiku-20241022", 200_000, 8_192),
        ("anthropic/claude-sonnet-4-20250514", 200_000, 64_000),
        ("anthropic/claude-opus-5-5", 1_000_000, 128_000),
        ("demo/memory", 128_000, 4_096),
    ],
)
def test_limits_by_the_longest_known_prefix(handle: str, context_window: int, output: int) -> None:
    assert catalog.limits(handle) == catalog.Limits(context_window, output)


@pytest.mark.parametrize(
    ("name", "line", "version"),
    [
        ("claude-3-haiku-20240307", "haiku", (3, 0)),
        ("claude-3-7-sonnet-20250219", "sonnet", (3, 7)),
        ("claude-sonnet-4-20250514", "sonnet", (4, 0)),
        ("claude-opus-4-5-20251101", "opus", (4, 5)),
        ("claude-opus-5-5", "opus", (5, 5)),
        ("claude-fable-latest", "fable", (99, 0)),
        ("glm-4.6", "", (4, 5)),
    ],
)
def test_generations_of_claude(name: str, line: str, version: tuple[int, int]) -> None:
    assert catalog.claude(name) == catalog.Claude(line, version)


@pytest.mark.parametrize(
    ("name", "chats"),
    [("gpt-4o", True), ("qwen2-instruct", True), ("text-embedding-3-small", False), ("whisper-1", False)],
)
def test_which_models_hold_conversations(name: str, chats: bool) -> None:
    assert catalog.chats(name) is chats


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("é" + "a" * 8, 3)])
def test_tokens_of_a_text(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_tokens_of_messages_count_calls_returns_and_images() -> None:
    plain = estimate_tokens([message("user", "abcd")])

    assert plain == 5
    assert estimate_tokens([message("user", "abcd", ImagePart(data="x"))]) == plain + 1_200
    assert estimate_tokens([called(("id", "tool", "abcdefgh"))]) == 4 + 1 + 2
    assert estimate_tokens([returned(("id", "abcd"))]) == 4 + 4 + 1


def test_keys_come_from_the_process_without_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.SECRET_NAME_VARIABLE, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", " sk-local ")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "  ")

    assert current_environment().get("OPENAI_API_KEY") == "sk-local"
    assert current_environment().get("ANTHROPIC_API_KEY") is None


def test_keys_do_not_show_in_a_representation() -> None:
    assert "sk-secret" not in repr(Environment({"OPENAI_API_KEY": "sk-secret"}))


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the providers' secret, with nothing read yet."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv(environment.SECRET_NAME_VARIABLE, "agentkeep/test/providers")
    environment.forget_secrets()
    return "agentkeep/test/providers"


def test_keys_come_from_the_secret_and_are_read_once(secret: str) -> None:
    with mock_aws():
        secrets = boto3.client("secretsmanager")
        secrets.create_secret(Name=secret, SecretString=json.dumps({"OPENAI_API_KEY": "sk-1"}))
        first = current_environment().get("OPENAI_API_KEY")
        secrets.put_secret_value(SecretId=secret, SecretString=json.dumps({"OPENAI_API_KEY": "sk-2"}))
        cached = current_environment().get("OPENAI_API_KEY")
        environment.forget_secrets()

        assert (first, cached, current_environment().get("OPENAI_API_KEY")) == ("sk-1", "sk-1", "sk-2")


@pytest.mark.parametrize("content", [None, "not json", "[]"])
def test_a_secret_that_cannot_be_read_is_an_error_with_its_name(secret: str, content: str | None) -> None:
    with mock_aws():
        if content:
            boto3.client("secretsmanager").create_secret(Name=secret, SecretString=content)

        with pytest.raises(ModelAuthenticationError, match=secret):
            current_environment()


@pytest.mark.parametrize("handle", ["mistral/large", "openai/", "openai", ""])
def test_a_handle_of_no_provider_is_unknown(handle: str) -> None:
    with pytest.raises(UnknownModelError, match="must be one of"):
        complete(ModelRequest(handle, [message("user", "Hi")], environment=Environment()))


@pytest.mark.parametrize("handle", ["openai/gpt-4.1", "anthropic/claude-haiku-4-5"])
def test_a_provider_without_a_key_says_which_variable_to_set(handle: str) -> None:
    with pytest.raises(ModelAuthenticationError, match=f"{handle.partition('/')[0].upper()}_API_KEY"):
        complete(ModelRequest(handle, [message("user", "Hi")], environment=Environment()))
