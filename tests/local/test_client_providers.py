"""Providers of a tenant by the official client: its models listed, its agents answered, its changes followed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from letta_client import APIStatusError, AuthenticationError, BadRequestError, Letta, NotFoundError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

from tests.doubles.provider import BAD_KEY, ScriptedProvider
from tests.doubles.provider_replies import say
from tests.local.clients import client_of, said
from tests.local.servers import LocalServer, served

GPT = "gpt-4o-mini"


@pytest.fixture(scope="module")
def home() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running


@pytest.fixture(scope="module")
def away() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running


@pytest.fixture(scope="module")
def server_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server that knows no model but the builtin one, and asks for no keys."""
    local = LocalServer(tmp_path_factory.mktemp("providers") / "data").start()
    yield local
    local.stop()


@pytest.fixture
def client(server_of_its_own: LocalServer, home: ScriptedProvider, away: ScriptedProvider) -> Iterator[Letta]:
    """The client; what a test made is taken down after it."""
    made = client_of(server_of_its_own.base_url)
    yield made
    for provider in listed(made):
        made.delete(f"/v1/providers/{provider['id']}", cast_to=object)
    home.reset()
    away.reset()


def listed(client: Letta, **query: Any) -> list[dict[str, Any]]:
    found: Any = client.get("/v1/providers/", cast_to=object, options={"params": query})
    return list(found)


def create(client: Letta, base_url: str, **fields: Any) -> dict[str, Any]:
    body = {"name": "acme", "provider_type": "openai", "api_key": "sk-1", "base_url": base_url, **fields}
    made: Any = client.post("/v1/providers/", body=body, cast_to=object)
    return dict(made)


def change(client: Letta, provider: dict[str, Any], **fields: Any) -> dict[str, Any]:
    changed: Any = client.patch(f"/v1/providers/{provider['id']}", body=fields, cast_to=object)
    return dict(changed)


def keys(provider: ScriptedProvider) -> list[str]:
    return [seen.headers.get("authorization", seen.headers.get("x-api-key", "")) for seen in provider.calls]


def test_models_of_a_provider_are_listed_beside_the_deployments(client: Letta, home: ScriptedProvider) -> None:
    create(client, home.openai_base_url)

    models = {model.handle: model for model in client.models.list()}
    found = models[f"acme/{GPT}"]

    assert "demo/memory" in models
    assert (found.provider_category, found.provider_name, found.provider_type) == ("byok", "acme", "openai")
    assert (found.api_model_endpoint, found.max_context_window) == (home.openai_base_url, 128_000)
    assert [each.handle for each in client.models.list(provider_category=["base"])] == ["demo/memory"]
    assert [each.handle for each in client.models.embeddings.list()] == ["acme/text-embedding-3-small"]


@pytest.mark.parametrize(("kind", "model"), [("openai", GPT), ("vllm", GPT), ("anthropic", "claude-haiku-4-5")])
def test_a_turn_reaches_the_provider_with_the_tenants_key(
    client: Letta, home: ScriptedProvider, kind: str, model: str
) -> None:
    create(client, home.address if kind != "openai" else home.openai_base_url, provider_type=kind, api_key="sk-mine")
    agent = client.agents.create(model=f"acme/{model}")
    home.script(say("Hello from acme."))

    answer = client.agents.messages.create(agent.id, input="Hi")

    assert said(answer.messages) == "Hello from acme."
    assert [key.removeprefix("Bearer ") for key in keys(home)] == ["sk-mine"]
    assert home.calls[0].body["model"] == model


def test_existing_agents_follow_a_new_address_and_a_new_key(
    client: Letta, home: ScriptedProvider, away: ScriptedProvider
) -> None:
    provider = create(client, home.openai_base_url)
    agent = client.agents.create(model=f"acme/{GPT}")
    client.agents.messages.create(agent.id, input="one")

    change(client, provider, base_url=away.openai_base_url)
    client.agents.messages.create(agent.id, input="two")
    change(client, provider, api_key="sk-2")
    client.agents.messages.create(agent.id, input="three")

    assert (keys(home), keys(away)) == (["Bearer sk-1"], ["Bearer sk-1", "Bearer sk-2"])
    assert client.agents.retrieve(agent.id).llm_config.api_model_endpoint == away.openai_base_url


def test_a_check_says_whether_a_key_is_good(client: Letta, home: ScriptedProvider) -> None:
    provider = create(client, home.openai_base_url, api_key=BAD_KEY)
    body = {"provider_type": "openai", "base_url": home.openai_base_url, "api_key": "sk-1"}

    good: Any = client.post("/v1/providers/check", body=body, cast_to=object)
    with pytest.raises(AuthenticationError, match="llm_authentication"):
        client.post("/v1/providers/check", body=body | {"api_key": BAD_KEY}, cast_to=object)
    with pytest.raises(AuthenticationError, match="'acme'"):
        client.post(f"/v1/providers/{provider['id']}/check", body={}, cast_to=object)

    assert good["message"] == "The key is good for this provider of the type openai."


def test_a_turn_with_a_bad_key_tells_whose_it_is(client: Letta, home: ScriptedProvider) -> None:
    create(client, home.openai_base_url, api_key=BAD_KEY)
    agent = client.agents.create(model=f"acme/{GPT}")

    with pytest.raises(AuthenticationError, match="'acme'"):
        client.agents.messages.create(agent.id, input="Hi")


def test_a_provider_that_went_down_keeps_its_models_listed_and_refresh_says_so(client: Letta) -> None:
    with ScriptedProvider() as passing:
        provider = create(client, passing.openai_base_url)
        refreshed: Any = client.patch(f"/v1/providers/{provider['id']}/refresh", body={}, cast_to=object)

    assert refreshed["last_synced"] > provider["last_synced"]
    assert f"acme/{GPT}" in [model.handle for model in client.models.list()]
    with pytest.raises(APIStatusError) as failed:
        client.patch(f"/v1/providers/{provider['id']}/refresh", body={}, cast_to=object)
    assert failed.value.status_code == 503


def test_an_agent_whose_provider_was_deleted_is_readable_and_says_why_it_cannot_answer(
    client: Letta, home: ScriptedProvider
) -> None:
    provider = create(client, home.openai_base_url)
    agent = client.agents.create(model=f"acme/{GPT}")

    client.delete(f"/v1/providers/{provider['id']}", cast_to=object)

    assert client.agents.retrieve(agent.id).model == f"acme/{GPT}"
    assert agent.id in [each.id for each in client.agents.list()]
    with pytest.raises(NotFoundError, match="POST /v1/providers"):
        client.agents.messages.create(agent.id, input="Hi")
    assert home.calls == []


def test_providers_and_their_keys_outlive_a_restart(tmp_path: Path, home: ScriptedProvider) -> None:
    local = LocalServer(tmp_path / "data").start()
    create(client_of(local.base_url), home.openai_base_url, api_key="sk-kept")
    home.reset()

    again = client_of(local.restart().base_url)
    agent = again.agents.create(model=f"acme/{GPT}")
    again.agents.messages.create(agent.id, input="Hi")
    local.stop()

    assert keys(home) == ["Bearer sk-kept"]
    home.reset()


def test_a_key_is_in_no_log(tmp_path: Path, home: ScriptedProvider) -> None:
    local = LocalServer(tmp_path / "data", None, "--log-level", "debug").start()
    client = client_of(local.base_url)
    create(client, home.openai_base_url, api_key="sk-tr0ub4dor")
    agent = client.agents.create(model=f"acme/{GPT}")
    client.agents.messages.create(agent.id, input="Hi")
    local.stop()

    assert len(local.log.read_text()) > 100
    assert "tr0ub4dor" not in local.log.read_text()
    home.reset()


class TestPrivateAddresses:
    """What a server that asks for keys lets its tenants reach."""

    @pytest.fixture
    def guarded(self, server_with_keys: LocalServer) -> Letta:
        """An administrator of a server that asks for keys."""
        made = server_with_keys.agentkeep(
            "keys", "create", "--name", "admin", "--tenant", "acme0001", "--data", str(server_with_keys.data)
        )
        return client_of(server_with_keys.base_url, made.stdout.split()[-1])

    def test_a_server_with_keys_connects_to_none_of_its_own_network(
        self, guarded: Letta, home: ScriptedProvider
    ) -> None:
        with pytest.raises(BadRequestError, match=r"leads to 127\.0\.0\.1"):
            create(guarded, home.openai_base_url)

        assert listed(guarded) == []
        assert home.requests == []

    def test_an_address_that_was_allowed_once_is_refused_at_the_turn(
        self, tmp_path: Path, home: ScriptedProvider
    ) -> None:
        local = LocalServer(tmp_path / "data").start()
        client = client_of(local.base_url)
        create(client, home.openai_base_url)
        agent = client.agents.create(model=f"acme/{GPT}")
        local.stop()
        home.reset()
        strict = LocalServer(tmp_path / "data", {"AGENTKEEP_ALLOW_PRIVATE_URLS": "0"}).start()

        with pytest.raises(BadRequestError, match=r"leads to 127\.0\.0\.1"):
            client_of(strict.base_url).agents.messages.create(agent.id, input="Hi")

        strict.stop()
        assert home.requests == []


def test_redirects_are_not_followed(client: Letta) -> None:
    seen: list[str] = []

    async def redirect(request: Request) -> RedirectResponse:
        seen.append(request.url.path)
        return RedirectResponse("http://169.254.169.254/latest/meta-data/", 307)

    app = Starlette(routes=[Route("/{path:path}", redirect, methods=["GET", "POST"])])
    with served(app) as address:
        create(client, f"{address}/v1")
        agent = client.agents.create(model="acme/any")
        with pytest.raises(APIStatusError, match="redirects"):
            client.post(f"/v1/providers/{listed(client)[0]['id']}/check", body={}, cast_to=object)
        with pytest.raises(APIStatusError):
            client.agents.messages.create(agent.id, input="Hi")

    assert set(seen) == {"/v1/models", "/v1/chat/completions"}
