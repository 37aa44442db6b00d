"""The demo model answers from its memory, says what it is, and makes nothing up."""

import pytest

from agentkeep.models.demo.questions import WHAT_I_AM
from tests.doubles.demo_agent import HUMAN, DemoAgent, new_mnemo

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
    mnemo = new_mnemo()
    for told in FACTS:
        mnemo.say(told)
    mnemo.history.clear()

    assert expected in mnemo.say(question)
    assert mnemo.calls == []


def test_what_is_not_known_is_not_made_up() -> None:
    mnemo = new_mnemo()
    mnemo.say(FACTS[0])

    assert mnemo.say("What is my shoe size?").startswith("I do not know")


def test_what_was_said_and_not_stored_is_still_found_in_the_conversation() -> None:
    mnemo = DemoAgent(HUMAN, tools=())
    mnemo.say("My boat is called Odyssey.")

    assert "My boat is called Odyssey" in mnemo.say("What is my boat called?")


def test_a_fact_and_a_question_in_one_message_are_both_served() -> None:
    reply = new_mnemo().say("My name is Ana. What is my name?")

    assert reply.splitlines() == ['Stored in "human": Name: Ana', "My memory says: Name: Ana"]


@pytest.mark.parametrize(
    "said", ["hello", "Hi!", "Good morning", "Who are you?", "What can you do?", "Are you a real model?"]
)
def test_it_says_what_it_is(said: str) -> None:
    assert WHAT_I_AM in new_mnemo().say(said)


def test_it_greets_by_name() -> None:
    mnemo = new_mnemo()
    mnemo.say("I'm Ana.")

    assert mnemo.say("hello").startswith("Hello, Ana.")
