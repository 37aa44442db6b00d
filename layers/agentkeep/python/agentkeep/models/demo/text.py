"""Text handling of the demo model: sentences, clauses, words that carry meaning, and what kind of sentence it is."""

import re
from collections.abc import Iterable
from typing import Final

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_ABBREVIATION = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|approx|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"(?:[,;]\s*(?:and|but)?|\s(?:and|but))\s+(?=(?:I|I'm|my|we|we're|our)\b)", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:[.'/-]\w+)*")
_QUESTION_WORD = re.compile(r"^(?:what|who|whom|whose|when|where|which|why|how)(?:'s|'re)?\b[^,]*$", re.IGNORECASE)
_ASKS_FOR_MEMORY = re.compile(
    r"^(?:please\s+)?(?:tell me|remind me|brief me|list|show|recap|summari[sz]e"
    r"|read|open|give me (?:an?|the) (?:summary|status|overview)"
    r"|(?:one-line |short |quick )?(?:status|summary|overview) of)\b"
    r"(?!.*\bto\s+\w+$)",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^(?:please\s+|(?:can|could|would|will) you (?:please )?)(?=(?:also )?(?:remember|note|store|save|write|append|add"
    r"|put|record|log|keep|forget|update|read|review|tell|remind|list|show|use|call|always|never|don't)\b)",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"^(?:remember|note|store|save|write|append|add|put|record|log|keep|forget|update)\b", re.IGNORECASE
)
_OPENING = re.compile(
    r"^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: there| again| all)?[,!.]*|also|and|oh|ok(?:ay)?|well"
    r"|so|by the way|btw|fyi)\b[,:!]*\s+",
    re.IGNORECASE,
)
_NO_MEANING = """
a about after again all also am an and any anything are as at be because been before being both but by can could did do
does doing don't down during each ever every few for from further had has have having he her here hers him his how i i'm
if in into is it its just know let list me more most my no nor not now of off on once only or other our out over own
please recap remember remind same she should show so some such summarize tell than that the their them then there these
they thing things this those through to too under until up us very was we we're were what what's when where which while
who who's whom whose why will with would you you're your yours
"""
_STOP_WORDS: Final = frozenset(_NO_MEANING.split())
_SUFFIXES: Final = ("ing", "ies", "ed", "es", "s", "e")


def sentences(text: str) -> list[str]:
    """The sentences of a text, a line break being an end too; abbreviations such as `Dr.` and `Nov.` are none."""
    found: list[str] = []
    for piece in _SENTENCE_END.split(text):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] = f"{found[-1]} {piece}"
        elif piece.strip(" -*\t"):
            found.append(piece.strip(" *\t").removeprefix("- "))
    return [sentence for sentence in found if sentence]


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence that begin anew with I, my, we or our."""
    return [clause.strip() for clause in _CLAUSE_END.split(sentence) if clause.strip()]


def plain(sentence: str) -> str:
    """The sentence without greetings, fillers and politeness in front."""
    while True:
        shorter = _POLITE.sub("", _OPENING.sub("", sentence, count=1), count=1)
        if shorter == sentence:
            return sentence.strip()
        sentence = shorter


def asks(sentence: str) -> bool:
    """Whether the sentence asks for something that memory may hold; "can you remember that ...?" does not."""
    core = plain(sentence)
    if _COMMAND.match(core):
        return False
    return core.endswith("?") or bool(_QUESTION_WORD.match(core) or _ASKS_FOR_MEMORY.match(core))


def words(text: str) -> list[str]:
    """All words in lower case, `max.poll.interval.ms` and `team_scratchpad` being one each."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def stem(word: str) -> str:
    """The word without its ending, so that `shipping` meets `ship`. Crude, and the same on both sides."""
    word = word.removesuffix("'s")
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word.removesuffix(suffix)
            return word[:-1] if word[-1] == word[-2] and suffix in ("ing", "ed") else word
    return word


def meaning(text: str) -> set[str]:
    """The stems of the words that carry meaning."""
    return {stem(word) for word in words(text) if word not in _STOP_WORDS}


def stems(listed: str) -> frozenset[str]:
    """The stems of words that are listed with spaces between."""
    return frozenset(stem(word) for word in listed.split())


def overlap(text: str, others: Iterable[str]) -> int:
    """How many meaningful words a text shares with others, which are stems."""
    return len(meaning(text) & set(others))


ALIKE: Final = 2
"""Meaningful words that two lines share when they are taken to be on the same matter."""


def capitalised(text: str) -> str:
    """The text with a capital first letter, the rest as it was."""
    return text[:1].upper() + text[1:]
