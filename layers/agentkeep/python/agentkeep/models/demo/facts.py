"""What the demo model takes from a message: facts to keep, and what to forget."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from agentkeep.models.demo.patterns import PATTERNS, Fact
from agentkeep.models.demo.text import ALIKE, asks, capitalised, clauses, meaning, overlap, plain, sentences, words

_REMEMBER = re.compile(
    r"^(?:also\s+)?(?:remember|note|keep in mind|bear in mind|don't forget|do not forget|make a note|store|save"
    r"|write down)(?:\s+(?:for me\s+)?that|\s+this)?\b[:,]?\s+(?=\S)",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"^(?:actually|correction|no|sorry|scratch that|i was wrong|i misspoke|i meant)\b[,:;.!-]*\s*(?:i meant\s+)?",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:no longer|not any ?more|instead of|has changed|is (?:now )?(?:fixed|solved|resolved|gone|done))\b",
    re.IGNORECASE,
)
_NOT_THE_OLD = re.compile(r",?\s+(?:and )?not\s+[^,]+$", re.IGNORECASE)
_FORGET = re.compile(r"^(?:please\s+)?forget\s+(?:about\s+|that\s+)?(?P<what>.+?)[.!?]*$", re.IGNORECASE)
_SMALL_TALK = re.compile(
    r"^(?:thanks?|thank you|ok(?:ay)?|great|nice|cool|perfect|good|sounds|lol|yes|yep|no|nope|sure|bye|goodbye|see you"
    r"|welcome|i see|i(?: have|'ve| had)(?: got)? (?:a|one|another|some) questions?"
    r"|i(?: need|'d like| would like| want) you\b|i need (?:help|your)\b|i (?:think|guess|wonder|suppose|hope)\b"
    r"|let me\b|let's\b|help\b|(?:it|that|this|there|you|these|those|they)(?:'s|'re)?\b)",
    re.IGNORECASE,
)
_STATEMENT = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|must|should|can|cannot|isn't|aren't|won't|needs?|uses?|runs?|lives?|owns?"
    r"|works?|costs?|starts?|ends?|expires?|prefers?|likes?|loves?|hates?|became|moved|changed|reports?|leads?|joined|left"
    r"|rotates?|happens?|takes?|belongs?|contains?|meets?|sits?|handles?|decided|agreed|fixed|broke|failed|shipped"
    r"|switched|i'm|i've|we're|we've)\b",
    re.IGNORECASE,
)
_OURS = re.compile(
    r"\b(?:we|we're|we've|our|us|team|project|release|deploy\w*|build|sprint|milestone|production|staging)\b",
    re.IGNORECASE,
)
_MINE = re.compile(r"\b(?:i|i'm|i've|my|me|mine)\b", re.IGNORECASE)
_WISH = re.compile(
    r"^(?:please\s+)?(?:always|never|don't|do not|stop|avoid|keep (?:it|answers|replies|your|things)|answer (?:me )?in"
    r"|give me|use (?:short|metric|bullet|plain|simple|british|american)\b).+$",
    re.IGNORECASE | re.DOTALL,
)
_NEVER_AGAIN = re.compile(
    r"^(?P<before>.*?)[\s,;:\u2013\u2014-]*(?:\b(?:and|so|therefore)\s+)*\b(?:please )?(?:do not|don't|never)\s+"
    r"(?P<verb>suggest|propose|recommend|mention|bring up|try)\s+(?P<what>.+?)(?:\s+(?:again|any ?more|ever))?[.!?]*$",
    re.IGNORECASE | re.DOTALL,
)
_FAILED = re.compile(
    r"\btried\b.*\b(?:did nothing|didn't work|did not work|didn't help|did not help|failed|no effect|made it worse"
    r"|useless)",
    re.IGNORECASE,
)
_POINTS_BACK: Final = frozenset({"that", "it", "this", "them", "those", "these", "that one"})
_FEWEST_WORDS: Final = 3


@dataclass(frozen=True)
class Told:
    """What a message says: facts to keep, and what to forget in the user's words."""

    facts: tuple[Fact, ...]
    forget: tuple[str, ...]


def read(text: str, imperatives: bool = True) -> Told:
    """What a message tells. `imperatives` false leaves out wishes such as "keep it short", which then mean a task."""
    facts: list[Fact] = []
    forget: list[str] = []
    before = ""
    for sentence in sentences(text):
        core = plain(sentence)
        forgotten = _FORGET.match(core)
        if forgotten:
            forget.append(forgotten["what"])
        elif not asks(sentence):
            facts.extend(_from_sentence(core, before, imperatives))
        before = core
    return Told(tuple(_settled(facts)), tuple(forget))


def _settled(facts: list[Fact]) -> Iterator[Fact]:
    """The facts without those that the same message takes back further on."""
    for position, fact in enumerate(facts):
        if not any(_takes_back(later, fact) for later in facts[position + 1 :]):
            yield fact


def _takes_back(later: Fact, fact: Fact) -> bool:
    if later.key is None or later.key != fact.key:
        return later.line == fact.line
    alike = overlap(later.line, meaning(fact.line)) >= ALIKE
    return later.single or later.line == fact.line or (later.corrects and alike)


def _from_sentence(core: str, before: str, imperatives: bool) -> Iterator[Fact]:
    told = _REMEMBER.sub("", core, count=1)
    corrected = _CORRECTS.sub("", told, count=1)
    corrects = corrected != told or _CHANGES.search(corrected) is not None
    lesson = _lesson(corrected, before)
    if lesson:
        yield lesson
        return
    if corrected != told:
        corrected = _NOT_THE_OLD.sub("", corrected.rstrip(" .!?"))
    for clause in clauses(corrected):
        for fact in _from_clause(plain(clause).rstrip(" .!?"), told != core, imperatives):
            yield replace(fact, corrects=corrects)


def _from_clause(clause: str, explicit: bool, imperatives: bool) -> Iterator[Fact]:
    for pattern, reader in PATTERNS:
        found = pattern.search(clause)
        facts = list(reader(found)) if found and not _SMALL_TALK.match(clause) else []
        if facts:
            yield from facts
            return
    if imperatives and _WISH.match(clause):
        yield Fact("human", f'"{clause}"', "Preference")
    elif explicit or _states(clause):
        yield _as_said(clause)


def _states(clause: str) -> bool:
    enough = len(words(clause)) >= _FEWEST_WORDS
    return enough and _STATEMENT.search(clause) is not None and not _SMALL_TALK.match(clause)


def _as_said(clause: str) -> Fact:
    if _MINE.search(clause) and not _OURS.search(clause):
        return Fact("human", f'The user said: "{clause}"')
    return Fact("project" if _OURS.search(clause) else "other", capitalised(clause))


def _lesson(core: str, before: str) -> Fact | None:
    found = _NEVER_AGAIN.match(core)
    if found is None:
        return Fact("lesson", core.rstrip(" .!?"), "Tried without success") if _FAILED.search(core) else None
    what, context = found["what"], found["before"].strip()
    if what.lower() in _POINTS_BACK:
        what = context or before
    elif context:
        what = f"{what} ({context})"
    key = f"Do not {found['verb'].lower()} again"
    return Fact("lesson", what.rstrip(" .!?"), key) if what else None
