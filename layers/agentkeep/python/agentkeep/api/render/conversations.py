"""Conversations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from agentkeep.api.render.times import moment
from agentkeep.store.entities import Conversation

Json = dict[str, Any]


def conversation(
    record: Conversation, message_ids: Sequence[str] = (), *, last_message_at: datetime | None = None
) -> Json:
    """A conversation. `message_ids` are those in its context window; lists leave them out, as Letta does."""
    return {
        "created_by_id": record.created_by_id,
        "last_updated_by_id": record.last_updated_by_id,
        "created_at": moment(record.created_at),
        "updated_at": moment(record.updated_at),
        "id": record.id,
        "agent_id": record.agent_id,
        "summary": record.summary,
        "description": record.description,
        "in_context_message_ids": list(message_ids),
        "isolated_block_ids": record.isolated_block_ids,
        "model": record.model,
        "model_settings": record.model_settings,
        "context_window_limit": record.context_window,
        "last_message_at": moment(last_message_at or record.last_message_at),
        "archived": record.archived,
        "archived_at": moment(record.archived_at),
        "hidden": record.hidden,
    }
