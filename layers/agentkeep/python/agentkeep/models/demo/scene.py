"""The request as the demo model sees it: its blocks, what the user says, what this turn did, what is left to do."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from agentkeep.models.demo import edits, facts, tasks
from agentkeep.models.demo.blocks import MemoryBlock, read_blocks
from agentkeep.models.demo.edits import Call, Edit
from agentkeep.models.demo.facts import Told
from agentkeep.models.demo.text import asks, plain, sentences
from agentkeep.models.history import arguments_text
from agentkeep.models.interface import ModelRequest
from agentkeep.store.content import Message, TextPart, ToolCall, ToolReturn, ToolSchema

RECENT: Final = 100
"""How many of the newest messages this model looks back."""

_ORDER = re.compile(r"^(?:add|put|write|append|insert|forget|update|read|review)\b", re.IGNORECASE)
_REMINDER = re.compile(r"<(?P<tag>system[-_]\w+)>.*?</(?P=tag)>", re.DOTALL)
_AUTOMATIC: Final = ("login", "heartbeat", "system_alert")


@dataclass(frozen=True)
class Done:
    """A tool call of this turn with its answer, and what it wrote where."""

    call: ToolCall
    answer: ToolReturn
    label: str
    text: str


@dataclass(frozen=True)
class Scene:
    """What the model looks at before it takes a step."""

    request: ModelRequest

    @cached_property
    def blocks(self) -> list[MemoryBlock]:
        """The memory blocks in the system message."""
        return read_blocks("\n".join(message.text for message in self.request.messages if message.role == "system"))

    @cached_property
    def offered(self) -> Mapping[str, ToolSchema]:
        """The tools by name."""
        return {tool.name: tool for tool in self.request.tools}

    @cached_property
    def asked(self) -> str:
        """What the user says: all messages since the model last spoke."""
        newest = self.request.messages[self._asked_from : self._asked_to]
        return "\n".join(filter(None, map(_text, newest)))

    @cached_property
    def questions(self) -> list[str]:
        """The sentences of that which ask for something; none when it is work on a block."""
        return [] if self.task else [sentence for sentence in sentences(self.asked) if asks(sentence)]

    @cached_property
    def said(self) -> list[str]:
        """What the user told lately in this conversation, sentence by sentence, without questions and orders."""
        return _statements(self.request.messages[max(0, self._asked_to - RECENT) : self._asked_to])

    @cached_property
    def done(self) -> list[Done]:
        """The calls of this turn that were answered."""
        turn = self.request.messages[self._asked_to :]
        answers = {answer.tool_call_id: answer for message in turn for answer in message.tool_returns}
        made = [call for message in turn if message.role == "assistant" for call in message.tool_calls]
        return [Done(call, answers[call.id], *_written(call)) for call in made if call.id in answers]

    @cached_property
    def task(self) -> Edit | None:
        """The work on a block that is asked for by its label."""
        earlier = self.request.messages[max(0, self._asked_from - RECENT) : self._asked_from]
        return tasks.read(self.asked, self.blocks, _statements(earlier))

    @cached_property
    def told(self) -> Told:
        """The facts in what the user says."""
        rest = (sentence for sentence in sentences(self.asked) if tasks.read(sentence, self.blocks, ()) is None)
        return facts.read("\n".join(rest), imperatives=self.task is None)

    @cached_property
    def planned(self) -> list[Edit]:
        """The edits that are called for and that this turn has not tried yet."""
        planned = edits.plan(self.told, self.blocks, removed=sum(not done.text for done in self.done))
        planned = [edit for edit in planned if not edit.new or not self._tried(edit)]
        if self.task and not self.task.block.read_only and not any(self.task.block.label == d.label for d in self.done):
            planned.insert(0, self.task)
        return planned

    @property
    def calls(self) -> list[Call]:
        """The calls that make those edits with the tools that are offered."""
        return edits.calls(self.planned, self.offered)

    @cached_property
    def _asked_to(self) -> int:
        newest_first = range(len(self.request.messages) - 1, -1, -1)
        return next((position + 1 for position in newest_first if _text(self.request.messages[position])), 0)

    @cached_property
    def _asked_from(self) -> int:
        newest_first = range(self._asked_to - 1, -1, -1)
        spoke = (position for position in newest_first if self.request.messages[position].role in ("assistant", "tool"))
        return next(spoke, -1) + 1

    def _tried(self, edit: Edit) -> bool:
        lines = edit.new.splitlines()
        return any(done.label == edit.block.label and all(line in done.text for line in lines) for done in self.done)


def _written(call: ToolCall) -> tuple[str, str]:
    arguments: dict[str, Any] = json.loads(arguments_text(call.arguments))
    return edits.text_of(arguments)


def _statements(messages: Sequence[Message]) -> list[str]:
    told = (sentence for message in messages for sentence in sentences(_text(message)))
    return [sentence for sentence in told if not asks(sentence) and not _ORDER.match(plain(sentence))]


def _text(message: Message) -> str:
    """What a user message says, unpacked where a legacy agent wraps it in JSON; nothing of what the system sent.

    Letta Code puts `<system-reminder>` sections into user messages.
    """
    if message.role != "user":
        return ""
    parts = (part.text for part in message.content if isinstance(part, TextPart))
    text = _REMINDER.sub("", "\n".join(parts)).replace("\u2019", "'").strip()
    try:
        packed = json.loads(text) if text.startswith("{") else None
    except ValueError:
        packed = None
    if not isinstance(packed, dict):
        return text
    if packed.get("type") in _AUTOMATIC:
        return ""
    return packed["message"] if isinstance(packed.get("message"), str) else text
