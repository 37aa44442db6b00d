"""The official clients as tests use them: strict about what they are answered, and counted."""

import ssl
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx
from letta_client import DefaultHttpxClient, Letta
from letta_client.types.agents import Message

T = TypeVar("T")
SECONDS = 30
TLS = ssl.create_default_context()
"""Shared, since each client would otherwise read all certificates again: 20 ms, for servers that speak none of it."""


def client_of(
    base_url: str, api_key: str = "any", transport: httpx.BaseTransport | None = None, **options: Any
) -> Letta:
    """A client that refuses answers which do not fit its own models, and that gives up at once unless told."""
    settings: dict[str, Any] = {"timeout": SECONDS, "max_retries": 0} | options
    settings.setdefault("http_client", DefaultHttpxClient(verify=TLS, transport=transport))
    return Letta(base_url=base_url, api_key=api_key, _strict_response_validation=True, **settings)


class CountedRequests:
    """The requests that a client sent, as `METHOD path`."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def client_of(self, base_url: str, **options: Any) -> Letta:
        """A client with its usual retries, whose requests are counted here."""
        counting = DefaultHttpxClient(event_hooks={"request": [self._note]}, verify=TLS)
        return client_of(base_url, **{"max_retries": 2, "http_client": counting} | options)

    def _note(self, request: httpx.Request) -> None:
        self.sent.append(f"{request.method} {request.url.path}")


def in_threads(count: int, work: Callable[[int], T]) -> list[T]:
    """The results of `work(0)` to `work(count - 1)`, run at the same time. Raises what one of them raises."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def said(messages: Iterable[Any]) -> str:
    """The text of the assistant's messages."""
    return "\n".join(message.content for message in messages if message.message_type == "assistant_message")


def kinds(messages: Iterable[Any]) -> list[str]:
    """The message types, in order."""
    return [message.message_type for message in messages]


def history(client: Letta, agent_id: str, conversation_id: str | None = None) -> list[Message]:
    """A conversation from its first message to its newest; the agent's default one unless another is named."""
    return list(
        client.agents.messages.list(agent_id, conversation_id=conversation_id or "default", order="asc", limit=100)
    )


def unpaired_calls(messages: Iterable[Any]) -> set[str]:
    """The ids of tool calls that are not followed by exactly one return, and of returns without a call."""
    waiting: set[str] = set()
    wrong: set[str] = set()
    for message in messages:
        if message.message_type == "tool_call_message":
            waiting.add(message.tool_call.tool_call_id)
        elif message.message_type == "tool_return_message":
            wrong |= {message.tool_call_id} - waiting
            waiting.discard(message.tool_call_id)
    return waiting | wrong
