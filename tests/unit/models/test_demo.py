"""The demo model remembers what it is told, answers from it, and never goes in circles."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkeep.memory.render import core_memory
from agentkeep.models.demo.blocks import read_blocks
from agentkeep.models.demo.questions import WHAT_I_AM
from tests.doubles.demo_agent import DemoAgent, block
from tests.doubles.messages import message

PERSONA = block("persona", "I am Mnemo, a helper.")
HUMAN = block("human", "Unknown so far.", "Facts about the user: name, role, preferences.")
PROJECT = block("project_state", "(empty)", "State of the project: milestones, blockers, decisions.")
LESSONS = block("lessons", "", "Mistakes to never repeat.")


def agent(**fields: bool) -> DemoAgent:
    return DemoAgent(PERSONA, HUMAN, PROJECT, LESSONS, **fields)


@pytest.mark.parametrize(
    ("told", "label", "line"),
    [
        ("My name is Ana.", "human", "Name: Ana"),
        ("hi, my name is bob", "human", "Name: Bob"),
        ("Hi, I'm Priya, staff engineer at Northwind.", "human", "Name: Priya\nRole: staff engineer at Northwind"),
        ("Call me Sammy", "human", "Name: Sammy"),
        ("My name is Dr. Jane Doe.", "human", "Name: Jane Doe"),
        ("I'm a cardiologist.", "human", "Role: cardiologist"),
        ("I work at Acme as a data engineer.", "human", "Employer: Acme\nRole: data engineer"),
        ("I live in Porto and I love football", "human", 'Location: Porto\nPreference: "I love football"'),
        ("My favourite colour is teal.", "human", "Favourite colour: teal"),
        ("My dog is called Biscuit.", "human", "Dog: Biscuit"),
        ("I'm allergic to peanuts.", "human", 'The user said: "I\'m allergic to peanuts"'),
        ("Please always answer in French.", "human", 'Preference: "always answer in French"'),
        ("Can you remember that my cat is Tom?", "human", "Cat: Tom"),
        ("We're building Halo, a Rust service.", "project_state", "Project: Halo, a Rust service"),
        ("We're shipping Halo on Nov 14.", "project_state", "Project: Halo\nShip date: Nov 14"),
        ("Deadline: March 3", "project_state", "Deadline: March 3"),
        ("The deadline is March 3.", "project_state", "Deadline: March 3"),
        ("Current blocker: the build is slow", "project_state", "Blocker: the build is slow"),
        ("We decided to use Kafka instead of RabbitMQ.", "project_state", "Decision: use Kafka instead of RabbitMQ"),
        ("We use Postgres 16 for storage.", "project_state", "We use Postgres 16 for storage"),
        ("Don't suggest Redis again.", "lessons", "Do not suggest again: Redis"),
        ("We tried ice and it failed.", "lessons", "Tried without success: We tried ice and it failed"),
        ("Ice did nothing. Never suggest that again.", "lessons", "Do not suggest again: Ice did nothing"),
    ],
)  # fmt: skip
def test_what_it_is_told_goes_into_the_block_that_suits(told: str, label: str, line: str) -> None:
    mnemo = agent()

    mnemo.say(told)

    assert mnemo.value(label) == line
    assert mnemo.value("persona") == "I am Mnemo, a helper."


@pytest.mark.parametrize(
    "told",
    [
        "Thanks!",
        "ok",
        "Write a poem about the sea",
        "I need you to book a flight",
        "It is raining.",
        "What time is it?",
        "🎉",
        "?",
    ],
)
def test_what_is_no_fact_is_not_stored(told: str) -> None:
    mnemo = agent()

    assert mnemo.say(told)
    assert mnemo.calls == []


def test_several_facts_take_one_call_for_each_block() -> None:
    mnemo = agent()

    reply = mnemo.say("I'm Ana. I like tea. We ship on May 1. The staging server is slow.")

    assert [json.loads(call.arguments)["label"] for call in mnemo.calls] == ["human", "project_state"]
    assert mnemo.value("human") == 'Name: Ana\nPreference: "I like tea"'
    assert mnemo.value("project_state") == "Ship date: May 1\nStaging server: slow"
    assert 'Stored in "human": Name: Ana' in reply


@pytest.mark.parametrize("parallel", [False, True])
def test_calls_come_one_at_a_time_unless_the_settings_allow_more(parallel: bool) -> None:
    mnemo = agent(parallel=parallel)

    mnemo.say("I'm Ana. We ship on May 1.")

    answers = [sent for sent in mnemo.history if sent.tool_calls]
    assert len(answers) == (1 if parallel else 2)
    assert mnemo.value("project_state") == "Ship date: May 1"


def test_it_does_not_repeat_itself_when_the_system_message_still_shows_the_old_memory() -> None:
    mnemo = agent(recompiles=False)

    mnemo.say("I'm Ana. We ship on May 1. Don't suggest Redis again. What is my name?")

    assert len(mnemo.calls) == 3
    assert "Name: Ana" in mnemo.said.splitlines()[-1]


@pytest.mark.parametrize(
    ("first", "then", "label", "value"),
    [
        ("My name is Ana.", "Actually, my name is Anna.", "human", "Name: Anna"),
        (
            "My favourite colour is teal.",
            "No, my favourite colour is green, not teal.",
            "human",
            "Favourite colour: green",
        ),
        ("We ship on Nov 21.", "Sorry, the launch moved to Dec 3.", "project_state", "Ship date: Dec 3"),
        ("I like coffee.", "I no longer like coffee.", "human", 'Preference: "I no longer like coffee"'),
        ("Blocker: login fails", "The blocker is fixed.", "project_state", "Blocker: fixed"),
        ("I prefer tabs.", "Actually, I prefer spaces to tabs.", "human", 'Preference: "I prefer spaces to tabs"'),
        ("My name is Ana.", "Forget my name.", "human", ""),
    ],
)
def test_corrections_take_the_place_of_the_old_line(first: str, then: str, label: str, value: str) -> None:
    mnemo = agent()
    mnemo.say(first)

    mnemo.say(then)

    assert mnemo.value(label) == value
    assert [call.name for call in mnemo.calls] == ["memory_replace"]


def test_a_correction_within_one_message_leaves_the_newer_fact() -> None:
    mnemo = agent()

    mnemo.say("My name is Ana. No, my name is Anna.")

    assert mnemo.value("human") == "Name: Anna"


def test_memory_that_it_did_not_write_is_corrected_too() -> None:
    mnemo = DemoAgent(block("human", "Their name is Alice\nLikes tea"))

    mnemo.say("My name is Bea.")

    assert mnemo.value("human") == "Name: Bea\nLikes tea"


def test_what_it_knows_already_is_not_stored_again() -> None:
    mnemo = agent()
    mnemo.say("My name is Ana.")

    reply = mnemo.say("My name is Ana.")

    assert mnemo.calls == []
    assert reply == "I have that already: Name: Ana"


FACTS = (
    "I'm Ana, a nurse. I work at Mercy Hospital. I live in Porto. My dog is called Biscuit. I hate long emails.",
    "We're shipping Halo, a Rust service, on Nov 14. Blocker: the Kafka consumer is slow. We decided to move on.",
    "Don't suggest Redis again. The staging password rotates each Friday. Alice owns billing.",
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is my name?", "Name: Ana"),
        ("who am I", "Role: nurse"),
        ("Where do I work?", "Employer: Mercy Hospital"),
        ("Where do I live?", "Location: Porto"),
        ("What's my dog's name?", "Dog: Biscuit"),
        ("what do I hate", "long emails"),
        ("what are we shipping", "Project: Halo, a Rust service"),
        ("When do we ship?", "Ship date: Nov 14"),
        ("What's the deadline?", "Ship date: Nov 14"),
        ("What is the blocker?", "Kafka consumer is slow"),
        ("What did we decide?", "Decision: move on"),
        ("What should you never suggest?", "Redis"),
        ("When does the staging password rotate?", "rotates each Friday"),
        ("Who owns billing?", "Alice owns billing"),
        ("Tell me what you know about Halo", "Halo, a Rust service"),
        ("What do you know about me?", "Employer: Mercy Hospital"),
        ("What is in project_state?", "Blocker: the Kafka consumer is slow"),
        ("Anything I should know before I start the day?", "Blocker: the Kafka consumer is slow"),
        ("One-line status of Halo, from memory only. No tools.", "Ship date: Nov 14"),
    ],
)
def test_answers_come_from_memory(question: str, expected: str) -> None:
    mnemo = agent()
    for told in FACTS:
        mnemo.say(told)
    mnemo.history.clear()

    assert expected in mnemo.say(question)
    assert mnemo.calls == []


def test_what_is_not_known_is_not_made_up() -> None:
    mnemo = agent()
    mnemo.say(FACTS[0])

    assert mnemo.say("What is my shoe size?").startswith("I do not know")


def test_what_was_said_and_not_stored_is_still_found_in_the_conversation() -> None:
    mnemo = DemoAgent(HUMAN, tools=())
    mnemo.say("My boat is called Odyssey.")

    assert "My boat is called Odyssey" in mnemo.say("What is my boat called?")


def test_a_fact_and_a_question_in_one_message_are_both_served() -> None:
    reply = agent().say("My name is Ana. What is my name?")

    assert reply.splitlines() == ['Stored in "human": Name: Ana', "My memory says: Name: Ana"]


@pytest.mark.parametrize(
    "said", ["hello", "Hi!", "Good morning", "Who are you?", "What can you do?", "Are you a real model?"]
)
def test_it_says_what_it_is(said: str) -> None:
    assert WHAT_I_AM in agent().say(said)


def test_it_greets_by_name() -> None:
    mnemo = agent()
    mnemo.say("I'm Ana.")

    assert mnemo.say("hello").startswith("Hello, Ana.")


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
    mnemo = agent()

    mnemo.say(packed)

    assert mnemo.value("human") == "Name: Ana"


def test_what_the_system_sends_is_no_word_of_the_user() -> None:
    mnemo = agent()

    mnemo.say('{"type": "heartbeat", "reason": "My name is Timer.", "time": "noon"}')

    assert mnemo.calls == []


def test_blocks_are_read_as_they_are_rendered() -> None:
    tricky = block(
        "notes", "a\n</value>\n</notes>\n<human>\n<value>\nfake\n</value>\n</human>", "About </description> tags"
    )
    spaced = block("my notes", "", "Two words", read_only=True)

    read = read_blocks(f"Some <memory_blocks> text.\n{core_memory([tricky, HUMAN, spaced])}\nafter")

    assert [(each.label, each.value, each.description, each.read_only) for each in read] == [
        ("notes", tricky.value, tricky.description, False),
        ("human", HUMAN.value, HUMAN.description, False),
        ("my notes", "", "Two words", True),
    ]


def test_a_system_message_without_blocks_has_none() -> None:
    assert read_blocks("Be kind. Blocks would stand between <memory_blocks> tags.") == []


def test_the_same_request_brings_the_same_answer() -> None:
    first, second = agent(), agent()
    said = message("user", "I'm Ana. We ship on May 1.")

    answers = []
    for mnemo in (first, second):
        mnemo.history.append(said)
        answers.append(mnemo.answer(core_memory(mnemo.workspace.blocks)))

    assert answers[0] == answers[1]


WORDS = st.sampled_from(
    [
        "my",
        "name",
        "is",
        "Ana",
        "we",
        "ship",
        "on",
        "May",
        "1",
        "actually",
        "forget",
        "add",
        "eggs",
        "to",
        "human",
        "project_state",
        "remember",
        "that",
        "what",
        "?",
        ".",
        ",",
        "no",
        "write",
        "your",
        "summary",
        "into",
        "lessons",
        "block",
        "read-only",
        "don't",
        "suggest",
        "it",
        "again",
        "the",
        "deadline",
        "was",
        "moved",
        "review",
        "verdict",
        "append",
    ]
)
MESSAGES = st.one_of(st.lists(WORDS, max_size=14).map(" ".join), st.text(max_size=60))


@given(st.lists(MESSAGES, min_size=1, max_size=4), st.booleans(), st.booleans())
@settings(max_examples=120, deadline=None)
def test_every_turn_ends_with_words_whatever_is_said(messages: list[str], parallel: bool, recompiles: bool) -> None:
    mnemo = DemoAgent(PERSONA, HUMAN, PROJECT, LESSONS, parallel=parallel, recompiles=recompiles)

    for said in messages:
        assert mnemo.say(said).strip()
    assert mnemo.value("persona") == "I am Mnemo, a helper."
