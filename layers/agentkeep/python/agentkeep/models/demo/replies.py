"""What the demo model says when it has nothing more to store: what it did, what it knows, or what it is."""

import re
from collections.abc import Sequence

from agentkeep.models.demo import questions
from agentkeep.models.demo.blocks import MemoryBlock
from agentkeep.models.demo.edits import MEMORY_TOOLS, knows
from agentkeep.models.demo.scene import Scene
from agentkeep.models.demo.text import plain
from agentkeep.store.content import ToolReturn

_GREETING = re.compile(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening)|howdy|greetings)\b[^?]{0,30}$", re.IGNORECASE
)
_THANKS = re.compile(r"^(?:thanks?|thank you|thx|cheers)\b[^?]{0,40}$", re.IGNORECASE)
_SHORT = 3


def reply(scene: Scene) -> str:
    """The text that ends the turn. Never empty."""
    told = _done(scene) if scene.done else _not_stored(scene)
    told += [questions.answer(question, _knowledge(scene)) for question in scene.questions]
    return "\n".join(dict.fromkeys(told)) or _small_talk(scene)


def _done(scene: Scene) -> list[str]:
    written = [done for done in scene.done if done.call.name in MEMORY_TOOLS and done.answer.status == "success"]
    stored: dict[str, list[str]] = {}
    for done in written:
        stored.setdefault(done.label, []).extend(done.text.splitlines())
    failed = [done for done in scene.done if done.answer.status == "error"]
    return [
        *(f'Stored in "{label}":{_listed(lines)}' for label, lines in stored.items() if lines),
        *(f'Removed from "{done.label}".' for done in written if not done.text),
        *(f'I could not write to "{done.label}": {_first_line(done.answer)}' for done in failed),
    ]


def _listed(lines: Sequence[str]) -> str:
    if len(lines) <= _SHORT and not any(line.startswith("- ") for line in lines):
        return f" {'; '.join(lines)}"
    return "\n" + "\n".join(lines)


def _first_line(answer: ToolReturn) -> str:
    content = answer.content if isinstance(answer.content, str) else ""
    return next(iter(content.splitlines()), "") or "the tool gave no reason"


def _not_stored(scene: Scene) -> list[str]:
    """Why nothing was stored, when the user told something."""
    if scene.task and scene.task.block.read_only:
        return [f'The block "{scene.task.block.label}" is read-only: I may read it and must not change it.']
    if scene.planned:
        return ["I have no memory tool that could store this, so I will not remember it."]
    if not scene.told.facts:
        return []
    known = [fact.line for fact in scene.told.facts if knows(scene.blocks, fact)]
    if known:
        return [f"I have that already: {'; '.join(known)}"]
    return ["I have no memory block that I may store this in."]


def _knowledge(scene: Scene) -> questions.Knowledge:
    """What can be quoted; what this turn stored counts, whether or not the system message shows it yet."""
    shown = {block.label: block.value for block in scene.blocks}
    fresh = [
        MemoryBlock(done.label, "", done.text, read_only=False)
        for done in scene.done
        if done.answer.status == "success" and done.text and done.text not in shown.get(done.label, "")
    ]
    return questions.Knowledge([*scene.blocks, *fresh], scene.said)


def _small_talk(scene: Scene) -> str:
    if not scene.asked or _GREETING.match(plain(scene.asked)) or _GREETING.match(scene.asked):
        name = questions.users_name(scene.blocks)
        return f"Hello{', ' + name if name else ''}. {questions.about_me(scene.blocks)}"
    if _THANKS.match(scene.asked):
        return "You are welcome."
    return (
        "I found no fact to store in that, and no question that my memory could answer. I am demo/memory, a rule-based"
        " model, and can do little else: tell me a fact about you or your project, or ask me about one."
    )
