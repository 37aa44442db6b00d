"""Who changed an agent last, and how often it was changed: the same stamp whichever way the change came."""

from collections.abc import Callable

import pytest

from agentkeep.api.requests.agents import UpdateAgent
from agentkeep.operations import agents, attachments, blocks
from agentkeep.store import agents as agent_store
from agentkeep.store.entities import Agent
from agentkeep.tools.registry import BUILTIN
from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.system import System

ACTING = "user-1"
"""The principal of `System.acting`; agents are made by another."""
TOOL = BUILTIN["conversation_search"].id
CHANGES: dict[str, Callable[[Agent, str], object]] = {
    "update": lambda agent, other: agents.update(agent.id, UpdateAgent(name="changed")),
    "attach a block": lambda agent, other: attachments.attach_block(agent.id, other),
    "detach a block": lambda agent, other: attachments.detach_block(agent.id, agent.block_ids[0]),
    "delete a block": lambda agent, other: blocks.delete(agent.block_ids[0]),
    "detach a tool": lambda agent, other: attachments.detach_tool(agent.id, TOOL),
}


@pytest.fixture
def agent(system: System) -> Agent:
    made = system.new_agent(memory_blocks=[{"label": "human", "value": "x"}], tools=["memory"])
    with system.acting():
        return agent_store.get(made["id"])


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_signed_by_its_caller(system: System, agent: Agent, change: str) -> None:
    other = system.call("blocks", "POST", "/v1/blocks", {"label": "notes", "value": "x"}).body["id"]

    with system.acting():
        CHANGES[change](agent, other)
        changed = agent_store.get(agent.id)

    assert (changed.last_updated_by_id, changed.version) == (ACTING, agent.version + 1)
    assert changed.updated_at > agent.updated_at
    assert changed.created_by_id == agent.created_by_id != ACTING


def test_a_change_by_its_own_tools_is_signed_by_the_agent(system: System, agent: Agent, model: ScriptedModel) -> None:
    new_block = {"command": "create", "path": "/memories/travel", "file_text": "Porto", "description": "Trips."}
    model.script = [calls("memory", new_block), says("Noted.")]

    assert system.send(agent.id, "I went to Porto.").status == 200

    with system.acting():
        changed = agent_store.get(agent.id)
    assert len(changed.block_ids) == 2
    assert (changed.last_updated_by_id, changed.version) == (agent.id, agent.version + 1)
