"""How a conversation opens: the messages that stand behind the system message before anybody has spoken.

User messages are stored as plain text for every agent type, as 0.16.7 does; only what the system itself says to a
legacy agent (the login event, the return of its first send_message) is packed as JSON with the time.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pydantic import Field, field_validator

from agentkeep.memory.local_time import stamp
from agentkeep.store.content import Part, Record, Role, TextPart, ToolCall, ToolReturn
from agentkeep.store.entities import Agent

SPEAKS_BY_TOOL: Final = frozenset({"memgpt_agent", "memgpt_v2_agent", "split_thread_agent"})
"""Legacy agent types: only what they pass to `send_message` reaches the user."""

_FIRST_THOUGHT: Final = "I am starting for the first time. I will say hello and see that my words arrive."
_FIRST_WORDS: Final = "Hello! I am here and ready when you are."


class Draft(Record):
    """A message still without id, sequence and time. A bare string as content is one text part."""

    role: Role
    content: list[Part] = Field(default_factory=list)
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_returns: list[ToolReturn] = Field(default_factory=list)

    @field_validator("content", mode="before")
    @classmethod
    def _text_as_part(cls, content: object) -> object:
        return [TextPart(text=content)] if isinstance(content, str) else content


def initial_messages(agent: Agent, sequence: Sequence[Draft] | None, at: datetime) -> list[Draft]:
    """The messages behind the system message (not included) of a new or reset conversation.

    `sequence` is the caller's `initial_message_sequence`; None asks for the default: nothing, or for the legacy types
    a first send_message with its return and a login event. What a legacy agent is made to have said in `sequence`
    becomes a send_message call with its return, since its own words would look no different.
    """
    legacy = agent.agent_type in SPEAKS_BY_TOOL
    if sequence is None:
        return _boot_sequence(agent, at) if legacy else []
    if not legacy:
        return list(sequence)
    return [sent for number, draft in enumerate(sequence) for sent in _as_sent(agent, number, draft, at)]


def _boot_sequence(agent: Agent, at: datetime) -> list[Draft]:
    login = {"type": "login", "last_login": "Never (first login)", "time": stamp(at, agent.timezone)}
    return [
        *_sent(agent, 0, _FIRST_WORDS, [TextPart(text=_FIRST_THOUGHT)], at),
        Draft(role="user", content=[TextPart(text=json.dumps(login))]),
    ]


def _as_sent(agent: Agent, number: int, draft: Draft, at: datetime) -> list[Draft]:
    if draft.role != "assistant" or draft.tool_calls:
        return [draft]
    text = "".join(part.text for part in draft.content if isinstance(part, TextPart))
    return _sent(agent, number, text, [], at)


def _sent(agent: Agent, number: int, text: str, thought: list[Part], at: datetime) -> list[Draft]:
    digest = hashlib.sha256(f"{agent.id}/{number}".encode()).hexdigest()
    call = ToolCall(id=f"call_{digest[:24]}", name="send_message", arguments=json.dumps({"message": text}))
    packed = json.dumps({"status": "OK", "message": None, "time": stamp(at, agent.timezone)})
    return [
        Draft(role="assistant", content=thought, tool_calls=[call]),
        Draft(role="tool", tool_returns=[ToolReturn(tool_call_id=call.id, name=call.name, content=packed)]),
    ]
