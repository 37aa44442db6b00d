"""The system message: the agent's instructions with its memory rendered into them.

The text is a pure function of what `fingerprint` covers and of `Facts`. It is compiled anew only when the fingerprint
changes, so between two changes every request starts with the same bytes and provider prompt caches hit. Time and counts
are those of the last compilation.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentkeep.memory.local_time import stamp
from agentkeep.store.entities import Agent, Block

PLACEHOLDER: Final = "{CORE_MEMORY}"
RENDERING: Final = 1
"""Number of the rendering below. Raise it with every change of the text, so that stored agents are compiled anew."""

_HEADING: Final = "Your memory blocks, each shown whole and as it is now:"


@dataclass(frozen=True)
class Facts:
    """What the memory metadata tells and the fingerprint leaves out, because it changes all the time.

    `conversation` is a `conv-...` id; None or the agent's own id is the default conversation. `archive_tags` are the
    tags in use in the agent's archives.
    """

    now: datetime
    conversation: str | None = None
    earlier_messages: int = 0
    archival_passages: int = 0
    archive_tags: tuple[str, ...] = ()


def compile_system(agent: Agent, blocks: Sequence[Block], facts: Facts) -> str:
    """The system message: memory in the place of the first `{CORE_MEMORY}` in `agent.system`, else after it."""
    memory = "\n\n".join(part for part in (core_memory(blocks), memory_metadata(agent, facts)) if part)
    if PLACEHOLDER in agent.system:
        return agent.system.replace(PLACEHOLDER, memory, 1)
    return f"{agent.system}\n\n{memory}" if agent.system else memory


def fingerprint(agent: Agent, blocks: Sequence[Block]) -> str:
    """A SHA-256 digest of everything `compile_system` renders except `Facts`: equal digests, equal text.

    It covers the content of blocks, not their ids and versions, so that a write which changes nothing the model sees
    (metadata, tags, an edit and its undo) leaves the prompt cache alone.
    """
    shown = [(block.label, block.description, block.limit, block.read_only, block.value) for block in blocks]
    rendered = json.dumps([RENDERING, agent.id, agent.system, agent.timezone, shown])
    return hashlib.sha256(rendered.encode()).hexdigest()


def core_memory(blocks: Sequence[Block]) -> str:
    """The `<memory_blocks>` section alone; empty for an agent without blocks.

    A value stands verbatim between a line `<value>` and a line `</value>`, and `chars_current` counts its characters.
    A value that itself holds `</value` is put between `<value-2>` and `</value-2>` (or the next number that is free),
    and its metadata says so: what looks like a closing tag inside it closes nothing. Descriptions likewise.
    """
    if not blocks:
        return ""
    rendered = "\n\n".join(_block(block) for block in blocks)
    return f"<memory_blocks>\n{_HEADING}\n\n{rendered}\n\n</memory_blocks>"


def memory_metadata(agent: Agent, facts: Facts) -> str:
    """The `<memory_metadata>` section alone: which agent and conversation, when compiled, what lies out of sight."""
    default = facts.conversation in (None, agent.id)
    lines = [
        f"- AGENT_ID: {agent.id}",
        f"- CONVERSATION_ID: {'default' if default else facts.conversation}",
        f"- This text was last recompiled at {stamp(facts.now, agent.timezone)}",
        f"- Recall memory holds {_count(facts.earlier_messages, 'earlier message')} of yours and the user's",
        *_archival(facts),
    ]
    return "\n".join(["<memory_metadata>", *lines, "</memory_metadata>"])


def _archival(facts: Facts) -> list[str]:
    if not facts.archival_passages:
        return []
    lines = [f"- Archival memory holds {_count(facts.archival_passages, 'passage')} that you stored"]
    if facts.archive_tags:
        lines.append(f"- Tags in use in archival memory: {', '.join(facts.archive_tags)}")
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _block(block: Block) -> str:
    tag = re.sub(r"[<>\s]+", "_", block.label)
    value_tag = _free_tag("value", block.value)
    return "\n".join(
        [
            f"<{tag}>",
            _fenced(_free_tag("description", block.description or ""), block.description or ""),
            _fenced("metadata", "\n".join(_metadata(block, tag, value_tag))),
            _fenced(value_tag, block.value),
            f"</{tag}>",
        ]
    )


def _metadata(block: Block, tag: str, value_tag: str) -> list[str]:
    lines = [f"- chars_current={len(block.value)}", f"- chars_limit={block.limit}"]
    if block.read_only:
        lines.insert(0, "- read_only=true")
    if tag != block.label:
        lines.insert(0, f"- label={json.dumps(block.label, ensure_ascii=False)}")
    if value_tag != "value":
        lines.append(f"- the value ends at </{value_tag}>; any other tag inside it is part of its text")
    return lines


def _fenced(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>"


def _free_tag(tag: str, text: str) -> str:
    """`tag`, or the first of `tag-2`, `tag-3` ... whose closing tag does not occur in `text`."""
    taken = set(re.findall(rf"</({tag}(?:-\d+)?)", text.lower()))
    if not taken:
        return tag
    number = 2
    while f"{tag}-{number}" in taken:
        number += 1
    return f"{tag}-{number}"
