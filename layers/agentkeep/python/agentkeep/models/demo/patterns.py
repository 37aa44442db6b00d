"""The table of what a clause may say: patterns for names, roles, projects, dates, decisions, and the facts in them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agentkeep.models.demo.blocks import Kind
from agentkeep.models.demo.text import capitalised

MAX_LINE: Final = 400


@dataclass(frozen=True)
class Fact:
    """Something to keep, as a line of a block.

    A fact with `key` reads `key: value`; if `single`, there is one of its key and a newer one takes its place.
    `corrects` says that the user put something right, so that an older line on the same matter goes.
    """

    kind: Kind
    value: str
    key: str | None = None
    single: bool = False
    corrects: bool = False

    @property
    def line(self) -> str:
        """The line to store."""
        return (f"{self.key}: {self.value}" if self.key else self.value)[:MAX_LINE]


Reader = Callable[[re.Match[str]], Iterator[Fact]]

LABELS: Final[Mapping[str, tuple[str, Kind, bool]]] = {
    "decision": ("Decision", "project", False),
    "blocker": ("Blocker", "project", False),
    "current blocker": ("Blocker", "project", False),
    "update": ("Update", "project", False),
    "status": ("Status", "project", True),
    "deadline": ("Deadline", "project", True),
    "due date": ("Deadline", "project", True),
    "ship date": ("Ship date", "project", True),
    "milestone": ("Milestone", "project", False),
    "goal": ("Goal", "project", False),
    "todo": ("To do", "project", False),
    "to do": ("To do", "project", False),
    "lesson": ("Lesson", "lesson", False),
    "lesson learned": ("Lesson", "lesson", False),
    "note": ("Note", "other", False),
    "reminder": ("Note", "other", False),
    "preference": ("Preference", "human", False),
}
"""What "label: text" and "the label is text" mean: the key to store under, the kind of block, whether there is one."""

_SAME_AS: Final[Mapping[str, str]] = {
    "launch": "Ship date",
    "launch date": "Ship date",
    "release": "Ship date",
    "release date": "Ship date",
    "shipping date": "Ship date",
    "go-live": "Ship date",
    "job": "Role",
    "job title": "Role",
    "title": "Role",
    "first name": "Name",
    "full name": "Name",
    "company": "Employer",
}
_PERSONAL: Final = frozenset({"Name", "Role", "Employer", "Location", "From"})
_NAME = r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+)?(?P<value>[^\W\d_][\w'-]*(?:\s+[A-Z][\w'-]*){0,3})"
_CAPITAL_NAME = r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+)?(?P<value>[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*){0,3})"
_NO_NAMES = """
American Australian Austrian Belgian Brazilian British Canadian Chinese Czech Danish Dutch English Finnish French German
Greek Indian Irish Italian Japanese Korean Mexican Norwegian Polish Portuguese Russian Spanish Swedish Swiss Turkish
Ukrainian Sorry Sure Happy Glad Ready Done Back Here Not
"""
_NO_NAME: Final = frozenset(_NO_NAMES.split())
_JOB = re.compile(
    r"\b(?:engineer|developer|manager|designer|doctor|teacher|lead|director|analyst|scientist|student|nurse|writer"
    r"|founder|c[efpt]o|architect|consultant|accountant|lawyer|chef|professor|researcher|admin\w*|owner|intern|editor"
    r"|author|artist|programmer|trainer|officer|assistant|pilot|driver|farmer|musician|journalist|librarian|therapist"
    r"|translator|specialist|mechanic|plumber|carpenter|welder|builder|gardener|head of|\w+ist|\w+ician)\b",
    re.IGNORECASE,
)
_AT_WORK = re.compile(r"\b(?:at|for|with)\s+[A-Z]")
_DATE = re.compile(
    r",?\s+(?:due\s+)?(?:on|by|before|in)\s+(?P<date>(?:next |this |early |late |mid-?)?"
    r"(?:\d|[A-Z][a-z]+day|[A-Z][a-z]{2,8}\b|Q[1-4]|week|month|spring|summer|autumn|fall|winter).*)$"
)


def _name(found: re.Match[str]) -> Iterator[Fact]:
    if found["value"].split()[0] in _NO_NAME:
        return
    yield Fact("human", capitalised(found["value"]), "Name", single=True)
    rest = found.string[found.end() :].strip(" ,.-\u2013\u2014")
    role = re.match(r"(?:and\s+)?(?:(?:I'm|I am)\s+)?(?:(?:an?|the)\s+)?(?P<role>[^,.;]+)", rest)
    if role and _is_job(role["role"]):
        yield Fact("human", role["role"].strip(), "Role", single=True)


def _role(found: re.Match[str]) -> Iterator[Fact]:
    if _is_job(found["value"]):
        yield Fact("human", found["value"].strip(), "Role", single=True)


def _is_job(text: str) -> bool:
    return _JOB.search(text) is not None or _AT_WORK.search(text) is not None


def _employer(found: re.Match[str]) -> Iterator[Fact]:
    yield Fact("human", found["value"].strip(), "Employer", single=True)
    if found["role"]:
        yield Fact("human", found["role"].strip(), "Role", single=True)


def _single(key: str, kind: Kind) -> Reader:
    def reader(found: re.Match[str]) -> Iterator[Fact]:
        yield Fact(kind, found["value"].strip(), key, single=True)

    return reader


def _preference(found: re.Match[str]) -> Iterator[Fact]:
    yield Fact("human", f'"{found.string.strip()}"', "Preference")


def _project(found: re.Match[str]) -> Iterator[Fact]:
    value = found["value"].strip()
    date = _DATE.search(value)
    yield Fact("project", (value[: date.start()] if date else value).strip(" ,"), "Project")
    if date:
        yield Fact("project", date["date"].strip(), "Ship date", single=True)


def _decision(found: re.Match[str]) -> Iterator[Fact]:
    yield Fact("project", found["value"].strip(), "Decision")


def _labelled(found: re.Match[str]) -> Iterator[Fact]:
    label = found["label"].strip()
    if len(label.split()) <= 3:
        yield _attribute_fact(label, found["value"], "other")


def _attribute(found: re.Match[str]) -> Iterator[Fact]:
    yield _attribute_fact(found["what"], found["value"], "human" if found["whose"].lower() == "my" else "project")


def _attribute_fact(what: str, value: str, kind: Kind) -> Fact:
    if what.lower() in LABELS:
        key, of_kind, single = LABELS[what.lower()]
        return Fact(of_kind, value.strip(), key, single)
    key = _SAME_AS.get(what.lower(), capitalised(what))
    return Fact("human" if key in _PERSONAL else kind, value.strip(), key, single=True)


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("".join(parts), re.DOTALL)


PATTERNS: Final[tuple[tuple[re.Pattern[str], Reader], ...]] = (
    (_pattern(r"\b(?i:my (?:first |full )?name is(?: now)?|my name's|I am called|I'm called)\s+", _NAME), _name),
    (_pattern(r"^(?:[Cc]all me|I go by)\s+", _CAPITAL_NAME), _name),
    (_pattern(r"^(?:I'm|I am)\s+", _CAPITAL_NAME, r"(?=\s*(?:$|,|\.|!|\sand\b|\sfrom\b|\sat\b))"), _name),
    (_pattern(r"^(?i:I'm|I am|I work as)\s+(?:now\s+)?(?:an?|the)\s+(?P<value>.+)$"), _role),
    (
        _pattern(r"^(?i:I (?:now )?work (?:at|for))\s+(?P<value>.+?)(?:\s+as\s+(?:an?|the)\s+(?P<role>.+))?$"),
        _employer,
    ),
    (
        _pattern(
            r"^(?i:I (?:now )?live in|I(?:'m| am) (?:now )?based in|I(?:'ve| have)? (?:just )?moved to)\s+",
            r"(?P<value>.+)$",
        ),
        _single("Location", "human"),
    ),
    (_pattern(r"^(?i:I'm|I am|I come) from\s+(?P<value>.+)$"), _single("From", "human")),
    (
        _pattern(
            r"^(?i:I\s+(?:(?:really|absolutely|usually|always|generally|now|no longer|never)\s+)*",
            r"(?:like|love|prefer|hate|dislike|enjoy|don't like|do not like|can't stand|want|favou?r",
            r"|eat|drink|drive|speak|play|follow|use)\b)",
        ),
        _preference,
    ),
    (
        _pattern(
            r"^(?i:(?:we|I)(?:'re| are|'m| am)\s+(?:currently\s+|now\s+)?",
            r"(?:shipping|building|working on|launching|migrating|developing|writing|planning))\s+(?P<value>.+)$",
        ),
        _project,
    ),
    (
        _pattern(
            r"^(?i:(?:we|it) (?:will |now |actually )*(?:ships?|launch(?:es)?|release|go(?:es)? live)\s+",
            r"(?:on|by|in))\s+(?P<value>.+)$",
        ),
        _single("Ship date", "project"),
    ),
    (_pattern(r"^(?i:we (?:have |'ve )?(?:decided|agreed)(?: to| that| on)?)\s+(?P<value>.+)$"), _decision),
    (_pattern(r"^(?P<label>[A-Za-z][A-Za-z -]{1,30}):\s+(?P<value>\S.*)$"), _labelled),
    (
        _pattern(
            r"^(?P<whose>(?i:my|our|the))\s+(?P<what>[\w'-]+(?:\s+[\w'-]+){0,4}?)\s+(?i:is called|is named|is now",
            r"|are now|is|are|was|were|(?:has |have )?(?:moved|changed|slipped) to|became|will be)\s+(?P<value>.+)$",
        ),
        _attribute,
    ),
)
"""Patterns in the order they are tried; the first that tells something wins."""
