"""From facts to edits of blocks, and from edits to calls of whatever memory tools are offered."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agentkeep.models.demo.blocks import MemoryBlock, choose
from agentkeep.models.demo.facts import Told
from agentkeep.models.demo.patterns import Fact
from agentkeep.models.demo.text import ALIKE, meaning, overlap

MEMORY_TOOLS: Final = frozenset(
    {"memory_insert", "memory_replace", "memory_rethink", "core_memory_append", "core_memory_replace", "memory"}
)


@dataclass(frozen=True)
class Edit:
    """A change of one block: `new` as a further line, or in the place of `old`; an empty `new` removes `old`."""

    block: MemoryBlock
    new: str
    old: str | None = None


@dataclass(frozen=True)
class Call:
    """A tool call to make."""

    tool: str
    arguments: Mapping[str, Any]


def plan(told: Told, blocks: Sequence[MemoryBlock], removed: int = 0) -> list[Edit]:
    """The edits that bring the blocks up to what was told; none for what they say already. One insertion a block.

    `removed` is how many of the things to forget were removed before.
    """
    edits = [edit for wanted in told.forget[removed:] if (edit := _removal(wanted, blocks))]
    for fact in told.facts:
        if not knows(blocks, fact):
            edit = _edit(fact, blocks)
            if edit:
                _add(edits, edit)
    return edits


def knows(blocks: Iterable[MemoryBlock], fact: Fact) -> bool:
    """Whether a block says this already."""
    line = fact.line.casefold()
    return any(line == known.casefold() for block in blocks for known in block.lines)


def calls(edits: Iterable[Edit], offered: Iterable[str]) -> list[Call]:
    """The calls that make these edits with the tools offered; an edit that none of them can make is left out."""
    tools = frozenset(offered)
    made = (_replacement(edit, tools) if edit.old is not None else _insertion(edit, tools) for edit in edits)
    return [call for call in made if call is not None]


def text_of(arguments: Mapping[str, Any]) -> tuple[str, str]:
    """The label and the new text in the arguments of a memory call that was made."""
    label = arguments.get("label") or str(arguments.get("path") or "").removeprefix("/memories/")
    names = ("new_string", "content", "new_content", "insert_text", "new_memory")
    return str(label), next((str(arguments[name]) for name in names if name in arguments), "")


def _edit(fact: Fact, blocks: Sequence[MemoryBlock]) -> Edit | None:
    outdated = _outdated(fact, _own_lines(_writable(blocks)))
    if outdated:
        block, line = outdated
        return Edit(block, fact.line, line)
    chosen = choose(blocks, fact.kind, fact.line)
    if chosen is None:
        return None
    placeholder = chosen.value.strip() if chosen.is_blank else ""
    return Edit(chosen, fact.line, placeholder or None)


def _outdated(fact: Fact, lines: Sequence[tuple[MemoryBlock, str]]) -> tuple[MemoryBlock, str] | None:
    """The line that this fact takes the place of, with its block."""
    if fact.single and fact.key:
        key = re.compile(rf"^\W*(?:\w+\s+){{0,2}}{re.escape(fact.key)}\s*(?::|=|\bis\b|\bare\b)", re.IGNORECASE)
        found = next(((block, line) for block, line in lines if key.search(line)), None)
        if found:
            return found
    if not fact.corrects:
        return None
    same_key = [(block, line) for block, line in lines if fact.key and line.startswith(f"{fact.key}:")]
    if len(same_key) == 1:
        return same_key[0]
    stems = meaning(fact.line)
    best = max(lines, key=lambda candidate: overlap(candidate[1], stems), default=None)
    return best if best and overlap(best[1], stems) >= ALIKE else None


def _removal(wanted: str, blocks: Sequence[MemoryBlock]) -> Edit | None:
    stems = meaning(wanted)
    lines = _own_lines(_writable(blocks))
    best = max(lines, key=lambda candidate: overlap(candidate[1], stems), default=None)
    if best is None or 2 * overlap(best[1], stems) < max(1, len(stems)):
        return None
    block, line = best
    with_break = (candidate for candidate in (f"{line}\n", f"\n{line}") if block.value.count(candidate) == 1)
    return Edit(block, "", next(with_break, line))


def _writable(blocks: Sequence[MemoryBlock]) -> list[MemoryBlock]:
    return [block for block in blocks if not block.read_only and not block.is_persona]


def _own_lines(blocks: Sequence[MemoryBlock]) -> list[tuple[MemoryBlock, str]]:
    """The lines that a tool can find: those that occur once in their block."""
    return [(block, line) for block in blocks for line in block.lines if block.value.count(line) == 1]


def _add(edits: list[Edit], edit: Edit) -> None:
    """Adds an edit; lines for the same end of a block, or for the same placeholder, become one edit."""
    for index, earlier in enumerate(edits):
        same_place = earlier.block.label == edit.block.label and earlier.old == edit.old
        if same_place and (edit.old is None or edit.block.is_blank):
            edits[index] = replace(earlier, new=f"{earlier.new}\n{edit.new}")
            return
    edits.append(edit)


def _insertion(edit: Edit, tools: frozenset[str]) -> Call | None:
    label, new = edit.block.label, edit.new
    if "memory_insert" in tools:
        return Call("memory_insert", {"label": label, "new_string": new})
    if "core_memory_append" in tools:
        return Call("core_memory_append", {"label": label, "content": new})
    if "memory" in tools:
        return Call("memory", {"command": "insert", "path": f"/memories/{label}", "insert_text": new})
    return _rethink(edit, f"{edit.block.value}\n{new}".strip(), tools)


def _replacement(edit: Edit, tools: frozenset[str]) -> Call | None:
    label, old, new = edit.block.label, edit.old or "", edit.new
    if "memory_replace" in tools:
        return Call("memory_replace", {"label": label, "old_string": old, "new_string": new})
    if "core_memory_replace" in tools:
        return Call("core_memory_replace", {"label": label, "old_content": old, "new_content": new})
    if "memory" in tools:
        path = f"/memories/{label}"
        return Call("memory", {"command": "str_replace", "path": path, "old_string": old, "new_string": new})
    return _rethink(edit, edit.block.value.replace(old, new), tools) or _insertion(edit, tools) if new else None


def _rethink(edit: Edit, value: str, tools: frozenset[str]) -> Call | None:
    if "memory_rethink" not in tools:
        return None
    return Call("memory_rethink", {"label": edit.block.label, "new_memory": value})
