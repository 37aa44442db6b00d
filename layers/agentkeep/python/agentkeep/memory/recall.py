"""Recall search: finding words in the messages of a conversation. Pure; the caller loads the messages.

A message's score is the share of the query's words that occur in its text, anywhere and in any case, so that "kafka
rebalanc" finds "Kafka rebalances". If any message holds all the words, only such messages are hits; otherwise those
that hold at least half of them. Better scores come first, newer messages first among equals.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from agentkeep.store.content import Message, TextPart, ToolCall, ToolReturn

SearchRole = Literal["user", "assistant", "tool"]
SEARCH_TOOL: Final = "conversation_search"
DEFAULT_LIMIT: Final = 10
_PARTIAL: Final = 0.5
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class ConversationQuery:
    """What to look for. No `text`: everything that passes the filters, newest first. No roles: user and assistant.

    `start` and `end` are aware datetimes, both included. At most `limit` hits.
    """

    text: str = ""
    roles: tuple[SearchRole, ...] = ("user", "assistant")
    limit: int = DEFAULT_LIMIT
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class Hit:
    """A message that matched, with its readable text and a score above 0, up to 1."""

    message_id: str
    conversation: str
    role: SearchRole
    text: str
    created_at: datetime
    score: float = 1.0


def matches(messages: Sequence[Message], query: ConversationQuery) -> list[Hit]:
    """The best hits among `messages`, which come oldest first.

    System messages are never hits, nor are summaries of older messages, nor what a search itself left in the history
    (its calls and its returns), which would only repeat earlier findings.
    """
    words = _words(query.text)
    hits = [hit for message in reversed(messages) if (hit := _hit(message, query, words)) is not None]
    floor = 1.0 if any(hit.score == 1.0 for hit in hits) else _PARTIAL
    return sorted((hit for hit in hits if hit.score >= floor), key=lambda hit: -hit.score)[: query.limit]


def searchable_text(message: Message) -> str:
    """What a reader would call the text of `message`: said, sent by send_message, or returned by tools."""
    sent = [text for call in message.tool_calls if (text := sent_text(call)) is not None]
    returned = [_returned_text(returned) for returned in message.tool_returns if returned.name != SEARCH_TOOL]
    return "\n".join(text for text in (message.text, *sent, *returned) if text)


def sent_text(call: ToolCall) -> str | None:
    """The text that a `send_message` call speaks to the user; None for other calls and unreadable arguments."""
    if call.name != "send_message":
        return None
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    text = arguments.get("message") if isinstance(arguments, dict) else None
    return text if isinstance(text, str) else None


def _hit(message: Message, query: ConversationQuery, words: frozenset[str]) -> Hit | None:
    if message.role == "system" or message.compaction is not None:
        return None
    if message.role not in query.roles or not _in_time(message.created_at, query):
        return None
    text = "" if any(call.name == SEARCH_TOOL for call in message.tool_calls) else searchable_text(message)
    if not text:
        return None
    folded = text.casefold()
    score = sum(word in folded for word in words) / len(words) if words else 1.0
    return Hit(message.id, message.conversation, message.role, text, message.created_at, score)


def _in_time(at: datetime, query: ConversationQuery) -> bool:
    return (query.start is None or query.start <= at) and (query.end is None or at <= query.end)


def _words(text: str) -> frozenset[str]:
    """The words of `text`, case folded; the text itself if it has none, such as an emoji."""
    folded = text.casefold().strip()
    return frozenset(_WORD.findall(folded)) or frozenset([folded] if folded else [])


def _returned_text(returned: ToolReturn) -> str:
    if isinstance(returned.content, str):
        return returned.content
    return "".join(part.text for part in returned.content if isinstance(part, TextPart))
