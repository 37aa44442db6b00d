"""A store that fails, or a process that dies, at any call of a turn; then the message comes again, or another one."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from agentkeep.loop import turns
from agentkeep.loop.request import Input, TurnRequest
from agentkeep.store.content import TextPart
from tests.doubles.faults import WAYS, Death, Faults, Way
from tests.doubles.ledger import Contents, Ledger
from tests.doubles.scenes import SCENES, Scene, Thinker
from tests.doubles.system import Answer, System

AGAIN: Final = ("the same otid", "the client's retry", "another message")
WRITES: Final = {"two steps": 7, "two at once": 5}
READS: Final = 3


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentkeep.store.database._BACK_OFF_SECONDS", 0)
    monkeypatch.setenv("AGENTKEEP_HEARTBEAT_AFTER_SECONDS", "60")


@dataclass
class Stage:
    """Where a scene is played and broken."""

    system: System
    model: Thinker
    scene: Scene
    monkeypatch: pytest.MonkeyPatch

    def play_broken(self, at: int, way: Way, *, reads: bool, otid: str | None) -> str:
        """The agent, after its turn was broken at one call and the trouble is over."""
        agent = self.scene.new_agent(self.system)
        faults = Faults(at, way, reads)
        self.system.engine.faults = faults
        if way.startswith("dies"):
            with pytest.raises(Death):
                self._die(agent, otid)
        else:
            self.send(agent, self.scene.text, otid)
        assert faults.counted >= at
        faults.lift()
        return agent

    def _die(self, agent: str, otid: str | None) -> None:
        said = Input(content=[TextPart(text=self.scene.text)], otid=otid)
        with self.system.acting():
            turns.run(TurnRequest(agent, agent, [said]), lambda event: None)

    def send(self, agent: str, text: str, otid: str | None = None, **headers: str) -> Answer:
        message = {"role": "user", "content": text, "otid": otid}
        path = f"/v1/agents/{agent}/messages"
        return self.system.call("messages", "POST", path, {"messages": [message]}, headers=headers)

    def wait_for_the_lease(self, at: int) -> None:
        """Until a holder that died is known to be dead: by its time, or because the machine's process is another."""
        if at % 2:
            offset = float(os.environ.get("AGENTKEEP_CLOCK_OFFSET_SECONDS") or 0)
            self.monkeypatch.setenv("AGENTKEEP_CLOCK_OFFSET_SECONDS", str(offset + 31))
        else:
            self.monkeypatch.setenv("AGENTKEEP_PROCESS_EPOCH", f"started-again-{os.urandom(4).hex()}")

    def send_again(self, agent: str, again: str, otid: str | None) -> Answer:
        if again == "another message":
            return self.send(agent, "And now?")
        headers = {"x-stainless-retry-count": "1"} if again == "the client's retry" else {}
        return self.send(agent, self.scene.text, otid, **headers)


@pytest.fixture(params=SCENES, ids=str)
def stage(request: pytest.FixtureRequest, system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    thinker = Thinker(request.param.think)
    monkeypatch.setattr("agentkeep.loop.driver.complete", thinker)
    yield Stage(system, thinker, request.param, monkeypatch)
    assert thinker.unpaired == []
    assert Ledger(system).damage() == []


@dataclass(frozen=True)
class Undisturbed:
    """A scene as it goes when nothing goes wrong."""

    contents: Contents
    answer: list[dict[str, Any]]


@pytest.fixture
def undisturbed(stage: Stage) -> Undisturbed:
    agent = stage.scene.new_agent(stage.system)
    answer = stage.send(agent, stage.scene.text)
    return Undisturbed(Ledger(stage.system).contents(agent), shown(answer))


def shown(answer: Answer) -> list[dict[str, Any]]:
    """The messages of an answer without what differs from turn to turn."""
    assert answer.status == 200, answer.body
    changing = ("id", "date", "run_id", "step_id", "otid")
    return [{name: value for name, value in each.items() if name not in changing} for each in answer.body["messages"]]


def recovered(stage: Stage, undisturbed: Undisturbed, at: int, way: Way, again: str, *, reads: bool) -> None:
    otid = "otid-1" if again == "the same otid" else None
    agent = stage.play_broken(at, way, reads=reads, otid=otid)
    stage.wait_for_the_lease(at)

    answer = stage.send_again(agent, again, otid)

    contents = Ledger(stage.system).contents(agent)
    if again == "another message":
        assert answer.status == 200, answer.body
        expect_a_part(contents, undisturbed.contents)
    else:
        assert shown(answer) == undisturbed.answer
        assert contents == undisturbed.contents


def expect_a_part(contents: Contents, whole: Contents) -> None:
    """The turn as far as it came, its open calls closed, and the other message after it."""
    *before, asked, answered = contents.history
    assert (asked, answered) == ("user: And now?", "assistant: Acknowledged.")
    while before and before[-1].startswith("error: The call was interrupted"):
        before.pop()
    assert before == list(whole.history[: len(before)])
    for label, values in contents.blocks.items():
        assert values == whole.blocks[label][: len(values)]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "refused"])
def test_a_write_that_fails_costs_nothing(stage: Stage, undisturbed: Undisturbed, way: Way) -> None:
    for at in range(1, WRITES[stage.scene.name] + 1):
        recovered(stage, undisturbed, at, way, AGAIN[(at + WAYS.index(way)) % 3], reads=False)


@pytest.mark.long
@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "refused"])
def test_every_write_in_every_way_costs_nothing(
    stage: Stage, undisturbed: Undisturbed, way: Way, again: str
) -> None:
    for at in range(1, WRITES[stage.scene.name] + 1):
        recovered(stage, undisturbed, at, way, again, reads=False)


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("way", ["dies before", "times out before", "down before", "server errors before"])
def test_a_read_that_fails_costs_nothing(stage: Stage, undisturbed: Undisturbed, way: Way, again: str) -> None:
    for at in range(1, READS + 1):
        recovered(stage, undisturbed, at, way, again, reads=True)
