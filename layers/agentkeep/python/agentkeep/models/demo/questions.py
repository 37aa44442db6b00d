"""Answers from the blocks and the conversation, by the words that a question shares with their lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentkeep.models.demo.blocks import MemoryBlock, named
from agentkeep.models.demo.text import meaning, plain, stem, stems, words

WHAT_I_AM: Final = (
    "I am demo/memory, a small rule-based model that comes with AgentKeep: there is no language model behind me."
    " I store facts you tell me in my memory blocks and answer from them."
    " For real conversations give this agent a model of a provider, with OPENAI_API_KEY or ANTHROPIC_API_KEY set."
)
_ABOUT_ME = re.compile(
    r"\b(?:who|what) are you\b|\bwhat can you do\b|\bare you (?:an? )?(?:real|ai|llm|model|human|bot|language)\b"
    r"|\b(?:which|what) model\b|\bintroduce yourself\b|\bwhat(?:'s| is) your name\b|\bhow do you work\b",
    re.IGNORECASE,
)
_ABOUT_USER = re.compile(
    r"\bwho am i\b|\bwhat do you (?:know|remember) about me\b|\bdo you (?:know|remember) me\b|\babout my ?self\b",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(
    r"\bwhat do you (?:know|remember)\??$|\bwhat(?:'s| is) in your memory\b|\beverything you (?:know|remember)\b"
    r"|\bshow (?:me )?your memory\b",
    re.IGNORECASE,
)
_BRIEFING = re.compile(
    r"\b(?:should|must) (?:i|we) know\b|\b(?:i|we) (?:should|must|need to|have to) know\b"
    r"|\bstart (?:the|my|our) day\b|\bbrief(?:ing)?\b|\bstatus\b|\bwhat(?:'s| is) new\b"
    r"|\bcatch me up\b|\bwhere (?:are|do) we\b|\banything (?:new|urgent|important)\b|\boverview\b|\brecap\b",
    re.IGNORECASE,
)
_ALERT = re.compile(
    r"\b(?:red|fail\w*|broken|down|block\w*|urgent|alert|incident|error\w*|deadline|overdue|risk\w*|flaky|outage)\b",
    re.IGNORECASE,
)
_ON_USER = re.compile(r"human|user|person(?!a)|profile|customer", re.IGNORECASE)
_CONTAINERS: Final = stems("block list memory content contents read inside stand stands written")
_ONE_LINE = re.compile(r"\b(?:one|single)[ -](?:line|sentence)", re.IGNORECASE)
_SAME_MATTER: Final = (
    ("shipping building", "project launch release"),
    ("working work", "project role employer"),
    ("job", "role"),
    ("when deadline", "date deadline ship"),
    ("launch release", "ship"),
    ("live living", "location"),
    ("company", "employer"),
    ("problem issue stuck blocking", "blocker"),
    ("decide decided", "decision"),
    ("avoid try trying tried", "not suggest tried"),
    ("like prefer hate", "preference"),
    ("rule", "policy"),
    ("colour color", "colour color"),
    ("favourite favorite", "favourite favorite"),
)
_ALSO_MEANS: Final = {asked: stems(also) for words_asked, also in _SAME_MATTER for asked in stems(words_asked)}
"""Stems of a question, and those that the keys of its answer may have."""

_FEW: Final = 3
_SOME: Final = 8


@dataclass(frozen=True)
class Knowledge:
    """What can be quoted: the blocks, and what the user said in this conversation, newest last."""

    blocks: Sequence[MemoryBlock]
    said: Sequence[str]

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The lines of all blocks but the persona, each with its block's label."""
        lines = [
            (line.removeprefix("- "), block.label)
            for block in self.blocks
            if not block.is_persona
            for line in block.lines
        ]
        return list({line.casefold(): (line, label) for line, label in reversed(lines)}.values())[::-1]


def answer(question: str, knowledge: Knowledge) -> str:
    """The answer to one question. Says so when nothing known has to do with it."""
    core = plain(question)
    if _ABOUT_ME.search(core):
        return about_me(knowledge.blocks)
    if _ABOUT_USER.search(core):
        return _about_user(knowledge)
    if _EVERYTHING.search(core):
        return _quote([line for line, _ in knowledge.lines][: 2 * _SOME], "My memory blocks say")
    matching = _matching(core, knowledge)
    if _BRIEFING.search(core):
        return _briefing(core, knowledge, matching)
    whole = _asked_block(core, knowledge.blocks)
    if whole:
        return _quote(whole.lines[: 2 * _SOME], f'The block "{whole.label}" says')
    return _quote(matching[:_FEW], "My memory says") if matching else _from_conversation(core, knowledge.said)


def about_me(blocks: Sequence[MemoryBlock]) -> str:
    """What this model is, with the first sentence of the persona block it plays."""
    persona = next((block.lines[0] for block in blocks if block.is_persona and block.lines), None)
    return f'{WHAT_I_AM} My persona block begins: "{persona}"' if persona else WHAT_I_AM


def users_name(blocks: Sequence[MemoryBlock]) -> str | None:
    """The user's name, where a block other than the persona states it."""
    found = (
        re.search(r"\bname\s*(?::|=|\bis\b)\s*(?P<name>[^\n.,;]+)", block.value, re.IGNORECASE)
        for block in blocks
        if not block.is_persona
    )
    return next((name["name"].strip() for name in found if name), None)


def _asked_block(question: str, blocks: Sequence[MemoryBlock]) -> MemoryBlock | None:
    """The block that the question asks for as a whole: it names the block and nothing else."""
    mentioned = named(blocks, question)
    if not mentioned:
        return None
    rest = meaning(question) - meaning(mentioned[0].label.replace("_", " ")) - meaning(mentioned[0].label) - _CONTAINERS
    return None if rest else mentioned[0]


def _about_user(knowledge: Knowledge) -> str:
    human = [block for block in knowledge.blocks if _ON_USER.search(block.label)]
    lines = [line for block in human for line in block.lines]
    if not lines:
        lines = [line for line, _ in knowledge.lines if re.match(r"(?:Name|Role|Preference)\b", line)]
    return (
        _quote(lines[:_SOME], "What I know about you")
        if lines
        else "I know nothing about you yet. Tell me your name, for a start."
    )


def _briefing(question: str, knowledge: Knowledge, matching: Sequence[str]) -> str:
    """Alerts first, then what the question names, then the newest lines of the blocks on current work."""
    about_others = {block.label for block in knowledge.blocks if block.read_only or _ON_USER.search(block.label)}
    lines = [line for line, label in knowledge.lines if label not in about_others]
    alerts = [line for line in lines if _ALERT.search(line)]
    dates = [line for line in lines if re.match(r"(?:Ship date|Deadline|Project)\b", line)]
    chosen = list(dict.fromkeys([*reversed(alerts), *dates, *matching[:_FEW], *reversed(lines)]))[:_SOME]
    if not chosen:
        return "My memory holds nothing about current work yet."
    return (
        f"From my memory: {'; '.join(chosen[:_FEW])}"
        if _ONE_LINE.search(question)
        else _quote(chosen, "From my memory")
    )


def _matching(question: str, knowledge: Knowledge) -> list[str]:
    """The lines that share words with the question, best first; a word before the colon counts double."""
    wanted = meaning(question)
    also = set().union(*(_ALSO_MEANS.get(stem(word), frozenset()) for word in words(question)))
    scored = [(_score(line, label, wanted, also), line) for line, label in knowledge.lines]
    best = max((score for score, _ in scored), default=0)
    kept = [(score, line) for score, line in scored if score and score * 2 > best]
    return [line for _, line in sorted(kept, key=lambda entry: -entry[0])]


def _score(line: str, label: str, wanted: set[str], also: set[str]) -> int:
    key = _key(line)
    stems = meaning(line)
    about = 2 if wanted & meaning(label.replace("_", " ")) else 0
    weight = 4 if key <= wanted else 1
    shared = weight * len(wanted & key) + 2 * len(wanted & stems) + 5 * len(also & key)
    return shared + about if shared else 0


def _key(line: str) -> set[str]:
    """What a line is about: the few words before its colon, or its number."""
    found = re.match(r"(?P<number>\d+)[.)]\s|(?P<key>[^:]{1,40}):\s", line)
    return meaning(found["number"] or found["key"]) if found else set()


def _from_conversation(question: str, said: Sequence[str]) -> str:
    wanted = meaning(question)
    found = [
        sentence for sentence in reversed(said) if len(wanted & meaning(sentence)) >= min(2, len(wanted)) and wanted
    ]
    if found:
        return f'It is not in my memory blocks, but you said in this conversation: "{found[0]}"'
    return "I do not know: nothing in my memory blocks or in this conversation says so."


def _quote(lines: Sequence[str], opening: str) -> str:
    if not lines:
        return f"{opening} nothing yet."
    if len(lines) == 1:
        return f"{opening}: {lines[0]}"
    return "\n".join([f"{opening}:", *(f"- {line}" for line in lines)])
