"""The working copy of a step: edits, folding, refusals."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkeep.memory.edits import MemoryEditError, TextNotFoundError, insert, replace_once
from agentkeep.memory.workspace import (
    BlockChange,
    BlockWorkspace,
    EmptyLabelError,
    LabelTakenError,
    ReadOnlyBlockError,
    UnknownLabelError,
)
from agentkeep.store.entities import Block

MakeBlock = Callable[..., Block]
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def to(value: str) -> Callable[[str], str]:
    """The edit that puts `value` in the place of all there is."""
    return lambda _: value


def workspace_of(blocks: Sequence[Block]) -> BlockWorkspace:
    numbers = count(1)
    return BlockWorkspace(blocks, now=NOW, new_id=lambda: f"block-new-{next(numbers)}")


def test_several_edits_of_one_block_are_one_change(make_block: MakeBlock) -> None:
    loaded = make_block("human", "Name: Bob", version=3)
    workspace = workspace_of([loaded, make_block("persona", "Kind.")])

    workspace.change_value("human", partial(insert, text="Likes tea"))
    workspace.change_value("human", partial(replace_once, old="tea", new="coffee"))
    workspace.describe("human", "Who I talk with.")

    (change,) = workspace.changed()
    assert change.before == loaded
    assert change.after.value == "Name: Bob\nLikes coffee"
    assert change.after.description == "Who I talk with."
    assert (change.after.version, change.after.updated_at) == (4, NOW)
    assert (change.written, change.detached) == (True, False)


def test_edits_that_cancel_out_are_no_change(make_block: MakeBlock) -> None:
    loaded = make_block("human", "Name: Bob")
    workspace = workspace_of([loaded])

    workspace.change_value("human", to("Name: Eve"))
    workspace.change_value("human", to("Name: Bob"))

    assert workspace.changed() == []
    assert workspace.blocks == [loaded]


def test_a_created_block_is_last_and_has_its_first_version(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human")])

    workspace.create("travel", "Porto", "Trips.")
    workspace.change_value("travel", partial(insert, text="Lyon"))

    (change,) = workspace.changed()
    assert workspace.labels == ["human", "travel"]
    assert change == BlockChange(before=None, after=workspace.get("travel"))
    assert change.written
    assert change.after == Block(
        id="block-new-1", label="travel", value="Porto\nLyon", description="Trips.", created_at=NOW, updated_at=NOW
    )


def test_a_block_created_and_detached_in_one_step_never_was(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human")])

    workspace.create("travel", "Porto")
    workspace.detach("travel")

    assert workspace.changed() == []


def test_a_detached_block_is_gone_but_not_written(make_block: MakeBlock) -> None:
    loaded = make_block("human")
    workspace = workspace_of([loaded])

    workspace.detach("human")

    assert workspace.blocks == []
    assert workspace.changed() == [BlockChange(before=loaded, after=loaded, detached=True)]
    assert not workspace.changed()[0].written


def test_an_edit_before_detaching_is_written_for_the_others_that_share_the_block(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("shared", "old")])

    workspace.change_value("shared", to("new"))
    workspace.detach("shared")

    (change,) = workspace.changed()
    assert (change.after.value, change.written, change.detached) == ("new", True, True)


def test_a_detached_blocks_label_can_be_taken_again(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human", id="block-a")])

    workspace.detach("human")
    workspace.create("human", "Somebody else")

    assert [(change.after.id, change.detached) for change in workspace.changed()] == [
        ("block-new-1", False),
        ("block-a", True),
    ]


def test_renaming_keeps_place_and_value(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human", "Bob", id="block-a"), make_block("persona")])

    workspace.rename("human", "user")

    assert workspace.labels == ["user", "persona"]
    assert (workspace.get("user").id, workspace.get("user").value) == ("block-a", "Bob")


def test_renaming_to_the_same_label_changes_nothing(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human")])

    workspace.rename("human", "human")

    assert workspace.changed() == []


def test_an_unknown_label_is_answered_with_the_labels_there_are(make_block: MakeBlock) -> None:
    with pytest.raises(UnknownLabelError, match=r"'Human' on this agent[.] Its blocks are: human, persona[.]"):
        workspace_of([make_block("human"), make_block("persona")]).get("Human")


def test_an_unknown_label_on_an_agent_without_blocks() -> None:
    with pytest.raises(UnknownLabelError, match="It has no memory blocks"):
        workspace_of([]).get("human")


@pytest.mark.parametrize(
    "edit",
    [
        lambda workspace: workspace.change_value("policies", to("none")),
        lambda workspace: workspace.describe("policies", "none"),
        lambda workspace: workspace.rename("policies", "rules"),
        lambda workspace: workspace.rename("policies", "policies"),
        lambda workspace: workspace.detach("policies"),
    ],
)
def test_a_read_only_block_is_never_touched(make_block: MakeBlock, edit: Callable[[BlockWorkspace], Block]) -> None:
    loaded = make_block("policies", "1. Be kind.", read_only=True)
    workspace = workspace_of([loaded])

    with pytest.raises(ReadOnlyBlockError, match="'policies' is read-only"):
        edit(workspace)

    assert (workspace.blocks, workspace.changed()) == ([loaded], [])


def test_a_taken_label_is_refused(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human"), make_block("persona")])

    with pytest.raises(LabelTakenError):
        workspace.create("human", "")
    with pytest.raises(LabelTakenError):
        workspace.rename("persona", "human")


@pytest.mark.parametrize("label", ["", "  ", "\0"])
def test_an_empty_label_is_refused(make_block: MakeBlock, label: str) -> None:
    with pytest.raises(EmptyLabelError):
        workspace_of([]).create(label, "x")
    with pytest.raises(EmptyLabelError):
        workspace_of([make_block("human")]).rename("human", label)


def test_what_cannot_be_stored_is_cleaned(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human")])

    workspace.change_value("human", to("a\0b\ud800"))
    workspace.describe("human", "c\0")
    workspace.create("d\0", "e\0", "f\0")

    assert (workspace.get("human").value, workspace.get("human").description) == ("ab\ufffd", "c")
    assert (workspace.get("d").value, workspace.get("d").description) == ("e", "f")


def test_a_limit_is_not_enforced(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human", limit=5)])

    assert workspace.change_value("human", to("far longer than five")).value == "far longer than five"


def test_a_refused_edit_changes_nothing(make_block: MakeBlock) -> None:
    workspace = workspace_of([make_block("human", "Bob")])

    with pytest.raises(TextNotFoundError):
        workspace.change_value("human", partial(replace_once, old="Eve", new="Ada"))

    assert (workspace.get("human").value, workspace.changed()) == ("Bob", [])


def test_loaded_blocks_are_not_altered(make_block: MakeBlock) -> None:
    loaded = make_block("human", "Bob")

    workspace_of([loaded]).change_value("human", to("Eve"))

    assert loaded.value == "Bob"


LABEL = st.sampled_from(["a", "b", "c", "locked"])
TEXT = st.sampled_from(["x", "y\nz", "", "x y"])
STEP = st.one_of(
    st.tuples(st.just("insert"), LABEL, TEXT),
    st.tuples(st.just("replace"), LABEL, TEXT),
    st.tuples(st.just("set"), LABEL, TEXT),
    st.tuples(st.just("create"), LABEL, TEXT),
    st.tuples(st.just("rename"), LABEL, LABEL),
    st.tuples(st.just("detach"), LABEL, TEXT),
)


def take(workspace: BlockWorkspace, step: tuple[str, str, str]) -> None:
    kind, label, text = step
    made = {
        "insert": lambda: workspace.change_value(label, partial(insert, text=text)),
        "replace": lambda: workspace.change_value(label, partial(replace_once, old="x", new=text)),
        "set": lambda: workspace.change_value(label, to(text)),
        "create": lambda: workspace.create(label, text),
        "rename": lambda: workspace.rename(label, text),
        "detach": lambda: workspace.detach(label),
    }
    try:
        made[kind]()
    except MemoryEditError:
        return


@given(steps=st.lists(STEP, max_size=12))
def test_changes_lead_from_the_loaded_blocks_to_the_present_ones(
    make_block: MakeBlock, steps: list[tuple[str, str, str]]
) -> None:
    loaded = [make_block("a", "x"), make_block("b", "x\nx"), make_block("locked", "x", read_only=True)]
    workspace = workspace_of(loaded)
    for step in steps:
        take(workspace, step)

    stored = {block.id: block for block in loaded}
    attached = set(stored)
    for change in workspace.changed():
        stored[change.after.id] = change.after
        attached = attached - {change.after.id} if change.detached else attached | {change.after.id}

    assert len({change.after.id for change in workspace.changed()}) == len(workspace.changed())
    assert {block.id: block for block in workspace.blocks} == {block_id: stored[block_id] for block_id in attached}
    assert len(set(workspace.labels)) == len(workspace.labels)
    assert workspace.get("locked") == loaded[2]
