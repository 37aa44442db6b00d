"""Messages: sending them to an agent or a conversation, which runs a turn; listing them; compacting the window."""

from typing import Any

from agentkeep.api.replies import Reply
from agentkeep.api.requests.compaction import CompactConversation
from agentkeep.api.requests.messages import ListAllMessages, ListMessages, SendMessages, SendToConversation
from agentkeep.api.resolver import Event, Resolver
from agentkeep.api.stream import StreamedResponse
from agentkeep.operations import compaction, messages, sending
from agentkeep.operations.sending import Invocation

Json = dict[str, Any]

app = Resolver()


@app.get("/v1/agents/<agent_id>/messages", permission="message:read")
def list_agent_messages(agent_id: str) -> list[Json]:
    return messages.of_agent(agent_id, app.query(ListMessages))


@app.post("/v1/agents/<agent_id>/messages", permission="message:send", streaming=True)
def send_to_agent(agent_id: str) -> StreamedResponse:
    return sending.to_agent(agent_id, app.body(SendMessages), _invocation())


@app.get("/v1/conversations/<conversation_id>/messages", permission="message:read")
def list_conversation_messages(conversation_id: str) -> list[Json]:
    return messages.of_conversation(conversation_id, app.query(ListMessages))


@app.post("/v1/conversations/<conversation_id>/messages", permission="message:send", streaming=True)
def send_to_conversation(conversation_id: str) -> StreamedResponse:
    return sending.to_conversation(conversation_id, app.body(SendToConversation), _invocation())


@app.post("/v1/agents/<agent_id>/summarize", permission="message:send", streaming=True)
def compact_agent(agent_id: str) -> StreamedResponse:
    return compaction.of_agent(agent_id, app.body(CompactConversation), _seconds())


@app.post("/v1/conversations/<conversation_id>/compact", permission="message:send", streaming=True)
def compact_conversation(conversation_id: str) -> StreamedResponse:
    return compaction.of_conversation(conversation_id, app.body(CompactConversation), _seconds())


@app.get("/v1/messages", permission="message:read")
def list_messages() -> list[Json]:
    return messages.of_tenant(app.query(ListAllMessages))


@app.get("/v1/messages/<message_id>", permission="message:read")
def retrieve_message(message_id: str) -> list[Json]:
    return messages.retrieve(message_id)


def _invocation() -> Invocation:
    return Invocation(
        idempotency_key=app.header("idempotency-key"),
        retries=app.header("x-stainless-retry-count"),
        seconds=_seconds(),
    )


def _seconds() -> float:
    return float(app.lambda_context.get_remaining_time_in_millis()) / 1000


def lambda_handler(event: Event, context: Any) -> Reply:
    """Answers a proxy event of API Gateway."""
    return app.resolve(event, context)
