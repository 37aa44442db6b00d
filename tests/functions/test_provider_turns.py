"""Agents with a model of a tenant's provider: they follow its changes, and outlive it."""

from typing import Any

import pytest

from agentkeep.models import forget_models
from tests.doubles.model_servers import ModelServers
from tests.doubles.system import Answer, System

HOME, AWAY = "https://models.example/v1", "https://away.example/v1"


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> ModelServers:
    """Two model servers with the same model."""
    forget_models()
    standing = ModelServers(monkeypatch)
    standing.stands_at(HOME, "tiny", context_window=64_000, max_output_tokens=2_000)
    standing.stands_at(AWAY, "tiny", context_window=64_000)
    return standing


@pytest.fixture
def provider(system: System, servers: ModelServers) -> dict[str, Any]:
    body = {"name": "acme", "provider_type": "openai", "api_key": "sk-1", "base_url": HOME}
    made: dict[str, Any] = system.call("providers", "POST", "/v1/providers", body).body
    return made


def change(system: System, provider: dict[str, Any], **fields: Any) -> Answer:
    return system.call("providers", "PATCH", f"/v1/providers/{provider['id']}", fields)


def said(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    text: str = answer.body["messages"][-1]["content"]
    return text


def test_a_turn_reaches_the_provider_with_its_key(
    system: System, servers: ModelServers, provider: dict[str, Any]
) -> None:
    agent = system.new_agent(model="acme/tiny")

    assert said(system.send(agent["id"], "Hi", streaming=False)) == f"Greetings from {HOME}."

    assert servers.called == [(HOME, "sk-1", "tiny")]
    step = system.call("runs", "GET", "/v1/steps", query={"agent_id": agent["id"]}).body[0]
    assert (step["provider_name"], step["provider_category"], step["model_handle"]) == ("acme", "byok", "acme/tiny")


def test_existing_agents_follow_an_update_at_their_next_turn(
    system: System, servers: ModelServers, provider: dict[str, Any]
) -> None:
    agent = system.new_agent(model="acme/tiny")
    system.send(agent["id"], "Hi", streaming=False)

    change(system, provider, base_url=AWAY, api_key="sk-2")

    assert said(system.send(agent["id"], "And now?", streaming=False)) == f"Greetings from {AWAY}."
    assert servers.called == [(HOME, "sk-1", "tiny"), (AWAY, "sk-2", "tiny")]
    assert system.call("agents", "GET", f"/v1/agents/{agent['id']}").body["llm_config"]["model_endpoint"] == AWAY


def test_an_agent_shows_the_provider_and_the_limits_that_it_listed(
    system: System, servers: ModelServers, provider: dict[str, Any]
) -> None:
    agent = system.new_agent(model="acme/tiny")

    config = agent["llm_config"]
    assert (config["provider_name"], config["provider_category"]) == ("acme", "byok")
    assert (config["context_window"], config["max_tokens"], config["model_endpoint"]) == (64_000, 2_000, HOME)


def test_an_agent_outlives_its_provider_and_answers_again_when_that_is_back(
    system: System, servers: ModelServers, provider: dict[str, Any]
) -> None:
    agent = system.new_agent(model="acme/tiny")
    system.call("providers", "DELETE", f"/v1/providers/{provider['id']}")

    kept = system.call("agents", "GET", f"/v1/agents/{agent['id']}")
    failed = system.send(agent["id"], "Hi", streaming=False)

    assert (kept.status, kept.body["model"]) == (200, "acme/tiny")
    assert (kept.body["llm_config"]["provider_category"], kept.body["llm_config"]["model_endpoint"]) == ("byok", "")
    assert failed.status == 404
    assert "Handle acme/tiny not found" in failed.body["detail"] and "POST /v1/providers" in failed.body["detail"]
    body = {"name": "acme", "provider_type": "openai", "api_key": "sk-3", "base_url": AWAY}
    system.call("providers", "POST", "/v1/providers", body)
    assert said(system.send(agent["id"], "Hi", streaming=False)) == f"Greetings from {AWAY}."


def test_the_model_of_a_request_or_a_conversation_may_be_a_tenants(
    system: System, servers: ModelServers, provider: dict[str, Any]
) -> None:
    agent = system.new_agent()

    overridden = system.send(agent["id"], "Hi", streaming=False, override_model="acme/tiny")
    opened = system.call("conversations", "POST", "/v1/conversations", {"model": "acme/tiny", "agent_id": agent["id"]})

    assert said(overridden) == f"Greetings from {HOME}."
    assert opened.body["model"] == "acme/tiny"


def test_a_model_that_the_provider_does_not_list_is_refused_with_the_list(
    system: System, servers: ModelServers, provider: dict[str, Any]
) -> None:
    refused = system.call("agents", "POST", "/v1/agents", {"model": "acme/huge"})

    assert (refused.status, "acme/tiny" in refused.body["detail"]) == (404, True)
