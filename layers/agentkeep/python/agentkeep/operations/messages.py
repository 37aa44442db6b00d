"""Messages: listing them by conversation, agent, tenant, run and step, and looking one up."""

from collections.abc import Callable
from typing import Any

from agentkeep.api.render.messages import MessageView
from agentkeep.api.requests.messages import ListAllMessages, ListMessages, ListRunMessages
from agentkeep.errors import NotFoundError
from agentkeep.operations.conversations import resolve
from agentkeep.store import agents, conversations, messages, runs
from agentkeep.store.content import Message
from agentkeep.store.pages import PageRequest

Json = dict[str, Any]


def of_agent(agent_id: str, query: ListMessages) -> list[Json]:
    """One page of an agent's messages: of the conversation named, or of all of them.

    An agent that has only its default conversation is read strongly: what was just said is there.
    """
    agents.get(agent_id)
    view, page = query.view(), query.page()
    if query.conversation_id is None and conversations.has_named(agent_id):
        return view.show_all(messages.page_of_agent(agent_id, page, _shown_by(view)))
    conversation = resolve(query.conversation_id or agent_id, agent_id).conversation
    if conversation.agent_id != agent_id:
        raise NotFoundError("Conversation", conversation.id)
    return _of_conversation(conversation.id, view, page)


def of_conversation(conversation_id: str, query: ListMessages) -> list[Json]:
    """One page of a conversation's messages."""
    conversation = resolve(conversation_id, query.agent_id).conversation
    return _of_conversation(conversation.id, query.view(), query.page())


def of_tenant(query: ListAllMessages) -> list[Json]:
    """One page of the messages of all agents, or of one conversation."""
    view = query.view()
    if query.conversation_id is not None:
        return _of_conversation(resolve(query.conversation_id, None).conversation.id, view, query.page())
    return view.show_all(messages.page_of_tenant(query.page(), _shown_by(view)))


def of_run(run_id: str, query: ListRunMessages) -> list[Json]:
    """One page of the messages a run committed, its input among them."""
    run = runs.get(run_id)
    resolve(run.conversation, None)
    return _of_stretch(run.conversation, run.first_seq, run.last_seq, query)


def of_step(step_id: str, query: ListRunMessages) -> list[Json]:
    """One page of the messages a step committed."""
    step = runs.get_step(step_id)
    resolve(step.conversation, None)
    return _of_stretch(step.conversation, step.first_seq, step.last_seq, query)


def _of_stretch(conversation: str, first: int | None, last: int | None, query: ListRunMessages) -> list[Json]:
    if first is None or last is None:
        return []
    view = query.view()
    found = messages.page_of_conversation(conversation, query.page(), _shown_by(view), (first, last))
    return view.show_all(found)


def _of_conversation(conversation: str, view: MessageView, page: PageRequest) -> list[Json]:
    return view.show_all(messages.page_of_conversation(conversation, page, _shown_by(view)))


def _shown_by(view: MessageView) -> Callable[[Message], bool]:
    return lambda message: bool(view.show(message))


def retrieve(message_id: str) -> list[Json]:
    """The entries of one message."""
    message = messages.get(message_id)
    try:
        resolve(message.conversation, None)
    except NotFoundError:
        raise NotFoundError("Message", message_id) from None
    return MessageView().show(message)
