"""What a caller asks of an agent: the messages of one turn and how to run it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentkeep.store.content import Part, Record, Role


class Input(Record):
    """A message as it came in. `otid` is the client's own id for it."""

    role: Role = "user"
    content: list[Part]
    otid: str | None = None
    name: str | None = None
    sender_id: str | None = None


@dataclass(frozen=True)
class TurnRequest:
    """One turn. `conversation` is a `conv-...` id, or the agent's id for its default conversation.

    `idempotency_key` is the Idempotency-Key header; without one the first otid among the inputs serves. `retried` says
    that the client marked this request as its own retry. `config` is kept with the run and shown with it. `deadline` is
    a `time.monotonic()` by which the invocation has to be over.
    """

    agent_id: str
    conversation: str
    inputs: Sequence[Input]
    max_steps: int = 50
    override_model: str | None = None
    override_system: str | None = None
    background: bool = False
    idempotency_key: str | None = None
    retried: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)
    deadline: float | None = None

    @property
    def key(self) -> str | None:
        """What makes a repetition of this request recognisable, if its sender gave something."""
        if self.idempotency_key:
            return f"key:{self.idempotency_key}"
        otid = next((message.otid for message in self.inputs if message.otid), None)
        return f"otid:{otid}" if otid else None

    @property
    def digest(self) -> str:
        """A digest of what is asked: the same for a repetition, another for other content."""
        asked = [[message.role, message.model_dump(mode="json")["content"]] for message in self.inputs]
        text = json.dumps([asked, self.max_steps, self.override_model, self.override_system], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def stored(self) -> dict[str, Any]:
        """What a run keeps of its request, enough to go on with it in another process."""
        return {
            "inputs": [message.model_dump(mode="json") for message in self.inputs],
            "max_steps": self.max_steps,
            "override_model": self.override_model,
            "override_system": self.override_system,
            "key": self.key,
            **self.config,
        }
