"""Sending messages: the body of a request becomes a turn, its events become the answer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentkeep.api.blocking import blocking
from agentkeep.api.requests.messages import Incoming, MessageCreate, SendMessages, SendToConversation
from agentkeep.api.sse import sse
from agentkeep.api.stream import StreamedResponse
from agentkeep.errors import BadRequestError
from agentkeep.loop import turns
from agentkeep.loop.request import Input, TurnRequest
from agentkeep.models import find_model
from agentkeep.operations.conversations import resolve
from agentkeep.store import conversations

MAX_MESSAGES: Final = 40
"""Of one request: they enter the history in one transaction of at most 100 writes, two for each."""


class NothingAwaitsError(BadRequestError):
    """An approval or a client's tool return came, and no call waits for one. Clients look for this text."""

    def __init__(self) -> None:
        super().__init__("No tool call is currently awaiting approval. Send a message to start a turn.")


class TooManyMessagesError(BadRequestError):
    """One request brings more messages than a turn takes."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"messages: {count} in one request; at most {MAX_MESSAGES} fit. Send the rest in a next request."
        )


@dataclass(frozen=True)
class Invocation:
    """What a turn takes from the request around it. `seconds`: the time that the invocation has left.

    `retries` is letta-client's count of its own retries of this request.
    """

    idempotency_key: str | None
    retries: str | None
    seconds: float


def to_agent(agent_id: str, request: SendMessages, invocation: Invocation) -> StreamedResponse:
    """Runs a turn in the agent's default conversation."""
    return _send(agent_id, agent_id, request, invocation)


def to_conversation(conversation_id: str, request: SendToConversation, invocation: Invocation) -> StreamedResponse:
    """Runs a turn in a conversation; `default` is that of the agent in the body."""
    if conversation_id.startswith("conv-"):
        agent_id = conversations.get(conversation_id).conversation.agent_id
    else:
        agent_id = resolve(conversation_id, request.agent_id).conversation.agent_id
        conversation_id = agent_id
    return _send(agent_id, conversation_id, request, invocation)


def _send(agent_id: str, conversation: str, request: SendMessages, invocation: Invocation) -> StreamedResponse:
    """Answers with the turn's messages, as JSON or as server-sent events."""
    turn = _turn(agent_id, conversation, request, invocation)
    answer = sse if request.streaming else blocking
    return answer(lambda emit: turns.run(turn, emit), request.view().show)


def _turn(agent_id: str, conversation: str, request: SendMessages, invocation: Invocation) -> TurnRequest:
    if request.override_model:
        find_model(request.override_model)
    return TurnRequest(
        agent_id=agent_id,
        conversation=conversation,
        inputs=_inputs(request.incoming),
        max_steps=request.max_steps,
        override_model=request.override_model,
        override_system=request.override_system,
        background=request.background,
        idempotency_key=invocation.idempotency_key,
        retried=invocation.retries not in (None, "", "0"),
        config=_config(request),
        deadline=time.monotonic() + invocation.seconds,
    )


def _inputs(incoming: Sequence[Incoming]) -> list[Input]:
    if len(incoming) > MAX_MESSAGES:
        raise TooManyMessagesError(len(incoming))
    return [_input(message) for message in incoming]


def _input(message: Incoming) -> Input:
    if not isinstance(message, MessageCreate):
        raise NothingAwaitsError
    return Input(
        role=message.role,
        content=message.parts(),
        otid=message.otid,
        name=message.name,
        sender_id=message.sender_id,
    )


def _config(request: SendMessages) -> dict[str, Any]:
    names = {
        "use_assistant_message", "assistant_message_tool_name", "assistant_message_tool_kwarg",
        "include_return_message_types", "streaming",
    }  # fmt: skip
    return request.model_dump(mode="json", include=names)
