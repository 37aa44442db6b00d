"""Conversations: create, read, list, change, delete, compile their system message."""

from typing import Any

from agentkeep.api.render.conversations import conversation
from agentkeep.api.replies import Reply
from agentkeep.api.requests.conversations import (
    ConversationAgent,
    ConversationAgentBody,
    CreateConversation,
    DryRun,
    ListConversations,
    UpdateConversation,
)
from agentkeep.api.resolver import Event, Resolver
from agentkeep.operations import conversations
from agentkeep.operations.conversations import ConversationDetails

Json = dict[str, Any]

app = Resolver()


@app.get("/v1/conversations", permission="conversation:read")
def list_conversations() -> list[Json]:
    return [_shown(details) for details in conversations.page(app.query(ListConversations))]


@app.post("/v1/conversations", permission="conversation:write")
def create_conversation() -> Json:
    agent_id = app.query(ConversationAgent).agent_id
    return _shown(conversations.create(agent_id, app.body(CreateConversation)))


@app.get("/v1/conversations/<conversation_id>", permission="conversation:read")
def retrieve_conversation(conversation_id: str) -> Json:
    return _shown(conversations.retrieve(conversation_id, app.query(ConversationAgent).agent_id))


@app.patch("/v1/conversations/<conversation_id>", permission="conversation:write")
def update_conversation(conversation_id: str) -> Json:
    agent_id = app.query(ConversationAgent).agent_id
    return _shown(conversations.update(conversation_id, agent_id, app.body(UpdateConversation)))


@app.delete("/v1/conversations/<conversation_id>", permission="conversation:delete")
def delete_conversation(conversation_id: str) -> Json:
    conversations.delete(conversation_id)
    return {"message": f"Conversation id={conversation_id} successfully deleted"}


@app.post("/v1/conversations/<conversation_id>/recompile", permission="conversation:write")
def recompile_conversation(conversation_id: str) -> str:
    agent_id = app.body(ConversationAgentBody).agent_id
    return conversations.recompile(conversation_id, agent_id, dry_run=app.query(DryRun).dry_run)


def _shown(details: ConversationDetails) -> Json:
    state = details.state
    return conversation(state.conversation, details.message_ids, last_message_at=state.last_message_at)


def lambda_handler(event: Event, context: Any) -> Reply:
    """Answers a proxy event of API Gateway."""
    return app.resolve(event, context)
