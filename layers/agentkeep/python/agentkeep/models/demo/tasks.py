"""Work on a block that the user asks for by its label: write something into it, or review it by the rules."""

import re
from collections.abc import Sequence
from typing import Final

from agentkeep.models.demo.blocks import MemoryBlock, named
from agentkeep.models.demo.edits import Edit
from agentkeep.models.demo.text import capitalised, meaning, overlap, plain, sentences, stems

_VERB = (
    r"(?:^|(?:\b(?:and|then|please|also)|[,;])\s+)"
    r"(?:write|put|add|append|save|store|record|note|log|insert|post|remember|keep)\b"
)
_PLACE = r"\b(?:in|into|to|on|onto)\s+(?:the |your |my |our |this )?$"
_WRITE = re.compile(rf"{_VERB}[:\s]+(?P<what>.*?)\s*{_PLACE}", re.IGNORECASE | re.DOTALL)
_LABEL_FIRST = re.compile(rf"{_VERB}\s+(?:(?:this|the following)\s+)?{_PLACE}", re.IGNORECASE)
_AFTER_LABEL = re.compile(
    r"^(?:\s+(?:block|memory|list|notes?))*(?:\s*[:,]\s*|\s+that\s+)(?P<what>.+)$", re.IGNORECASE | re.DOTALL
)
_REVIEW = re.compile(r"\b(?:review|assess|check|evaluate|critique|judge)\b", re.IGNORECASE)
_VERDICT = re.compile(
    r"\b(?:append|add|write|put|record|post)\b.*\b(?:verdict|review|assessment|opinion|comments?|findings|feedback)\b",
    re.IGNORECASE | re.DOTALL,
)
_CHANGE = re.compile(
    r"^(?:please\s+)?(?:change|edit|update|replace|delete|remove|drop|rewrite|amend|overwrite)\b", re.IGNORECASE
)
_LINES = re.compile(r"\b(?P<count>\d+|one|two|three|four|five|six|seven|eight|nine|ten)[ -]lines?\b", re.IGNORECASE)
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COMPOSED = re.compile(
    r"^(?:your\s+|(?:the|an?|this|our)\s+(?=.*\b(?:summary|overview|fix|plan|proposal|verdict|status|analysis|recap|result"
    r"|findings|review|report|outcome|answer|conclusion|recommendation|suggestion)\b))",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(r"\b(?:I am|I'm|my name is|you are)\s+(?P<name>[A-Z][\w-]+)")
_NUMBERED = re.compile(r"^(?P<number>\d+)[.)]\s+(?P<rule>.+)$")
_FORBIDS = re.compile(r"\b(?:no|nobody|nothing|none|never|not|cannot|can't|don't|without|forbidden)\b", re.IGNORECASE)
_DEMANDS = re.compile(r"\b(?:every|each|all|always|must|needs?|requires?|required|has to|have to)\b", re.IGNORECASE)
_RULE_WORDS: Final = stems(
    "every each all always must never no nobody not fix fixes change changes ship ships need require required with"
)
_QUOTES: Final = " .,:\"'\u201c\u201d"
_DEFAULT_LINES: Final = 8


def own_name(blocks: Sequence[MemoryBlock]) -> str | None:
    """The name that the persona block gives this agent."""
    found = (_OWN_NAME.search(block.value) for block in blocks if block.is_persona)
    return next((name["name"] for name in found if name), None)


def read(text: str, blocks: Sequence[MemoryBlock], said: Sequence[str]) -> Edit | None:
    """The edit that a message asks for, or None. `said` is what the user told earlier in the conversation."""
    mentioned = named(blocks, text)
    if not mentioned:
        return None
    if _REVIEW.search(text) and _VERDICT.search(text):
        return _review(mentioned[0], _target(mentioned, text), blocks)
    for sentence in sentences(text):
        for block in named(blocks, sentence):
            if block.read_only and _CHANGE.match(plain(sentence)):
                return Edit(block, "")
            what = _what(sentence, block)
            if what:
                return _write(what, block, text, blocks, said)
    return None


def _target(mentioned: Sequence[MemoryBlock], text: str) -> MemoryBlock:
    verdict = _VERDICT.search(text)
    after = named(mentioned, text[verdict.end() :]) if verdict else []
    return after[0] if after else mentioned[0]


def _what(sentence: str, block: MemoryBlock) -> str | None:
    """What is to be written into the block, when the sentence asks for that."""
    spelled = r"[\s_/-]+".join(map(re.escape, re.split(r"[\s_/-]+", block.label)))
    place = re.search(rf"(?<![\w/]){spelled}(?!\w)", sentence, re.IGNORECASE)
    if place is None:
        return None
    before, after = plain(sentence[: place.start()]) + " ", sentence[place.end() :]
    if _LABEL_FIRST.search(before):
        found = _AFTER_LABEL.match(after)
        return found["what"].strip(_QUOTES) if found else None
    written = _WRITE.search(before)
    return written["what"].strip(_QUOTES) if written else None


def _write(what: str, block: MemoryBlock, text: str, blocks: Sequence[MemoryBlock], said: Sequence[str]) -> Edit:
    if _COMPOSED.match(what):
        lines = _compose(_COMPOSED.sub("", what), block, blocks, said, _line_limit(text))
    else:
        lines = [capitalised(re.sub(r"^that\s+", "", what, flags=re.IGNORECASE))]
    new = "\n".join(lines)
    return _append(block, new)


def _append(block: MemoryBlock, new: str) -> Edit:
    placeholder = block.value.strip() if block.is_blank else ""
    return Edit(block, new, placeholder or None)


def _line_limit(text: str) -> int:
    found = _LINES.search(text)
    if not found:
        return _DEFAULT_LINES
    count = found["count"].lower()
    return max(1, int(count) if count.isdigit() else _NUMBERS.index(count))


def _compose(
    topic: str, target: MemoryBlock, blocks: Sequence[MemoryBlock], said: Sequence[str], limit: int
) -> list[str]:
    """A heading and the lines of memory, then of the conversation, that have to do with the topic."""
    name = own_name(blocks)
    heading = f"{name}: {topic}" if name else capitalised(topic)
    sources = [
        block for block in blocks if block.label != target.label and not block.is_persona and not block.read_only
    ]
    known = [line for block in sources for line in block.lines]
    found = _related(topic, known) or _related(topic, said)
    return (
        [heading, *(f"- {line}" for line in found)][:limit] if found else [f"{heading}: I know nothing about it yet."]
    )


def _related(topic: str, lines: Sequence[str]) -> list[str]:
    """The lines on the topic, and the decisions that share a word with those; decisions first."""
    stems = meaning(topic)
    direct = [line for line in lines if overlap(line, stems)]
    stems |= {word for line in direct for word in meaning(line)}
    decided = [line for line in lines if line.startswith("Decision") and overlap(line, stems)]
    return list(dict.fromkeys([*decided, *direct]))


def _review(source: MemoryBlock, target: MemoryBlock, blocks: Sequence[MemoryBlock]) -> Edit:
    rules = [rule for block in blocks if block.is_rules or block.read_only for rule in _rules(block)]
    broken = [(number, rule) for number, rule in rules if _breaks(source.value, rule)]
    kept = [number for number, rule in rules if (number, rule) not in broken]
    name = own_name(blocks)
    verdict = "changes requested" if broken else "approved"
    lines = [f"{name + ': ' if name else ''}verdict on {source.label}: {verdict}."]
    lines += [f'- Violates policy {number} ("{rule.rstrip(".")}"): {_reason(rule)}.' for number, rule in broken]
    if not rules:
        lines.append("- I found no numbered policies to check it by.")
    if kept:
        lines.append(f"- Nothing in it goes against {'policies' if len(kept) > 1 else 'policy'} {', '.join(kept)}.")
    if source.is_blank:
        lines = [f"{name + ': ' if name else ''}there is nothing to review in {source.label} yet."]
    return _append(target, "\n".join(lines))


def _rules(block: MemoryBlock) -> list[tuple[str, str]]:
    numbered = [_NUMBERED.match(line) for line in block.lines]
    return [(found["number"], found["rule"]) for found in numbered if found]


def _breaks(text: str, rule: str) -> bool:
    """A rule that forbids is broken by a text that speaks of the matter, one that demands by a text that does not.

    Of other rules this model cannot tell.
    """
    wanted = meaning(rule) - _RULE_WORDS
    spoken = len(wanted & meaning(text))
    if _FORBIDS.search(rule):
        return len(wanted) > 0 and spoken >= max(2, len(wanted) - 1) and not _FORBIDS.search(text)
    return _DEMANDS.search(rule) is not None and spoken == 0


def _reason(rule: str) -> str:
    return "it does what this forbids" if _FORBIDS.search(rule) else "it does not mention that"
