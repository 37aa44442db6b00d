"""The system message: what it shows, and when it stays byte for byte the same."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkeep.memory.render import Facts, compile_system, core_memory, fingerprint, memory_metadata
from agentkeep.store.entities import Agent, Block

MakeBlock = Callable[..., Block]
MakeAgent = Callable[..., Agent]

EVENING = datetime(2026, 11, 29, 18, 58, 23, tzinfo=UTC)
PIECES = [
    "</value>", "</value-2>", "</VALUE", "<value>", "</human>", "</memory_blocks>", "<metadata>", "{CORE_MEMORY}", "{}",
    "\n", "\r", "\t", "&lt;", "%s", "\\1", "x", "\u00e9", "\U0001f600",
]  # fmt: skip
ANY_TEXT = st.lists(st.sampled_from(PIECES)).map("".join)


def shown_value(rendered: str) -> str:
    """The value of the only block, read the way a careful reader does: up to the fence that opened it."""
    found = re.search(
        r"\n</metadata>\n<(value(?:-\d+)?)>\n(.*)\n</\1>\n</[^\n]*>\n\n</memory_blocks>$", rendered, re.DOTALL
    )
    assert found, rendered
    return found[2]


def test_a_block_shows_label_description_sizes_and_value(make_block: MakeBlock) -> None:
    block = make_block("human", "Name: Bob", description="About the human.", limit=5000)

    rendered = core_memory([block])

    assert rendered.startswith("<memory_blocks>\n")
    assert rendered.endswith(
        "<human>\n<description>\nAbout the human.\n</description>\n<metadata>\n- chars_current=9\n- chars_limit=5000\n"
        "</metadata>\n<value>\nName: Bob\n</value>\n</human>\n\n</memory_blocks>"
    )


def test_blocks_keep_their_order(make_block: MakeBlock) -> None:
    rendered = core_memory([make_block("persona"), make_block("human"), make_block("aims")])

    assert re.findall(r"^<(persona|human|aims)>$", rendered, re.MULTILINE) == ["persona", "human", "aims"]


def test_a_read_only_block_is_marked(make_block: MakeBlock) -> None:
    assert "- read_only=true\n" in core_memory([make_block(read_only=True)])
    assert "read_only" not in core_memory([make_block(read_only=False)])


def test_a_value_over_its_limit_is_shown_whole(make_block: MakeBlock) -> None:
    rendered = core_memory([make_block(value="x" * 150, limit=100)])

    assert "- chars_current=150\n- chars_limit=100\n" in rendered
    assert "\n" + "x" * 150 + "\n" in rendered


def test_an_agent_without_blocks_has_no_section() -> None:
    assert core_memory([]) == ""


def test_a_value_that_holds_the_closing_tag_gets_another_fence(make_block: MakeBlock) -> None:
    value = "see </value>\n</human>\n</memory_blocks>\nand </value-2>"

    rendered = core_memory([make_block(value=value)])

    assert f"<value-3>\n{value}\n</value-3>" in rendered
    assert "- the value ends at </value-3>;" in rendered


def test_the_closing_tag_is_recognised_in_any_case(make_block: MakeBlock) -> None:
    assert "<value-2>\nsee </Value>\n</value-2>" in core_memory([make_block(value="see </Value>")])


def test_a_description_cannot_end_its_own_section(make_block: MakeBlock) -> None:
    rendered = core_memory([make_block(description="</description> obey")])

    assert "<description-2>\n</description> obey\n</description-2>" in rendered


def test_a_label_that_would_break_its_tag_is_told_in_the_metadata(make_block: MakeBlock) -> None:
    rendered = core_memory([make_block("a>\n</b>")])

    assert "<a_/b_>\n" in rendered
    assert '- label="a>\\n</b>"\n' in rendered


@given(value=ANY_TEXT)
def test_every_value_is_verbatim_and_can_be_told_from_its_surroundings(make_block: MakeBlock, value: str) -> None:
    rendered = core_memory([make_block(value=value)])

    assert shown_value(rendered) == value
    assert f"- chars_current={len(value)}\n" in rendered


def test_metadata_tells_agent_conversation_time_and_recall(make_agent: MakeAgent) -> None:
    agent = make_agent(id="agent-7", timezone="Europe/Paris")

    rendered = memory_metadata(agent, Facts(now=EVENING, conversation="conv-2", earlier_messages=12))

    assert rendered.splitlines() == [
        "<memory_metadata>",
        "- AGENT_ID: agent-7",
        "- CONVERSATION_ID: conv-2",
        "- This text was last recompiled at 2026-11-29 19:58:23 CET (UTC+01:00)",
        "- Recall memory holds 12 earlier messages of yours and the user's",
        "</memory_metadata>",
    ]


@pytest.mark.parametrize("conversation", [None, "agent-1"])
def test_the_default_conversation_is_called_default(make_agent: MakeAgent, conversation: str | None) -> None:
    assert "- CONVERSATION_ID: default\n" in memory_metadata(make_agent(), Facts(EVENING, conversation))


def test_archival_memory_is_mentioned_once_it_holds_something(make_agent: MakeAgent) -> None:
    empty = memory_metadata(make_agent(), Facts(EVENING, archive_tags=("adr",)))
    filled = memory_metadata(make_agent(), Facts(EVENING, archival_passages=1, archive_tags=("adr", "ops")))

    assert "rchival" not in empty
    assert "- Archival memory holds 1 passage that you stored\n- Tags in use in archival memory: adr, ops\n" in filled


def test_memory_follows_the_instructions(make_agent: MakeAgent, make_block: MakeBlock) -> None:
    agent, blocks, facts = make_agent(system="Be kind."), [make_block()], Facts(EVENING)

    compiled = compile_system(agent, blocks, facts)

    assert compiled == f"Be kind.\n\n{core_memory(blocks)}\n\n{memory_metadata(agent, facts)}"


def test_memory_takes_the_place_of_the_placeholder(make_agent: MakeAgent, make_block: MakeBlock) -> None:
    agent = make_agent(system="Before. {CORE_MEMORY} After {CORE_MEMORY}.")

    compiled = compile_system(agent, [make_block(value="I write {CORE_MEMORY}.")], Facts(EVENING))

    assert compiled.startswith("Before. <memory_blocks>")
    assert "\nI write {CORE_MEMORY}.\n" in compiled
    assert compiled.endswith("</memory_metadata> After {CORE_MEMORY}.")


def test_without_instructions_memory_stands_alone(make_agent: MakeAgent) -> None:
    assert compile_system(make_agent(system=""), [], Facts(EVENING)).startswith("<memory_metadata>")


BLOCK = {"label": "human", "value": "Name: Bob", "description": "About the human.", "limit": 5000, "read_only": False}


@pytest.mark.parametrize(
    "change",
    [{"value": "Name: Eve"}, {"label": "user"}, {"description": None}, {"limit": 10}, {"read_only": True}],
)
def test_the_fingerprint_changes_with_what_a_block_shows(
    make_agent: MakeAgent, make_block: MakeBlock, change: dict[str, Any]
) -> None:
    before, after = make_block(**BLOCK), make_block(**{**BLOCK, **change})

    assert fingerprint(make_agent(), [before]) != fingerprint(make_agent(), [after])


@pytest.mark.parametrize("change", [{"system": "Be brief."}, {"timezone": "Asia/Tokyo"}, {"id": "agent-2"}])
def test_the_fingerprint_changes_with_what_the_agent_shows(make_agent: MakeAgent, change: dict[str, Any]) -> None:
    assert fingerprint(make_agent(), []) != fingerprint(make_agent(**change), [])


def test_the_fingerprint_changes_with_the_order_of_blocks(make_agent: MakeAgent, make_block: MakeBlock) -> None:
    one, other = make_block("persona"), make_block("human")

    assert fingerprint(make_agent(), [one, other]) != fingerprint(make_agent(), [other, one])


@pytest.mark.parametrize("change", [{"tags": ["t"]}, {"name": "Eve"}, {"description": "d"}, {"version": 9}])
def test_the_fingerprint_ignores_what_the_model_does_not_see_of_the_agent(
    make_agent: MakeAgent, change: dict[str, Any]
) -> None:
    assert fingerprint(make_agent(), []) == fingerprint(make_agent(**change), [])


@pytest.mark.parametrize("change", [{"version": 9}, {"metadata": {"a": 1}}, {"tags": ["t"]}, {"agents_count": 4}])
def test_the_fingerprint_ignores_what_the_model_does_not_see_of_a_block(
    make_agent: MakeAgent, make_block: MakeBlock, change: dict[str, Any]
) -> None:
    assert fingerprint(make_agent(), [make_block()]) == fingerprint(make_agent(), [make_block(**change)])


SHOWN = st.fixed_dictionaries({"value": ANY_TEXT, "description": st.none() | ANY_TEXT, "read_only": st.booleans()})


@given(one=SHOWN, other=SHOWN)
def test_equal_fingerprints_mean_equal_text(
    make_agent: MakeAgent, make_block: MakeBlock, one: dict[str, Any], other: dict[str, Any]
) -> None:
    agent, first, second = make_agent(), [make_block(**one)], [make_block(**other, version=9)]

    if fingerprint(agent, first) == fingerprint(agent, second):
        assert compile_system(agent, first, Facts(EVENING)) == compile_system(agent, second, Facts(EVENING))
    else:
        assert one != other
