"""Blocks, agents and messages to try memory on."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from agentkeep.store.content import Message, TextPart
from agentkeep.store.entities import Agent, Block

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def make_block() -> Callable[..., Block]:
    def make(label: str = "human", value: str = "", **attributes: Any) -> Block:
        given = {"id": f"block-{label}", "created_at": LONG_AGO, "updated_at": LONG_AGO, "version": 3, **attributes}
        return Block(label=label, value=value, **given)

    return make


@pytest.fixture(scope="session")
def make_agent() -> Callable[..., Agent]:
    def make(**attributes: Any) -> Agent:
        given = {"id": "agent-1", "name": "Ada", "system": "Be kind.", "model": "demo/memory", **attributes}
        return Agent(**given, created_at=LONG_AGO, updated_at=LONG_AGO)

    return make


@pytest.fixture(scope="session")
def make_message() -> Callable[..., Message]:
    def make(role: str, text: str, at: str = "2026-03-02T12:00:00Z", **attributes: Any) -> Message:
        given = {"id": f"message-{text}", "agent_id": "agent-1", "conversation": "agent-1", "role": role, **attributes}
        return Message.model_validate({**given, "content": [TextPart(text=text)], "created_at": at})

    return make
