"""Tool rules by the official client, on providers of both shapes and on a Claude that no request can force to call."""

from collections.abc import Iterator
from typing import Any

import pytest
from letta_client import APIStatusError, Letta

from tests.doubles.provider import ScriptedProvider
from tests.doubles.provider_replies import call, say
from tests.local.clients import kinds, said

MODELS = ("openai/gpt-4o-mini", "anthropic/claude-haiku-4-5", "anthropic/claude-opus-5-5")
FORCED = {
    "openai/gpt-4o-mini": {"type": "function", "function": {"name": "memory_insert"}},
    "anthropic/claude-haiku-4-5": {"type": "tool", "name": "memory_insert", "disable_parallel_tool_use": True},
    "anthropic/claude-opus-5-5": {"type": "auto", "disable_parallel_tool_use": True},
}
INSERT = call("memory_insert", {"label": "human", "new_string": "Likes tea."})
REPLACE = call("memory_replace", {"label": "human", "old_string": "Ada", "new_string": "Ada Lovelace"})


@pytest.fixture
def scripted(provider: ScriptedProvider) -> Iterator[ScriptedProvider]:
    """The shared provider, with a script and records of this test alone. Nothing was refused by it."""
    provider.reset()
    yield provider
    assert {seen.status for seen in provider.calls} == {200}
    provider.reset()


def ruled(client: Letta, model: str, *rules: Any) -> str:
    return client.agents.create(
        model=model, memory_blocks=[{"label": "human", "value": "Ada"}], tool_rules=list(rules)
    ).id


def offered(seen: Any) -> set[str]:
    return {tool.get("name") or tool["function"]["name"] for tool in seen.body.get("tools", ())}


@pytest.mark.parametrize("model", MODELS)
def test_a_turn_that_has_to_begin_and_to_end_with_a_tool(client: Letta, scripted: ScriptedProvider, model: str) -> None:
    agent = ruled(
        client,
        model,
        {"type": "run_first", "tool_name": "memory_insert", "args": {"new_string": "Set by a rule."}},
        {"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 1},
        {"type": "required_before_exit", "tool_name": "memory_replace"},
    )
    scripted.script(INSERT, INSERT, say("Done."), REPLACE, say("Now I am done."))

    answer = client.agents.messages.create(agent, input="I like tea.")

    statuses = [each.status for each in answer.messages if each.message_type == "tool_return_message"]
    assert statuses == ["success", "error", "success"]
    assert (said(answer.messages), answer.stop_reason.stop_reason) == ("Done.\nNow I am done.", "end_turn")
    assert client.agents.blocks.retrieve("human", agent_id=agent).value == "Ada Lovelace\nSet by a rule."
    start, *later = scripted.calls
    assert (offered(start), start.body["tool_choice"]) == ({"memory_insert"}, FORCED[model])
    assert all(offered(seen) == {"conversation_search", "memory_replace"} for seen in later)


@pytest.mark.parametrize("model", MODELS[:2])
def test_a_stream_ends_with_its_exit_tool(client: Letta, scripted: ScriptedProvider, model: str) -> None:
    agent = ruled(client, model, {"type": "exit_loop", "tool_name": "memory_insert"})
    scripted.script(INSERT)

    events: list[Any] = list(client.agents.messages.create(agent, input="I like tea.", streaming=True))

    assert kinds(events) == [
        "ping", "tool_call_message", "tool_return_message", "stop_reason", "usage_statistics",
    ]  # fmt: skip
    assert events[3].stop_reason == "tool_rule"


def test_rules_are_updated_and_shown_as_the_client_types_them(client: Letta, scripted: ScriptedProvider) -> None:
    agent = ruled(client, MODELS[0], {"type": "exit_loop", "tool_name": "memory_insert"})

    changed = client.agents.update(
        agent,
        tool_rules=[
            {
                "type": "constrain_child_tools",
                "tool_name": "conversation_search",
                "children": ["memory_insert"],
                "child_arg_nodes": [{"name": "memory_insert", "args": {"label": "human"}}],
            },
            {"type": "conditional", "tool_name": "memory_insert", "child_output_mapping": {"x": "memory_replace"}},
        ],
    )

    child, conditional = client.agents.retrieve(agent).tool_rules or []
    assert changed.tool_rules == [child, conditional]
    assert (child.type, conditional.type) == ("constrain_child_tools", "conditional")
    client.agents.messages.create(agent, input="Hello.")
    incomplete: Any = {"type": "max_count_per_step", "tool_name": "memory_insert"}
    with pytest.raises(APIStatusError, match="the rule 'max_count_per_step' needs 'max_count_limit'"):
        client.agents.update(agent, tool_rules=[incomplete])
