"""A store that fails, or a process that dies, at any write of a turn that compacts; then the message comes again."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from agentkeep.loop.accept import see
from agentkeep.loop.compaction.by_hand import compact_window
from agentkeep.models import ContextWindowExceededError, ModelAnswer, ModelRequest, estimate_tokens
from tests.doubles.faults import WAYS, Death, Faults, Way
from tests.doubles.ledger import Ledger
from tests.doubles.models import calls, says
from tests.doubles.scenes import Scene
from tests.doubles.system import Answer, System
from tests.doubles.windows import PADDING, is_for_a_summary, window_of
from tests.functions.turn_stage import Stage, opened, shown

ROOM: Final = 2_300
"""What the model takes, in tokens: less than the agent's window, so that it refuses before the agent counts."""
AGAIN: Final = ("the same otid", "another message")
RECOVERABLE: Final = [way for way in WAYS if way != "refused"]


class FullWindow(Scene):
    """A model that refuses what is longer than its room, and is asked to remember and to answer."""

    def think(self, request: ModelRequest) -> ModelAnswer:
        if is_for_a_summary(request):
            return says("The user told stories.")
        if estimate_tokens(request.messages) > ROOM:
            raise ContextWindowExceededError("Too long.")
        return super().think(request)

    def new_agent(self, system: System, **fields: Any) -> str:
        """An agent that has heard as much as the model takes."""
        blocks = [{"label": "human", "value": "Unknown."}]
        agent = str(system.new_agent(system="Be brief.", context_window_limit=10_000, memory_blocks=blocks)["id"])
        for number in range(1, 5):
            assert system.send(agent, f"Story {number}.{PADDING if number > 1 else ''}").status == 200
        return agent


BEFORE: Final = FullWindow("before the answer", f"I like tea.{PADDING}", (says("So you do."),))
BETWEEN: Final = FullWindow(
    "between two steps",
    "I like tea.",
    (
        calls("memory_insert", {"label": "human", "new_string": f"Likes tea.{' very' * 300}"}, id="call_1"),
        says("Noted."),
    ),
)
WRITES: Final = {"before the answer": 4, "between two steps": 6}
"""Lease; answer and returns of each step, and the compaction among them; the agent's activity."""


@pytest.fixture(params=[BEFORE, BETWEEN], ids=str)
def stage(request: pytest.FixtureRequest, system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, request.param, monkeypatch) as stage:
        yield stage


def _summaries(stage: Stage, agent: str) -> list[str]:
    return [each.content[-1].text for each in Ledger(stage.system).history(agent) if each.compaction]  # type: ignore[union-attr]


def _said(stage: Stage, agent: str) -> list[str]:
    """The history without summaries: what everybody said, once."""
    return [line for line in stage.contents(agent).history if not line.startswith("user: [Note")]


def test_undisturbed_it_compacts_once_and_says_all(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    stage.system.engine.faults = counting = Faults()  # type: ignore[assignment]

    answer = stage.send(agent, stage.scene.text)

    assert shown(answer)[-1]["content"] == stage.scene.answers[-1].content[0].text  # type: ignore[union-attr]
    assert _summaries(stage, agent) == ["The user told stories."]
    assert counting.counted == WRITES[stage.scene.name]


@pytest.mark.parametrize("way", RECOVERABLE)
def test_at_any_write_nothing_is_lost_and_nothing_doubled(stage: Stage, way: Way) -> None:
    whole = _undisturbed(stage)
    for at in range(1, WRITES[stage.scene.name] + 1):
        _recovers(stage, whole, Faults(at, way), AGAIN[(at + WAYS.index(way)) % 2])


@pytest.mark.long
@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("way", RECOVERABLE)
def test_at_every_write_in_every_way(stage: Stage, way: Way, again: str) -> None:
    whole = _undisturbed(stage)
    for at in range(1, WRITES[stage.scene.name] + 1):
        _recovers(stage, whole, Faults(at, way), again)


def _recovers(stage: Stage, whole: list[str], faults: Faults, again: str) -> None:
    agent = stage.scene.new_agent(stage.system)
    _break(stage, agent, faults)
    stage.pass_time(31) if faults.counted % 2 else stage.start_again()

    if again == "another message":
        assert stage.send(agent, "And now?").status == 200
        assert _said(stage, agent)[:8] == whole[:8]
    else:
        assert stage.send(agent, stage.scene.text, "otid-1").status == 200
        assert _said(stage, agent) == whole
    summaries = _summaries(stage, agent)
    assert set(summaries) <= {"The user told stories."}
    assert len(summaries) in (1, 2) or again == "another message"
    assert ("The user told stories." in str(window_of(stage.system, agent)[0])) is bool(summaries)


def _undisturbed(stage: Stage) -> list[str]:
    agent = stage.scene.new_agent(stage.system)
    stage.send(agent, stage.scene.text)
    return _said(stage, agent)


def _break(stage: Stage, agent: str, faults: Faults) -> Answer | None:
    stage.system.engine.faults = faults  # type: ignore[assignment]
    answer = None
    if faults.way.startswith("dies"):
        stage.die(agent, "otid-1")
    else:
        answer = stage.send(agent, stage.scene.text, "otid-1")
    assert faults.counted >= (faults.at or 0), "the fault was never reached"
    faults.lift()
    return answer


@pytest.mark.parametrize("way", RECOVERABLE)
def test_a_compaction_by_hand_happens_or_not(stage: Stage, way: Way) -> None:
    """Two writes: the lease, and all the rest at once."""
    for at in (1, 2):
        agent = stage.scene.new_agent(stage.system)
        stage.system.engine.faults = faults = Faults(at, way)  # type: ignore[assignment]
        path = f"/v1/agents/{agent}/summarize"
        if way.startswith("dies"):
            with pytest.raises(Death):
                _by_hand(stage, agent)
        else:
            assert stage.system.call("messages", "POST", path, {}).status in (200, 503)
        faults.lift()
        stage.start_again()

        assert stage.system.call("messages", "POST", path, {}).status == 200

        assert set(_summaries(stage, agent)) == {"The user told stories."}
        assert len(_said(stage, agent)) == 8


def _by_hand(stage: Stage, agent: str) -> None:
    """In this thread, so that its death reaches the test."""
    with stage.system.acting():
        compact_window(see(agent, agent), None, 10**12, lambda event: None)
