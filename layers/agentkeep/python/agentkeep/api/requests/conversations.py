"""Requests about conversations."""

from typing import Literal

from agentkeep.api.requests.fields import AgentId, Body, Boolean, ContextWindow, Handle, Moment, Page, Query
from agentkeep.api.requests.model_settings import ModelSettings
from agentkeep.store.conversations import Order as ConversationOrder


class _ConversationFields(Body):
    summary: str | None = None
    description: str | None = None
    model: Handle | None = None
    model_settings: ModelSettings | None = None
    context_window_limit: ContextWindow | None = None
    hidden: Boolean | None = None


class CreateConversation(_ConversationFields):
    """The body of conversations.create. The agent is named in the query or, by newer clients, here."""

    agent_id: AgentId | None = None
    isolated_block_labels: list[str] | None = None


class UpdateConversation(_ConversationFields):
    """The body of conversations.update; only what `given()` holds is changed."""

    archived: Boolean | None = None
    last_message_at: Moment | None = None


class ConversationAgent(Query):
    """A query that names the agent of a conversation."""

    agent_id: AgentId | None = None


class ConversationAgentBody(Body):
    """A body that names the agent of a conversation."""

    agent_id: AgentId | None = None


class DryRun(Query):
    """The query of conversations.recompile."""

    dry_run: bool = False


class ListConversations(Page):
    """The query of conversations.list."""

    order_by: ConversationOrder = "created_at"
    agent_id: AgentId | None = None
    archive_status: Literal["unarchived", "archived", "all"] = "unarchived"
    summary_search: str | None = None
    show_hidden: bool = False
