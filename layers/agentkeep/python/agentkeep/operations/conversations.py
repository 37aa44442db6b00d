"""Conversations: create, read, list, change, delete."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentkeep import clock, ids
from agentkeep.api.requests.conversations import CreateConversation, ListConversations, UpdateConversation
from agentkeep.errors import BadRequestError, InvalidRequestError, NotFoundError
from agentkeep.models import find_model
from agentkeep.operations import context_window
from agentkeep.operations.agent_details import message_ids
from agentkeep.operations.opening import open_conversation
from agentkeep.operations.revising import revise
from agentkeep.store import agents as agent_store
from agentkeep.store import blocks as block_store
from agentkeep.store import conversations as conversation_store
from agentkeep.store import database
from agentkeep.store.conversations import State
from agentkeep.store.entities import Conversation
from agentkeep.tenancy.context import current_caller


class IsolatedBlocksError(BadRequestError):
    """Blocks of one conversation alone are not there yet."""

    def __init__(self) -> None:
        super().__init__("isolated_block_labels: blocks of one conversation alone are not available in this version.")


@dataclass(frozen=True)
class ConversationDetails:
    """A conversation with the ids of what is in its context window."""

    state: State
    message_ids: Sequence[str]


def create(agent_id: str | None, request: CreateConversation) -> ConversationDetails:
    """A new conversation with an agent."""
    if (request.agent_id or agent_id) is None:
        raise InvalidRequestError("agent_id", "is required, in the query or in the body: whose conversation it is.")
    if request.isolated_block_labels:
        raise IsolatedBlocksError
    if request.model:
        find_model(request.model)
    agent = agent_store.get(str(request.agent_id or agent_id))
    now, caller = clock.now(), current_caller.get().principal
    conversation = Conversation(
        id=ids.new("conv"),
        agent_id=agent.id,
        system_message_id=ids.new("message"),
        context_window=request.context_window_limit,
        created_by_id=caller,
        last_updated_by_id=caller,
        created_at=now,
        updated_at=now,
        **request.given("summary", "description", "model", "model_settings", "hidden"),
    )
    blocks = list(block_store.get_many(agent.block_ids).values())
    state, writes = open_conversation(conversation, agent, blocks, [])
    database.transact(writes)
    return ConversationDetails(state, [])


def resolve(conversation_id: str, agent_id: str | None) -> State:
    """The conversation a path names: `conv-...`, an agent's id, or `default` with the agent named beside it."""
    if conversation_id == "default":
        if agent_id is None:
            raise InvalidRequestError("agent_id", "is required with the conversation 'default': whose default it is.")
        conversation_id = agent_id
    if conversation_id.startswith("agent-"):
        agent_store.get(conversation_id)
    state = conversation_store.get(conversation_id)
    if not conversation_store.is_default(state.conversation):
        _refuse_orphan(state)
    return state


def _refuse_orphan(state: State) -> None:
    """A conversation goes with its agent, at once for whoever looks at it."""
    try:
        agent_store.get(state.conversation.agent_id)
    except NotFoundError:
        raise NotFoundError("Conversation", state.conversation.id) from None


def retrieve(conversation_id: str, agent_id: str | None) -> ConversationDetails:
    """The conversation."""
    state = resolve(conversation_id, agent_id)
    return ConversationDetails(state, message_ids(state.conversation.id))


def page(query: ListConversations) -> list[ConversationDetails]:
    """One page of named conversations. Their message ids are not read: None of them costs a read of its own."""
    if query.agent_id:
        agent_store.get(query.agent_id)
    alive: dict[str, bool] = {}

    def keep(found: Sequence[State]) -> Sequence[State]:
        fitting = [state for state in found if _fits(state.conversation, query)]
        asked = {state.conversation.agent_id for state in fitting} - alive.keys()
        known = agent_store.get_many(asked)
        alive.update((agent_id, agent_id in known) for agent_id in asked)
        return [state for state in fitting if alive[state.conversation.agent_id]]

    states = conversation_store.page(query.agent_id, query.page(), query.order_by, keep)
    return [ConversationDetails(state, []) for state in states]


def _fits(conversation: Conversation, query: ListConversations) -> bool:
    if conversation.hidden and not query.show_hidden:
        return False
    if query.archive_status != "all" and conversation.archived != (query.archive_status == "archived"):
        return False
    return not query.summary_search or query.summary_search.lower() in (conversation.summary or "").lower()


def update(conversation_id: str, agent_id: str | None, request: UpdateConversation) -> ConversationDetails:
    """The conversation with what the request gives."""
    if request.model:
        find_model(request.model)

    def attempt() -> State:
        old = resolve(conversation_id, agent_id)
        given = request.given()
        if "context_window_limit" in given:
            given["context_window"] = given.pop("context_window_limit")
        if given.get("archived") != old.conversation.archived and "archived" in given:
            given["archived_at"] = clock.now() if given["archived"] else None
        stamp = {"updated_at": clock.now(), "last_updated_by_id": current_caller.get().principal}
        new = Conversation.model_validate({**old.conversation.model_dump(), **given, **stamp})
        database.write(conversation_store.update_write(old, new))
        return conversation_store.get(old.conversation.id)

    state = revise(attempt)
    return ConversationDetails(state, message_ids(state.conversation.id))


def recompile(conversation_id: str, agent_id: str | None, *, dry_run: bool) -> str:
    """The compiled system message of a conversation; stored unless `dry_run`."""
    conversation = resolve(conversation_id, agent_id).conversation
    return context_window.recompile(conversation.agent_id, conversation.id, dry_run=dry_run, update_timestamp=False)


def delete(conversation_id: str) -> None:
    """Deletes a conversation; a turn that runs in it commits nothing more. The default one goes with the agent."""
    if not conversation_id.startswith("conv-"):
        raise BadRequestError(
            "An agent's default conversation is deleted with the agent; PATCH reset-messages empties it."
        )
    revise(lambda: database.transact(list(conversation_store.delete_writes(resolve(conversation_id, None)))))
