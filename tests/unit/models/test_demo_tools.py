"""The demo model writes with the tools and into the blocks that it is given, and tells what it cannot do."""

import json

import pytest

from agentkeep.memory.render import core_memory
from tests.doubles.demo_agent import HUMAN, PERSONA, DemoAgent, block, new_mnemo
from tests.doubles.messages import message


def test_a_block_is_written_when_it_is_named() -> None:
    mnemo = DemoAgent(HUMAN, block("groceries", "milk"), block("team_notes"))

    mnemo.say("Please add eggs to the groceries list.")
    mnemo.say("Write 'buy flour' into the groceries block")
    mnemo.say("Append to team notes: call the vendor on Monday")

    assert mnemo.value("groceries") == "milk\nEggs\nBuy flour"
    assert mnemo.value("team_notes") == "Call the vendor on Monday"
    assert mnemo.value("human") == "Unknown so far."


def test_a_read_only_block_is_not_written() -> None:
    mnemo = DemoAgent(HUMAN, block("policies", "1. No meat.", read_only=True))

    reply = mnemo.say("Add cheese to policies")

    assert reply == 'The block "policies" is read-only: I may read it and must not change it.'
    assert mnemo.calls == []


def test_facts_go_nowhere_when_every_block_is_read_only() -> None:
    mnemo = DemoAgent(PERSONA, block("human", "Unknown.", read_only=True))

    assert mnemo.say("My name is Ana.") == "I have no memory block that I may store this in."


@pytest.mark.parametrize(
    "tools",
    [
        ("core_memory_append", "core_memory_replace"),
        ("memory",),
        ("memory_rethink",),
        ("memory_insert",),
        ("memory_replace", "memory_rethink"),
    ],
)
def test_any_memory_tools_will_do(tools: tuple[str, ...]) -> None:
    mnemo = DemoAgent(block("human", "Likes tea"), tools=tools)

    mnemo.say("My name is Ana.")
    mnemo.say("Actually, my name is Anna.")

    assert "Likes tea" in mnemo.value("human")
    assert mnemo.value("human").endswith("Name: Anna")


def test_without_memory_tools_it_says_that_it_will_forget() -> None:
    assert "no memory tool" in DemoAgent(HUMAN, tools=("conversation_search",)).say("My name is Ana.")


def test_a_tool_that_fails_is_reported_and_not_tried_again() -> None:
    mnemo = DemoAgent(HUMAN)
    shown = core_memory(mnemo.workspace.blocks)
    mnemo.workspace.detach("human")
    mnemo.history.append(message("user", "My name is Ana."))

    first = mnemo.answer(shown)
    mnemo.history.append(message("assistant", tool_calls=first.tool_calls))
    mnemo._run(first.tool_calls)
    second = mnemo.answer(shown)

    assert second.tool_calls == []
    assert second.content[0].text.startswith('I could not write to "human": ')  # type: ignore[union-attr]


def test_legacy_agents_are_answered_through_send_message() -> None:
    mnemo = DemoAgent(HUMAN, tools=("core_memory_append", "core_memory_replace", "send_message"))

    mnemo.say("My name is Ana.")

    assert [call.name for call in mnemo.calls] == ["core_memory_replace", "send_message"]
    assert "Name: Ana" in json.loads(mnemo.calls[1].arguments)["message"]


@pytest.mark.parametrize(
    "packed",
    [
        '{"type": "user_message", "message": "My name is Ana.", "time": "noon"}',
        "<system-reminder>\nThe project is X. My name is Nobody.\n</system-reminder>\nMy name is Ana.",
        "My name\u2019s Ana.",
    ],
)
def test_wrapped_messages_are_unpacked(packed: str) -> None:
    mnemo = new_mnemo()

    mnemo.say(packed)

    assert mnemo.value("human") == "Name: Ana"


def test_what_the_system_sends_is_no_word_of_the_user() -> None:
    mnemo = new_mnemo()

    mnemo.say('{"type": "heartbeat", "reason": "My name is Timer.", "time": "noon"}')

    assert mnemo.calls == []
