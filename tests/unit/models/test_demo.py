"""The demo model remembers what it is told: each fact in the block that suits, corrected when it changes."""

import json

import pytest

from tests.doubles.demo_agent import DemoAgent, block, new_mnemo


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
    mnemo = new_mnemo()

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
    mnemo = new_mnemo()

    assert mnemo.say(told)
    assert mnemo.calls == []


def test_several_facts_take_one_call_for_each_block() -> None:
    mnemo = new_mnemo()

    reply = mnemo.say("I'm Ana. I like tea. We ship on May 1. The staging server is slow.")

    assert [json.loads(call.arguments)["label"] for call in mnemo.calls] == ["human", "project_state"]
    assert mnemo.value("human") == 'Name: Ana\nPreference: "I like tea"'
    assert mnemo.value("project_state") == "Ship date: May 1\nStaging server: slow"
    assert 'Stored in "human": Name: Ana' in reply


@pytest.mark.parametrize("parallel", [False, True])
def test_calls_come_one_at_a_time_unless_the_settings_allow_more(parallel: bool) -> None:
    mnemo = new_mnemo(parallel=parallel)

    mnemo.say("I'm Ana. We ship on May 1.")

    answers = [sent for sent in mnemo.history if sent.tool_calls]
    assert len(answers) == (1 if parallel else 2)
    assert mnemo.value("project_state") == "Ship date: May 1"


def test_it_does_not_repeat_itself_when_the_system_message_still_shows_the_old_memory() -> None:
    mnemo = new_mnemo(recompiles=False)

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
    mnemo = new_mnemo()
    mnemo.say(first)

    mnemo.say(then)

    assert mnemo.value(label) == value
    assert [call.name for call in mnemo.calls] == ["memory_replace"]


def test_a_correction_within_one_message_leaves_the_newer_fact() -> None:
    mnemo = new_mnemo()

    mnemo.say("My name is Ana. No, my name is Anna.")

    assert mnemo.value("human") == "Name: Anna"


def test_memory_that_it_did_not_write_is_corrected_too() -> None:
    mnemo = DemoAgent(block("human", "Their name is Alice\nLikes tea"))

    mnemo.say("My name is Bea.")

    assert mnemo.value("human") == "Name: Bea\nLikes tea"


def test_what_it_knows_already_is_not_stored_again() -> None:
    mnemo = new_mnemo()
    mnemo.say("My name is Ana.")

    reply = mnemo.say("My name is Ana.")

    assert mnemo.calls == []
    assert reply == "I have that already: Name: Ana"
