"""The conversation_search tool: from checked arguments to a query, and from hits to a text the model can read."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, Final

from agentkeep.memory.local_time import ago, stamp, zone
from agentkeep.memory.recall import DEFAULT_LIMIT, ConversationQuery, Hit
from agentkeep.tools.arguments import ToolArgumentsError
from agentkeep.tools.returns import shorten

MOST_HITS: Final = 100
HIT_CHARACTERS: Final = 2_000
_DEFAULT_ROLES: Final = ("user", "assistant")

Arguments = Mapping[str, Any]
Search = Callable[[ConversationQuery], Sequence[Hit]]


def search_conversations(given: Arguments, search: Search, now: datetime, timezone: str) -> str:
    """What `search` finds, each hit with its time in the agent's zone, how long ago it was, and who spoke."""
    hits = search(to_query(given, timezone))
    if not hits:
        return f"No message was found{_described(given)}. Try fewer or other words, or another time."
    found = "1 message" if len(hits) == 1 else f"{len(hits)} messages"
    return "\n\n".join([f"Found {found}{_described(given)}:", *(_shown(hit, now, timezone) for hit in hits)])


def to_query(given: Arguments, timezone: str) -> ConversationQuery:
    """The query that checked arguments ask for; a limit above 100 counts as 100. Raises ToolArgumentsError."""
    limit = given.get("limit", DEFAULT_LIMIT)
    if limit < 1:
        raise ToolArgumentsError(f"The argument 'limit' of conversation_search must be at least 1, not {limit}.")
    start = _moment("start_date", given.get("start_date"), timezone, time.min)
    end = _moment("end_date", given.get("end_date"), timezone, time.max)
    if start and end and start > end:
        raise ToolArgumentsError("The 'start_date' of conversation_search lies after its 'end_date'. Exchange them.")
    roles = tuple(dict.fromkeys(given.get("roles") or _DEFAULT_ROLES))
    return ConversationQuery(given.get("query", ""), roles, min(limit, MOST_HITS), start, end)


def _moment(name: str, text: str | None, timezone: str, of_day: time) -> datetime | None:
    """The moment `text` names, in the agent's zone unless it says another; a bare date means `of_day` on that day."""
    if not (text or "").strip():
        return None
    try:
        moment = _parsed(str(text).strip(), of_day)
    except ValueError as error:
        raise ToolArgumentsError(
            f"The argument '{name}' of conversation_search must be a date such as 2026-03-02 or a date and time such as"
            f" 2026-03-02T14:30, not '{text}'."
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=zone(timezone))


def _parsed(text: str, of_day: time) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(text), of_day)
    except ValueError:
        return datetime.fromisoformat(text)


def _described(given: Arguments) -> str:
    query = given.get("query", "").strip()
    return f" for '{shorten(query, 200)}'" if query else ""


def _shown(hit: Hit, now: datetime, timezone: str) -> str:
    when = f"{stamp(hit.created_at, timezone)}, {ago(hit.created_at, now)}"
    return f"[{when}] {hit.role}:\n{shorten(hit.text, HIT_CHARACTERS)}"
