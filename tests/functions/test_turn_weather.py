"""Turns in the weather of the cloud, and in a chaos of dying processes: what is answered is there, once."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentkeep.errors import ConflictError
from agentkeep.loop import turns
from agentkeep.loop.events import Event, RunFinished
from agentkeep.loop.request import Input, TurnRequest
from agentkeep.models import ModelAnswer, ModelRequest
from agentkeep.store.content import TextPart
from agentkeep.store.database import StoreUnavailableError
from infra.local.weather import CALM, Weather
from tests.doubles.faults import Death
from tests.doubles.ledger import Ledger
from tests.doubles.models import both, calls, says
from tests.doubles.scenes import SCENES, TWO_STEPS, Scene
from tests.doubles.system import System
from tests.functions.turn_stage import Stage, opened, shown


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage
        system.engine.weather = CALM


@pytest.fixture
def stormy_stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch, paired_unaided=False) as stage:
        yield stage
        system.engine.weather = CALM


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_a_storm_changes_nothing_about_a_turn(stage: Stage, scene: Scene, seed: int) -> None:
    stage.scene, stage.model.think = scene, scene.think
    whole = scene.new_agent(stage.system)
    undisturbed = shown(stage.send(whole, scene.text))

    for number in range(3):
        agent = scene.new_agent(stage.system)
        stage.system.engine.weather = Weather.storm(10 * seed + number, 0.25)
        answer = _sent_until_answered(stage, agent, scene.text)
        stage.system.engine.weather = CALM

        assert answer == undisturbed
        assert stage.contents(agent) == stage.contents(whole)


def _sent_until_answered(stage: Stage, agent: str, text: str) -> list[dict[str, Any]]:
    """As letta-client does it: once more after each 503, and never by itself after another answer."""
    retries = 0
    while (answer := stage.send(agent, text, **{"x-stainless-retry-count": str(retries)})).status == 503:
        retries += 1
        stage.start_again()
    return shown(answer)


@pytest.mark.parametrize("seed", range(3))
def test_conversations_in_a_storm_lose_no_message_and_no_edit(stage: Stage, seed: int) -> None:
    chaos = Chaos(stage, seed, Weather.storm(seed, 0.15))

    chaos.run(conversations=5, messages=4, clients="a")

    assert chaos.answered == chaos.sent
    chaos.expect_each_answered_message_once()


@pytest.mark.parametrize("seed", range(3))
def test_processes_that_die_at_random_double_nothing_and_lose_nothing_answered(stage: Stage, seed: int) -> None:
    chaos = Chaos(stage, seed, deaths=0.03)

    chaos.run(conversations=3, messages=5)

    chaos.expect_each_answered_message_once()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 140))
def test_processes_that_die_in_a_storm_double_nothing_and_lose_nothing_answered(stormy_stage: Stage, seed: int) -> None:
    chaos = Chaos(stormy_stage, seed, Weather.storm(seed, 0.1), deaths=0.02)

    chaos.run(conversations=4, messages=8)

    chaos.expect_each_answered_message_once()


@dataclass
class Chaos:
    """Clients that talk to one agent, one or two in each conversation, and repeat what was not answered.

    Calls of the store end their thread's process with the probability `deaths`; after a death another process starts,
    for which everybody's lease is nobody's, so that living holders are taken over too.
    """

    stage: Stage
    seed: int
    weather: Weather = CALM
    deaths: float = 0.0
    sent: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    agent: str = ""
    conversations: list[str] = field(default_factory=list)

    def run(self, conversations: int, messages: int, clients: str = "ab") -> None:
        stage, system = self.stage, self.stage.system
        stage.model.think = _notes_twice
        block = system.call("blocks", "POST", "/v1/blocks", {"label": "notes", "value": "start"}).body["id"]
        self.agent = system.new_agent(block_ids=[block], model_settings={"parallel_tool_calls": True})["id"]
        self.conversations = [self._new_conversation() for _ in range(conversations)]
        system.engine.weather = self.weather
        system.engine.faults = _Deaths(self.deaths, self.seed)  # type: ignore[assignment]
        talks = [(to, client) for to in self.conversations for client in clients]
        with ThreadPoolExecutor(len(talks)) as pool:
            for done in [pool.submit(self._talk, to, client, messages) for to, client in talks]:
                done.result(timeout=300)
        system.engine.faults, system.engine.weather = None, CALM
        stage.start_again()
        for to in self.conversations:
            assert stage.send(to, "Is anything open?").status == 200

    def _new_conversation(self) -> str:
        body = {"agent_id": self.agent}
        return str(self.stage.system.call("conversations", "POST", "/v1/conversations", body).body["id"])

    def _talk(self, conversation: str, client: str, messages: int) -> None:
        for number in range(messages):
            text = f"{conversation[-6:]}{client}{number}"
            self.sent.add(text)
            if self._is_answered(conversation, text):
                self.answered.add(text)

    def _is_answered(self, conversation: str, text: str) -> bool:
        """Repeats the message until it is answered, or its run has failed for good."""
        request = TurnRequest(self.agent, conversation, [Input(content=[TextPart(text=text)], otid=text)])
        for _ in range(1_000):
            events: list[Event] = []
            try:
                with self.stage.system.acting():
                    turns.run(request, events.append)
                (finished,) = [event for event in events if isinstance(event, RunFinished)]
                return finished.error is None
            except Death:
                self.stage.start_again()
            except (ConflictError, StoreUnavailableError):
                time.sleep(random.uniform(0, 0.02))
        raise AssertionError(f"{text} was neither answered nor refused for good")

    def expect_each_answered_message_once(self) -> None:
        ledger = Ledger(self.stage.system)
        said = Counter(message.text for to in self.conversations for message in ledger.history(to))
        (block,) = ledger.blocks
        noted = Counter(block.value.split("\n"))
        assert self.answered
        failed = {run.otid: run.error or {} for run in ledger.runs if run.status == "failed"}
        assert {failed[text]["type"] for text in self.sent - self.answered} <= {"interrupted", "too_many_attempts"}
        for text in self.sent:
            lines = (noted[f"{text} first"], noted[f"{text} second"])
            assert said[text] == 1 and lines == (1, 1) if text in self.answered else said[text] <= 1 >= max(lines)


def _notes_twice(request: ModelRequest) -> ModelAnswer:
    """Two calls at once, that both edit the shared block; then an answer."""
    newest = request.messages[-1]
    if newest.role == "tool":
        return says("Noted.")
    return both(
        *(
            calls("memory_insert", {"label": "notes", "new_string": f"{newest.text} {which}"}, id=f"call_{which}")
            for which in ("first", "second")
        )
    )


class _Deaths:
    """Ends the process that makes a call, before or after it is carried out."""

    def __init__(self, rate: float, seed: int) -> None:
        self._rate, self._random, self._lock = rate, random.Random(seed), threading.Lock()

    def around(self, operation: str, carry_out: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        with self._lock:
            before, after = (self._random.random() < self._rate / 2 for _ in range(2))
        if threading.current_thread().name == "lease":
            return carry_out()
        if before:
            raise Death
        answer = carry_out()
        if after:
            raise Death
        return answer
