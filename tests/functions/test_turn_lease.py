"""Who may run a conversation: a long turn keeps it, a dead one loses it in time, and whoever lost it writes no more."""

import threading
import time
from collections.abc import Iterator

import pytest

from agentkeep.models import ModelAnswer, ModelRequest
from infra.local.weather import FaultPlan
from tests.doubles.faults import time_out
from tests.doubles.ledger import Ledger
from tests.doubles.models import says
from tests.doubles.scenes import TWO_STEPS
from tests.doubles.system import Answer, System
from tests.functions.turn_stage import Stage, opened, shown


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage


def _fence(stage: Stage, agent: str) -> int:
    fence: int = Ledger(stage.system).conversations[agent]["fence"]
    return fence


def test_a_model_call_three_times_as_long_as_the_lease_is_not_taken_over(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    fence = _fence(stage, agent)
    stage.monkeypatch.setenv("AGENTKEEP_LEASE_SECONDS", "0.6")
    refused: list[Answer] = []

    def slow(request: ModelRequest) -> ModelAnswer:
        for _ in range(12):
            time.sleep(0.15)
            refused.append(stage.send(agent, "Are you there?"))
        return says("Sorry, I was thinking.")

    stage.model.think = slow

    answer = stage.send(agent, "Think hard.")

    assert [message["content"] for message in shown(answer)] == ["Sorry, I was thinking."]
    assert {each.status for each in refused} == {409}
    assert _fence(stage, agent) == fence + 1


def test_a_dead_holders_conversation_answers_again_when_its_lease_has_run_out(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    stage.monkeypatch.setenv("AGENTKEEP_LEASE_SECONDS", "0.8")
    stage.die_at(4, agent)
    died = time.monotonic()

    assert stage.send(agent, "Are you there?").status == 409
    while (answer := stage.send(agent, "Are you there?")).status == 409:
        time.sleep(0.02)

    assert 0.5 < time.monotonic() - died < 2.5
    assert [message["content"] for message in shown(answer)] == ["Acknowledged."]


def test_a_request_that_waits_for_a_dead_holder_goes_on_with_its_run(stage: Stage) -> None:
    whole = stage.scene.new_agent(stage.system)
    undisturbed = shown(stage.send(whole, stage.scene.text))
    agent = stage.scene.new_agent(stage.system)
    stage.monkeypatch.setenv("AGENTKEEP_LEASE_SECONDS", "0.8")
    stage.die_at(4, agent, "otid-1")

    answer = stage.send(agent, stage.scene.text, "otid-1")

    assert shown(answer) == undisturbed
    assert stage.contents(agent) == stage.contents(whole)


@pytest.mark.parametrize("write", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("again", ["the same message", "another message"])
def test_a_holder_that_lost_its_lease_commits_nothing_more(stage: Stage, write: int, again: str) -> None:
    whole = stage.scene.new_agent(stage.system)
    stage.send(whole, stage.scene.text)
    agent = stage.scene.new_agent(stage.system)
    answers: list[Answer] = []

    def take_over() -> None:
        stage.pass_time(31)
        same = again == "the same message"
        answers.append(stage.send(agent, stage.scene.text, "otid-1") if same else stage.send(agent, "And now?"))

    stage.system.engine.faults = FaultPlan(write, "before", take_over)
    late = stage.send(agent, stage.scene.text, "otid-1")

    (taken_over,) = answers
    assert taken_over.status == 200
    assert (late.status, late.body["detail"]["code"]) == (409, "LEASE_LOST")
    assert late.headers["x-should-retry"] == "false"
    if again == "the same message":
        assert stage.contents(agent) == stage.contents(whole)
    else:
        assert stage.contents(agent).history[-2:] == ["user: And now?", "assistant: Acknowledged."]


@pytest.mark.parametrize("write", [2, 4, 6])
def test_a_late_commit_is_refused_before_the_new_holder_has_written_anything(stage: Stage, write: int) -> None:
    whole = stage.scene.new_agent(stage.system)
    stage.send(whole, stage.scene.text)
    agent = stage.scene.new_agent(stage.system)
    thinking, refused = threading.Event(), threading.Event()
    answers: list[Answer] = []
    second = threading.Thread(target=lambda: answers.append(stage.send(agent, stage.scene.text, "otid-1")))

    def think(request: ModelRequest) -> ModelAnswer:
        if second.is_alive():
            thinking.set()
            assert refused.wait(30)
        return stage.scene.think(request)

    def take_over() -> None:
        stage.pass_time(31)
        second.start()
        assert thinking.wait(30)

    stage.model.think = think
    stage.system.engine.faults = FaultPlan(write, "before", take_over)

    late = stage.send(agent, stage.scene.text, "otid-1")
    refused.set()
    second.join()

    assert (late.status, late.body["detail"]["code"]) == (409, "LEASE_LOST")
    assert [answer.status for answer in answers] == [200]
    assert stage.contents(agent) == stage.contents(whole)


def test_a_former_process_holds_nothing(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    stage.die_at(3, agent)

    stage.start_again()

    assert stage.send(agent, "Are you there?").status == 200


@pytest.mark.parametrize("broken", ["agentkeep.loop.turn.message_store.window", "agentkeep.loop.turn._pending"])
def test_a_mistake_before_the_first_model_call_leaves_no_lease(stage: Stage, broken: str) -> None:
    agent = stage.scene.new_agent(stage.system)
    before = stage.contents(agent)
    with stage.monkeypatch.context() as patched:
        patched.setattr(broken, _mistaken)
        assert stage.send(agent, "Hello?", "otid-1").status == 500

    assert stage.contents(agent) == before
    assert stage.send(agent, "And now?").status == 200
    assert stage.send(agent, "Hello?", "otid-1").status == 200


def test_a_mistake_between_two_commits_leaves_no_lease_and_no_open_call(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    with stage.monkeypatch.context() as patched:
        patched.setattr("agentkeep.loop.effects.run_builtin", _mistaken)
        assert stage.send(agent, stage.scene.text).status == 500

    assert stage.contents(agent).runs[-1] == "failed error 1 steps 110 tokens"
    assert stage.send(agent, "And now?").status == 200


def _mistaken(*_: object) -> None:
    raise ZeroDivisionError


def test_renewing_goes_on_through_a_store_that_fails_for_a_while(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    stage.monkeypatch.setenv("AGENTKEEP_LEASE_SECONDS", "0.6")

    def slow(request: ModelRequest) -> ModelAnswer:
        failing = FaultPlan.fail_at(1, when="before", error=time_out())
        stage.system.engine.faults = failing
        time.sleep(1.2)
        assert failing.writes > 2
        return says("Done.")

    stage.model.think = slow

    assert [message["content"] for message in shown(stage.send(agent, "Think."))] == ["Done."]
