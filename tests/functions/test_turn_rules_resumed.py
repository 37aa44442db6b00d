"""A turn under rules whose process dies anywhere: the next process goes on with it under the same rules."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from agentkeep.loop.accept import see
from agentkeep.loop.rules.turn_rules import rules_of
from agentkeep.loop.turn import load
from agentkeep.models import ModelAnswer, ModelRequest
from agentkeep.store import runs
from tests.doubles.models import calls, says
from tests.doubles.provider_shapes import bodies
from tests.doubles.scenes import TWO_STEPS
from tests.doubles.system import System
from tests.functions.turn_stage import Stage, opened, shown

RULES: Final[list[dict[str, Any]]] = [
    {"type": "run_first", "tool_name": "memory_insert", "args": {"new_string": "Likes tea."}},
    {"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 1},
    {"type": "required_before_exit", "tool_name": "memory_replace"},
]
INSERT: Final = {"label": "human", "new_string": "Whatever."}
EDIT: Final = {"label": "human", "old_string": "Unknown.", "new_string": "Priya."}
ANSWERS: Final = (
    calls("memory_insert", INSERT, id="call_1"),
    calls("memory_insert", INSERT, id="call_2"),
    says("Done."),
    calls("memory_replace", EDIT, id="call_3"),
    says("Noted, Priya."),
)
WRITES: Final = 9
"""Lease; answers and returns of the two calls; the words that do not end it; answer and returns; the last answer."""


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        stage.model.think = think
        yield stage


def think(request: ModelRequest) -> ModelAnswer:
    """The answer after as many as this turn has had."""
    bodies(request)
    turn: list[str] = []
    for message in request.messages:
        turn = [] if message.role == "user" else [*turn, message.role]
    return ANSWERS[turn.count("assistant")]


def ruled(stage: Stage) -> str:
    agent = stage.system.new_agent(tool_rules=RULES, memory_blocks=[{"label": "human", "value": "Unknown."}])
    return str(agent["id"])


@pytest.fixture
def undisturbed(stage: Stage) -> tuple[Any, Any]:
    agent = ruled(stage)
    answer = stage.send(agent, stage.scene.text, "otid-1")
    return stage.contents(agent), shown(answer)


def test_the_turn_as_it_goes_when_nothing_happens(undisturbed: tuple[Any, Any]) -> None:
    contents, answer = undisturbed

    assert contents.runs == ["completed end_turn 5 steps 550 tokens"]
    assert contents.blocks["human"][-1] == "Priya.\nLikes tea."
    statuses = [message["status"] for message in answer if message["message_type"] == "tool_return_message"]
    assert statuses == ["success", "error", "success"]


@pytest.mark.parametrize("at", range(2, WRITES + 1))
def test_wherever_the_process_dies_the_turn_comes_to_the_same(
    stage: Stage, undisturbed: tuple[Any, Any], at: int
) -> None:
    agent = ruled(stage)
    stage.die_at(at, agent, "otid-1")
    stage.start_again()

    answer = stage.send(agent, stage.scene.text, "otid-1")

    assert (stage.contents(agent), shown(answer)) == undisturbed


def test_the_rules_know_calls_that_have_left_the_context_window(stage: Stage) -> None:
    agent = ruled(stage)
    stage.die_at(6, agent, "otid-1")

    with stage.system.acting():
        seen = see(agent, agent)
        turn = load(seen.agent, seen.state, runs.get(str(seen.state.run_id)))
        turn.window = turn.window[-1:]
        rules = rules_of(turn)

    assert [call.name for call in rules.past] == ["memory_insert"]
    assert rules.valid == ["conversation_search", "memory_replace"]
    stage.start_again()
    assert stage.send(agent, stage.scene.text, "otid-1").status == 200
