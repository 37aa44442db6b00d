"""A step's surroundings to run builtin tools in."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from agentkeep.memory.recall import ConversationQuery, Hit
from agentkeep.memory.workspace import BlockWorkspace
from agentkeep.store.content import ToolCall, ToolReturn
from agentkeep.store.entities import Block
from agentkeep.tools.builtin import ToolContext, run_builtin

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Desk:
    """An agent in the middle of a step: its blocks, what searches find, and what was asked of them."""

    def __init__(self, values: dict[str, str], hits: Sequence[Hit] = (), timezone: str = "UTC") -> None:
        blocks = [
            Block(id=f"block-{label}", label=label, value=value, created_at=NOON, updated_at=NOON)
            for label, value in values.items()
        ]
        rules = Block(
            id="block-rules", label="rules", value="Be kind.", read_only=True, created_at=NOON, updated_at=NOON
        )
        self.queries: list[ConversationQuery] = []
        self.hits = hits
        self.workspace = BlockWorkspace([*blocks, rules], now=NOON)
        self.context = ToolContext(workspace=self.workspace, search=self._search, now=NOON, timezone=timezone)

    def call(self, tool: str, **arguments: Any) -> ToolReturn:
        return self.call_raw(tool, json.dumps(arguments))

    def call_raw(self, tool: str, arguments: str) -> ToolReturn:
        return run_builtin(ToolCall(id="call-1", name=tool, arguments=arguments), self.context)

    def value(self, label: str) -> str:
        return self.workspace.get(label).value

    def _search(self, query: ConversationQuery) -> Sequence[Hit]:
        self.queries.append(query)
        return self.hits


@pytest.fixture(scope="session")
def make_desk() -> Callable[..., Desk]:
    return Desk
