"""Who sees the secrets of an agent: their values take `secret:read`, their names only the right to read the agent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from letta_client.types import AgentState
from pydantic import TypeAdapter

from tests.doubles.system import System

STATE = TypeAdapter(AgentState)
SECRETS = {"include": "agent.secrets"}
builders = pytest.mark.parametrize("role", ["admin", "agent_creator"])


@pytest.fixture
def agent(system: System) -> dict[str, Any]:
    return system.new_agent(secrets={"KEY": "tr0ub4dor"}, memory_blocks=[{"label": "human", "value": "x"}])


def asked(system: System, role: str, path: str, function: str = "agents") -> Any:
    answer = replace(system, role=role).call(function, "GET", path, query=SECRETS)
    assert answer.status == 200, answer.body
    return answer.body


def shown(agent: Mapping[str, Any]) -> dict[str, str]:
    STATE.validate_python(agent)
    assert agent["tool_exec_environment_variables"] == agent["secrets"]
    return {secret["key"]: secret["value"] for secret in agent["secrets"]}


@pytest.mark.parametrize(("role", "value"), [("admin", "tr0ub4dor"), ("agent_creator", "tr0ub4dor"), ("user", "")])
def test_every_read_shows_values_to_those_who_build_and_names_to_all(
    system: System, agent: dict[str, Any], role: str, value: str
) -> None:
    block = agent["blocks"][0]["id"]

    assert shown(asked(system, role, f"/v1/agents/{agent['id']}")) == {"KEY": value}
    assert [shown(each) for each in asked(system, role, "/v1/agents")] == [{"KEY": value}]
    assert [shown(each) for each in asked(system, role, f"/v1/blocks/{block}/agents", "blocks")] == [{"KEY": value}]


def test_a_secret_that_is_not_shown_is_not_opened(
    system: System, agent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(sealed: str) -> str:
        raise AssertionError("a user's request opened a secret")

    monkeypatch.setattr("agentkeep.operations.agent_details.unseal", opened)

    assert shown(asked(system, "user", f"/v1/agents/{agent['id']}")) == {"KEY": ""}


@builders
def test_answers_of_changes_hold_no_secrets(system: System, role: str) -> None:
    builder = replace(system, role=role)
    made = builder.new_agent(secrets={"KEY": "tr0ub4dor"})
    path = f"/v1/agents/{made['id']}"

    changed = builder.call("agents", "PATCH", path, {"secrets": {"KEY": "new"}}).body
    reset = builder.call("agents", "PATCH", f"{path}/reset-messages", {}).body

    assert [shown(answer) for answer in (made, changed, reset)] == [{}, {}, {}]


def test_a_user_neither_makes_nor_changes_secrets(system: System, agent: dict[str, Any]) -> None:
    user = replace(system, role="user")
    body = {"model": "demo/memory", "secrets": {"KEY": "mine"}}

    assert user.call("agents", "POST", "/v1/agents", body).status == 403
    assert user.call("agents", "PATCH", f"/v1/agents/{agent['id']}", body).status == 403
    assert shown(asked(system, "admin", f"/v1/agents/{agent['id']}")) == {"KEY": "tr0ub4dor"}
