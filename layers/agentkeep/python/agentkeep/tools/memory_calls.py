"""The memory tools: from checked arguments to one edit on the workspace, and the text that answers the call."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from agentkeep.memory import edits
from agentkeep.memory.workspace import BlockWorkspace
from agentkeep.store.entities import Block
from agentkeep.tools.arguments import ToolArgumentsError

Arguments = Mapping[str, Any]
MemoryCall = Callable[[BlockWorkspace, Arguments], str]

_ROOT: Final = "/memories/"


class MissingForCommandError(ToolArgumentsError):
    """A command of the `memory` tool lacks something it needs."""

    def __init__(self, command: str, needed: str) -> None:
        super().__init__(f"memory with command '{command}' needs {needed}.")


def _insert(workspace: BlockWorkspace, given: Arguments) -> str:
    edit = partial(edits.insert, text=given["new_string"], line=given.get("insert_line", edits.END))
    return _value(workspace.change_value(given["label"], edit))


def _replace(workspace: BlockWorkspace, given: Arguments) -> str:
    edit = partial(edits.replace_once, old=given["old_string"], new=given["new_string"])
    return _value(workspace.change_value(given["label"], edit))


def _rethink(workspace: BlockWorkspace, given: Arguments) -> str:
    return _value(workspace.change_value(given["label"], lambda _: edits.rewrite(given["new_memory"])))


def _core_append(workspace: BlockWorkspace, given: Arguments) -> str:
    return _value(workspace.change_value(given["label"], partial(edits.insert, text=given["content"])))


def _core_replace(workspace: BlockWorkspace, given: Arguments) -> str:
    edit = partial(edits.replace_every, old=given["old_content"], new=given["new_content"])
    return _value(workspace.change_value(given["label"], edit))


def _command(workspace: BlockWorkspace, given: Arguments) -> str:
    return _COMMANDS[given["command"]](workspace, given)


def _create(workspace: BlockWorkspace, given: Arguments) -> str:
    label = _new_label(_needed(given, "path"))
    workspace.create(label, given.get("file_text", ""), given.get("description"))
    return f"The memory block '{label}' has been created."


def _str_replace(workspace: BlockWorkspace, given: Arguments) -> str:
    label = _label(workspace, _needed(given, "path"))
    edit = partial(edits.replace_once, old=_needed(given, "old_string"), new=_needed(given, "new_string"))
    return _value(workspace.change_value(label, edit))


def _insert_text(workspace: BlockWorkspace, given: Arguments) -> str:
    label = _label(workspace, _needed(given, "path"))
    edit = partial(edits.insert, text=_needed(given, "insert_text"), line=given.get("insert_line", edits.END))
    return _value(workspace.change_value(label, edit))


def _delete(workspace: BlockWorkspace, given: Arguments) -> str:
    label = _label(workspace, _needed(given, "path"))
    workspace.detach(label)
    return f"The memory block '{label}' has been taken off this agent."


def _rename(workspace: BlockWorkspace, given: Arguments) -> str:
    """A new label, or with `description` and no `new_path` a new description."""
    path = given.get("old_path", given.get("path"))
    if path is None or not {"new_path", "description"} & given.keys():
        raise MissingForCommandError("rename", "'old_path' and 'new_path', or 'path' and 'description'")
    label = _label(workspace, path)
    if "new_path" not in given:
        workspace.describe(label, given["description"])
        return f"The memory block '{label}' has a new description."
    new_label = _new_label(given["new_path"])
    workspace.rename(label, new_label)
    return f"The memory block '{label}' is now called '{new_label}'."


def _needed(given: Arguments, name: str) -> str:
    if name not in given:
        raise MissingForCommandError(given["command"], f"'{name}'")
    value: str = given[name]
    return value


def _new_label(path: str) -> str:
    return path.strip().removeprefix(_ROOT).strip("/")


def _label(workspace: BlockWorkspace, path: str) -> str:
    """The label that `path` names; a label of an older agent may write the slashes of a path as underscores."""
    label = _new_label(path)
    flat = label.replace("/", "_")
    return flat if label not in workspace.labels and flat in workspace.labels else label


def _value(block: Block) -> str:
    return block.value or f"The memory block '{block.label}' is empty now."


_COMMANDS: Final[Mapping[str, MemoryCall]] = {
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert_text,
    "delete": _delete,
    "rename": _rename,
}
MEMORY_CALLS: Final[Mapping[str, MemoryCall]] = {
    "memory_insert": _insert,
    "memory_replace": _replace,
    "memory_rethink": _rethink,
    "memory": _command,
    "core_memory_append": _core_append,
    "core_memory_replace": _core_replace,
}
"""What each memory tool does. Raises MemoryEditError and ToolArgumentsError with sentences for the model."""
