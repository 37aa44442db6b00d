"""The memory tools, called the way models call them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkeep.tools.registry import BUILTIN

MakeDesk = Callable[..., Any]


def test_inserting_returns_the_new_value(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "Name: Bob"})

    returned = desk.call("memory_insert", label="human", new_string="Likes tea")

    assert (returned.status, returned.content) == ("success", "Name: Bob\nLikes tea")
    assert (returned.tool_call_id, returned.name) == ("call-1", "memory_insert")
    assert desk.value("human") == "Name: Bob\nLikes tea"


def test_inserting_at_a_line_sent_as_text(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "one\ntwo"})

    assert desk.call("memory_insert", label="human", new_string="NEW", insert_line="1").content == "one\nNEW\ntwo"


def test_replacing_returns_the_new_value(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "Name: Bob\nLikes tea"})

    returned = desk.call("memory_replace", label="human", old_string="Likes tea", new_string="Likes coffee")

    assert (returned.status, returned.content) == ("success", "Name: Bob\nLikes coffee")


def test_replacing_under_the_former_names(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "Likes tea"})

    assert desk.call("memory_replace", label="human", old_str="tea", new_str="mate").content == "Likes mate"


def test_replacing_what_is_not_there(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "Likes coffee"})

    returned = desk.call("memory_replace", label="human", old_string="NOT THERE", new_string="x")

    assert returned.status == "error"
    assert returned.content.startswith("Nothing was replaced: `NOT THERE` does not occur in the block.")
    assert desk.value("human") == "Likes coffee"


def test_emptying_a_block_is_said_in_words(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "x"})

    assert desk.call("memory_replace", label="human", old_string="x", new_string="").content == (
        "The memory block 'human' is empty now."
    )
    assert desk.value("human") == ""


def test_rethinking_replaces_the_whole_value(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "old"})

    assert desk.call("memory_rethink", label="human", new_memory="new\nand better").content == "new\nand better"


def test_core_memory_append_and_replace(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "tea"})

    assert desk.call("core_memory_append", label="human", content="tea again").content == "tea\ntea again"
    assert desk.call("core_memory_replace", label="human", old_content="tea", new_content="mate").content == (
        "mate\nmate again"
    )
    assert desk.call("core_memory_replace", label="human", old_content="tea", new_content="x").status == "error"


def test_finishing_edits_changes_nothing(make_desk: MakeDesk) -> None:
    desk = make_desk({})

    assert desk.call("memory_finish_edits").status == "success"
    assert desk.workspace.changed() == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_insert", {"new_string": "x"}),
        ("memory_replace", {"old_string": "Be kind.", "new_string": "x"}),
        ("memory_rethink", {"new_memory": "x"}),
        ("core_memory_append", {"content": "x"}),
        ("core_memory_replace", {"old_content": "Be kind.", "new_content": "x"}),
    ],
)
def test_read_only_blocks_and_unknown_labels_are_refused(
    make_desk: MakeDesk, tool: str, arguments: dict[str, str]
) -> None:
    desk = make_desk({"human": ""})

    read_only = desk.call(tool, label="rules", **arguments)
    unknown = desk.call(tool, label="Human", **arguments)

    assert (read_only.status, unknown.status) == ("error", "error")
    assert "'rules' is read-only" in read_only.content
    assert unknown.content == "There is no memory block 'Human' on this agent. Its blocks are: human, rules."
    assert desk.workspace.changed() == []


@pytest.mark.parametrize("path", ["/memories/travel", "travel", "/travel", "/memories/travel/"])
def test_creating_a_block(make_desk: MakeDesk, path: str) -> None:
    desk = make_desk({})

    returned = desk.call("memory", command="create", path=path, description="Trips.", file_text="Porto")

    assert returned.content == "The memory block 'travel' has been created."
    assert (desk.value("travel"), desk.workspace.get("travel").description) == ("Porto", "Trips.")


def test_creating_an_empty_block(make_desk: MakeDesk) -> None:
    desk = make_desk({})

    desk.call("memory", command="create", path="/memories/travel", description="Trips.")

    assert desk.value("travel") == ""


def test_creating_a_block_that_exists(make_desk: MakeDesk) -> None:
    returned = make_desk({"human": "x"}).call("memory", command="create", path="/memories/human", file_text="y")

    assert (returned.status, "already a memory block 'human'" in returned.content) == ("error", True)


@pytest.mark.parametrize("path", ["", "/memories/", "/"])
def test_creating_a_block_without_a_label(make_desk: MakeDesk, path: str) -> None:
    returned = make_desk({}).call("memory", command="create", path=path)

    assert (returned.status, "needs a label" in returned.content) == ("error", True)


def test_replacing_and_inserting_by_path(make_desk: MakeDesk) -> None:
    desk = make_desk({"notes": "one\ntwo"})

    replaced = desk.call("memory", command="str_replace", path="/memories/notes", old_string="two", new_string="2")
    inserted = desk.call("memory", command="insert", path="/memories/notes", insert_text="0", insert_line=0)
    appended = desk.call("memory", command="insert", path="/memories/notes", insert_text="3")

    assert [returned.content for returned in (replaced, inserted, appended)] == ["one\n2", "0\none\n2", "0\none\n2\n3"]


def test_a_nested_path_finds_the_label_it_was_created_with_or_the_flat_one(make_desk: MakeDesk) -> None:
    desk = make_desk({"projects/halo": "a", "projects_iris": "b"})

    assert desk.call("memory", command="insert", path="/memories/projects/halo", insert_text="x").content == "a\nx"
    assert desk.call("memory", command="insert", path="/memories/projects/iris", insert_text="x").content == "b\nx"


def test_renaming(make_desk: MakeDesk) -> None:
    desk = make_desk({"temp": "x"})

    returned = desk.call("memory", command="rename", old_path="/memories/temp", new_path="/memories/kept")

    assert returned.content == "The memory block 'temp' is now called 'kept'."
    assert desk.value("kept") == "x"


def test_describing_is_a_form_of_renaming(make_desk: MakeDesk) -> None:
    desk = make_desk({"temp": "x"})

    returned = desk.call("memory", command="rename", path="/memories/temp", description="For now.")

    assert returned.status == "success"
    assert desk.workspace.get("temp").description == "For now."


def test_deleting_takes_the_block_off_the_agent(make_desk: MakeDesk) -> None:
    desk = make_desk({"temp": "x"})

    returned = desk.call("memory", command="delete", path="/memories/temp")

    assert returned.content == "The memory block 'temp' has been taken off this agent."
    assert [(change.after.label, change.detached) for change in desk.workspace.changed()] == [("temp", True)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "memory needs the argument 'command' (a string: create, str_replace, insert, delete, rename)"),
        ({"command": "view", "path": "/memories/human"}, "must be one of create, str_replace, insert, delete, rename"),
        ({"command": "create"}, "memory with command 'create' needs 'path'"),
        ({"command": "delete"}, "memory with command 'delete' needs 'path'"),
        ({"command": "insert", "path": "human"}, "memory with command 'insert' needs 'insert_text'"),
        ({"command": "str_replace", "path": "human"}, "memory with command 'str_replace' needs 'old_string'"),
        ({"command": "str_replace", "path": "human", "old_string": "x"}, "needs 'new_string'"),
        ({"command": "rename"}, "needs 'old_path' and 'new_path', or 'path' and 'description'"),
        ({"command": "rename", "old_path": "human"}, "needs 'old_path' and 'new_path', or 'path' and 'description'"),
        ({"command": "rename", "old_path": "human", "new_path": "rules"}, "already a memory block 'rules'"),
        ({"command": "rename", "old_path": "rules", "new_path": "laws"}, "'rules' is read-only"),
        ({"command": "delete", "path": "/memories/rules"}, "'rules' is read-only"),
        ({"command": "delete", "path": "/memories/nobody"}, "no memory block 'nobody'"),
    ],
)
def test_a_command_that_cannot_be_done_says_what_it_needs(
    make_desk: MakeDesk, arguments: dict[str, str], said: str
) -> None:
    desk = make_desk({"human": "x"})

    returned = desk.call("memory", **arguments)

    assert returned.status == "error"
    assert said in returned.content
    assert desk.workspace.changed() == []


def test_a_huge_value_is_stored_whole_and_returned_in_part(make_desk: MakeDesk) -> None:
    desk = make_desk({"human": "x" * 200_000})

    returned = desk.call("memory_insert", label="human", new_string="end")

    assert len(returned.content) < 50_200
    assert returned.content.endswith("[Cut here: 150004 of 200004 characters are not shown.]")
    assert desk.value("human").endswith("x\nend")


MEMORY_TOOLS = [name for name, tool in BUILTIN.items() if tool.effects == "memory"]
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from(["human", "rules", "notes", "x", "x\ny", "", "create", "insert", "delete", "rename"])
        for name in [
            "label", "new_string", "old_string", "new_memory", "content", "old_content", "new_content", "command",
            "path", "file_text", "insert_text", "old_path", "new_path", "description",
        ]
    },
)  # fmt: skip


@given(calls=st.lists(st.tuples(st.sampled_from(MEMORY_TOOLS), ARGUMENTS), max_size=6))
def test_a_call_that_is_refused_changes_nothing(make_desk: MakeDesk, calls: list[tuple[str, dict[str, str]]]) -> None:
    desk = make_desk({"human": "x", "notes": "x\ny"})

    for name, arguments in calls:
        known = {key: value for key, value in arguments.items() if key in BUILTIN[name].parameters["properties"]}
        blocks = desk.workspace.blocks
        returned = desk.call_raw(name, json.dumps(known))

        assert returned.status == "success" or desk.workspace.blocks == blocks
        assert returned.content
