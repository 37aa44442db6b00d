"""The memory blocks as the demo model sees them: read from the system message, and chosen for a fact."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentkeep.models.demo.text import meaning, stems

Kind = Literal["human", "project", "lesson", "other"]

_SECTION = re.compile(r"^<memory_blocks>$", re.MULTILINE)
_BLOCK = re.compile(
    r"^<(?P<tag>[^<>\s/]+)>\s*"
    r"(?:<(?P<d>description(?:-\d+)?)>\n?(?P<description>.*?)\n?</(?P=d)>\s*)?"
    r"(?:<metadata>\n?(?P<metadata>.*?)\n?</metadata>\s*)?"
    r"<(?P<v>value(?:-\d+)?)>\n?(?P<value>.*?)\n?</(?P=v)>\s*"
    r"</(?P=tag)>",
    re.DOTALL | re.MULTILINE,
)
_LABEL = re.compile(r"^- label=(?P<label>\".*\")$", re.MULTILINE)
_PLACEHOLDER = re.compile(
    r"^\W*(?:empty|none|unknown(?: so far| yet)?|nothing(?: here| so far| yet)?|n/a|tbd|todo|to be filled in)\W*$",
    re.IGNORECASE,
)
_PERSONA: Final = frozenset({"persona", "personality", "identity", "self"})
_RULES: Final = stems("policy policies rules guidelines principles standards")
_SUITS: Final[dict[Kind, frozenset[str]]] = {
    "human": stems("human user users person people name preferences profile customer engineer role habits about who"),
    "project": stems(
        "project state status milestone milestones blockers decisions work task tasks team plan context roadmap release"
    ),
    "lesson": stems("lesson lessons mistake mistakes learned never avoid pitfalls"),
    "other": stems("notes note facts scratch knowledge misc memory information"),
}
_NEXT_BEST: Final[dict[Kind, tuple[Kind, ...]]] = {
    "human": ("human", "other"),
    "project": ("project", "other", "human"),
    "lesson": ("lesson", "project", "other", "human"),
    "other": ("other", "project", "human"),
}


@dataclass(frozen=True)
class MemoryBlock:
    """One block of the system message."""

    label: str
    description: str
    value: str
    read_only: bool

    @property
    def lines(self) -> list[str]:
        """The lines of the value that say something."""
        return [] if self.is_blank else [line.strip() for line in self.value.splitlines() if line.strip()]

    @property
    def is_blank(self) -> bool:
        """Whether the value is empty or only says that it is."""
        return not self.value.strip() or _PLACEHOLDER.match(self.value.strip()) is not None

    @property
    def is_persona(self) -> bool:
        """Whether the block says who the agent is, which no fact about others belongs into."""
        return bool(_PERSONA & set(re.split(r"\W|_", self.label.lower())))

    @property
    def is_rules(self) -> bool:
        """Whether the block holds rules that work is checked against."""
        return bool(_RULES & meaning(self.label.replace("_", " ")))


def read_blocks(system: str) -> list[MemoryBlock]:
    """The blocks rendered in a system message; none when it has no `<memory_blocks>` section."""
    section = _SECTION.search(system)
    return [_block(found) for found in _BLOCK.finditer(system, section.end())] if section else []


def _block(found: re.Match[str]) -> MemoryBlock:
    metadata = found["metadata"] or ""
    label = _LABEL.search(metadata)
    return MemoryBlock(
        label=json.loads(label["label"]) if label else found["tag"],
        description=found["description"] or "",
        value=found["value"],
        read_only="read_only=true" in metadata.replace(" ", "").lower(),
    )


def choose(blocks: Sequence[MemoryBlock], kind: Kind, fact: str) -> MemoryBlock | None:
    """The block a fact belongs into, by labels and descriptions; never one that is read-only or a persona."""
    writable = [block for block in blocks if not block.read_only and not block.is_persona]
    for suited in _NEXT_BEST[kind]:
        best = max(writable, key=lambda block: _score(block, suited, fact), default=None)
        if best is not None and _score(best, suited, fact) > 0:
            return best
    return writable[0] if writable else None


def _score(block: MemoryBlock, kind: Kind, fact: str) -> int:
    label, description = meaning(block.label.replace("_", " ").replace("/", " ")), meaning(block.description)
    shared = meaning(fact) & (label | description)
    return 4 * len(_SUITS[kind] & label) + len(_SUITS[kind] & description) + 2 * len(shared)


def named(blocks: Iterable[MemoryBlock], text: str) -> list[MemoryBlock]:
    """The blocks whose label the text mentions, in the order it does."""
    places = ((_place(block.label, text), block) for block in blocks)
    return [block for place, block in sorted(((p, b) for p, b in places if p is not None), key=lambda found: found[0])]


def _place(label: str, text: str) -> int | None:
    spelled = r"[\s_/-]+".join(map(re.escape, re.split(r"[\s_/-]+", label.strip("/ "))))
    found = re.search(rf"(?<![\w/]){spelled}(?![\w])", text, re.IGNORECASE)
    return found.start() if found else None
