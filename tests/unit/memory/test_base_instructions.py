"""The instructions an agent gets by default fit the tools it gets by default."""

import re

import pytest

from agentkeep.memory.instructions import default_system
from agentkeep.tools.registry import BUILTIN, defaults

TYPES = [
    "letta_v1_agent", "memgpt_v2_agent", "memgpt_agent", "split_thread_agent", "react_agent", "workflow_agent",
    "sleeptime_agent", "voice_sleeptime_agent", "voice_convo_agent",
]  # fmt: skip
OPTIONAL = {"memory_rethink"}


@pytest.mark.parametrize("agent_type", TYPES)
def test_instructions_name_only_tools_the_agent_has(agent_type: str) -> None:
    named = {word for word in re.findall(r"[a-z_]+", default_system(agent_type)) if word in BUILTIN and "_" in word}

    assert named - OPTIONAL <= set(defaults(agent_type))


@pytest.mark.parametrize("agent_type", TYPES)
def test_every_default_tool_is_explained(agent_type: str) -> None:
    assert [name for name in defaults(agent_type) if name not in default_system(agent_type)] == []


def test_only_legacy_agents_answer_by_tool() -> None:
    assert "Only what you pass to send_message reaches the user" in default_system("memgpt_agent")
    assert "without a tool call ends your turn" in " ".join(default_system("letta_v1_agent").split())


def test_an_unknown_type_is_instructed_like_the_current_one() -> None:
    assert default_system("agent_of_tomorrow") == default_system("letta_v1_agent")
