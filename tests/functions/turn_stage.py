"""Where scenes are played, broken and gone on with; what may be left behind is looked at when a test ends."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from agentkeep.errors import AgentKeepError
from agentkeep.loop import turns
from agentkeep.loop.request import Input, TurnRequest
from agentkeep.store.content import TextPart
from tests.doubles.faults import Death, Faults
from tests.doubles.ledger import Contents, Ledger
from tests.doubles.provider_shapes import bodies
from tests.doubles.scenes import Scene, Thinker
from tests.doubles.system import Answer, System


@dataclass
class Stage:
    """A system, a model that plays a scene, and time that can be moved."""

    system: System
    model: Thinker
    scene: Scene
    monkeypatch: pytest.MonkeyPatch

    def send(self, conversation: str, text: str, otid: str | None = None, **headers: str) -> Answer:
        """Sends a message to an agent's default conversation, or to a named one."""
        kind = "conversations" if conversation.startswith("conv-") else "agents"
        body = {"messages": [{"role": "user", "content": text, "otid": otid}], "streaming": False}
        return self.system.call("messages", "POST", f"/v1/{kind}/{conversation}/messages", body, headers=headers)

    def play(self, agent: str, otid: str | None = None) -> None:
        """Plays the scene with nobody waiting for its answer, nor for its error. Raises Death."""
        said = Input(content=[TextPart(text=self.scene.text)], otid=otid)
        with self.system.acting(), suppress(AgentKeepError):
            turns.run(TurnRequest(agent, agent, [said]), lambda event: None)

    def die(self, agent: str, otid: str | None = None) -> None:
        """Plays the scene up to the death of its process, which the faults of the engine or the model bring about."""
        with pytest.raises(Death):
            self.play(agent, otid)

    def die_at(self, write: int, agent: str, otid: str | None = None) -> None:
        """Plays the scene until its process dies just before a write."""
        self.system.engine.faults = Faults(write, "dies before")  # type: ignore[assignment]
        self.die(agent, otid)
        self.system.engine.faults = None

    def pass_time(self, seconds: float) -> None:
        """Moves the clock."""
        offset = float(os.environ.get("AGENTKEEP_CLOCK_OFFSET_SECONDS") or 0)
        self.monkeypatch.setenv("AGENTKEEP_CLOCK_OFFSET_SECONDS", str(offset + seconds))

    def start_again(self) -> None:
        """Another process serves from now on; whatever the one before held is known to be nobody's."""
        self.monkeypatch.setenv("AGENTKEEP_PROCESS_EPOCH", os.urandom(4).hex())

    def contents(self, agent: str) -> Contents:
        """What the agent's turns came to."""
        return Ledger(self.system).contents(agent)

    def run(self, run_id: str) -> dict[str, Any]:
        """A run as the API shows it."""
        answer = self.system.call("runs", "GET", f"/v1/runs/{run_id}")
        assert answer.status == 200, answer.body
        shown: dict[str, Any] = answer.body
        return shown


@contextmanager
def opened(
    system: System, scene: Scene, monkeypatch: pytest.MonkeyPatch, *, paired_unaided: bool = True
) -> Iterator[Stage]:
    """A stage. At the end nothing is damaged, no unpaired call was sent to the model, no thread is left.

    Without `paired_unaided` the requests are held to what providers get: each, rewritten for every kind of provider,
    must be one that it takes. The history as stored must be paired all the same.
    """
    monkeypatch.setattr("agentkeep.store.database._BACK_OFF_SECONDS", 0)
    monkeypatch.setenv("AGENTKEEP_HEARTBEAT_AFTER_SECONDS", "60")
    model = Thinker(scene.think)
    monkeypatch.setattr("agentkeep.loop.driver.complete", model)
    monkeypatch.setattr("agentkeep.loop.compaction.summarizing.complete", model)
    threads = set(threading.enumerate())
    yield Stage(system, model, scene, monkeypatch)
    system.engine.faults = None
    if paired_unaided:
        assert model.unpaired == []
    else:
        assert all(bodies(request) for request in model.requests)
    assert Ledger(system).damage() == []
    assert set(threading.enumerate()) <= threads


def shown(answer: Answer) -> list[dict[str, Any]]:
    """The messages of an answer without what differs from turn to turn."""
    assert answer.status == 200, answer.body
    changing = ("id", "date", "run_id", "step_id", "otid")
    return [{name: value for name, value in each.items() if name not in changing} for each in answer.body["messages"]]
