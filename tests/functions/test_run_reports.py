"""What operators learn of runs: one line for each that failed, metrics in AWS, and no word of any conversation."""

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from agentkeep import clock
from agentkeep.loop import reports
from agentkeep.models.errors import InsufficientCreditsError, ModelAuthenticationError, ModelError, ModelPermissionError
from agentkeep.store.entities import Run
from agentkeep.tools.registry import BUILTIN
from tests.doubles.faults import Faults
from tests.doubles.ledger import Ledger
from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.scenes import TWO_STEPS
from tests.doubles.system import System
from tests.functions.turn_stage import Stage, opened

QUOTED = "Ada owes Bob money"
"""A word of the conversation, as providers and libraries quote it."""
REFUSALS: list[tuple[ModelError, str]] = [
    (ModelAuthenticationError("No.", f"401: {QUOTED}"), "error=llm_authentication status=401 source=provider"),
    (InsufficientCreditsError("No.", f"402: {QUOTED}"), "error=llm_insufficient_credits status=402 source=provider"),
    (ModelPermissionError("No.", f"403: {QUOTED}"), "error=llm_permission_denied status=403 source=provider"),
]


@pytest.fixture(autouse=True)
def _everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


@pytest.fixture
def agent(system: System) -> str:
    return str(system.new_agent(memory_blocks=[{"label": "human", "value": "Unknown."}])["id"])


@pytest.fixture
def in_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "messages")


def lines(caplog: pytest.LogCaptureFixture, beginning: str = "Run ") -> list[str]:
    return [text for record in caplog.records if (text := record.getMessage()).startswith(beginning)]


def newest(system: System) -> Run:
    return Ledger(system).runs[-1]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("error", "told"), REFUSALS, ids=[type(error).__name__ for error, _ in REFUSALS])
def test_a_failed_run_is_one_line_that_says_who_refused(
    system: System, model: ScriptedModel, agent: str, caplog: pytest.LogCaptureFixture,
    error: ModelError, told: str, streaming: bool,
) -> None:  # fmt: skip
    model.script = [error]

    answer = system.send(agent, QUOTED, streaming=streaming)

    assert answer.status == (200 if streaming else error.status)
    assert lines(caplog) == [f"Run failed: run={newest(system).id} agent={agent} model=demo/memory {told}"]
    assert QUOTED not in caplog.text


def test_a_run_that_fails_late_is_a_line_too(
    system: System, model: ScriptedModel, agent: str, caplog: pytest.LogCaptureFixture
) -> None:
    model.script = [calls("memory_insert", {"label": "human", "new_string": QUOTED}), REFUSALS[0][0]]

    system.send(agent, QUOTED, streaming=True)

    assert [line.partition(" error=")[2] for line in lines(caplog)] == ["llm_authentication status=401 source=provider"]
    assert QUOTED not in caplog.text


def test_an_error_of_ours_is_told_by_kind_and_place_and_never_by_its_text(
    system: System, model: ScriptedModel, agent: str, caplog: pytest.LogCaptureFixture
) -> None:
    model.script = [lambda request: TypeAdapter(int).validate_python(QUOTED)]

    assert system.send(agent, QUOTED).status == 500

    (line,) = lines(caplog)
    assert line.endswith("error=internal status=500 source=agentkeep")
    (unforeseen,) = lines(caplog, "Unforeseen")
    assert unforeseen.startswith("Unforeseen ValidationError during request 'request-1'")
    assert "loop/driver.py" in unforeseen
    assert QUOTED not in caplog.text


def test_a_run_that_ends_well_is_no_line(
    system: System, model: ScriptedModel, agent: str, caplog: pytest.LogCaptureFixture
) -> None:
    model.script = [says("Noted.")]

    assert system.send(agent, QUOTED).status == 200

    assert lines(caplog) == []
    assert QUOTED not in caplog.text


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage


def test_a_run_given_up_for_want_of_a_store_is_told_and_so_is_the_one_closed_after_its_death(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    agent = stage.scene.new_agent(stage.system)
    stage.system.engine.faults = faults = Faults(2, "down before")  # type: ignore[assignment]
    assert stage.send(agent, stage.scene.text).status == 503
    faults.lift()  # type: ignore[attr-defined]
    run = newest(stage.system).id

    stage.pass_time(60)
    assert stage.send(agent, "And now?").status == 200

    assert lines(caplog) == [
        f"Run interrupted: run={run} agent={agent} model=demo/memory"
        " error=store_unavailable status=503 source=agentkeep",
        f"Run failed: run={run} agent={agent} model=unknown error=interrupted status=503 source=agentkeep",
    ]


def written(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("in_aws")
def test_a_completed_run_is_measured_with_each_call_of_its_model(
    system: System, model: ScriptedModel, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model.script = [calls("memory_insert", {"label": "human", "new_string": "Likes tea."}), says("Noted.")]

    system.send(agent, "I like tea.")

    (found,) = written(capsys)
    (declared,) = found["_aws"]["CloudWatchMetrics"]
    assert (declared["Namespace"], declared["Dimensions"], found["stage"]) == ("AgentKeep", [["stage"]], "local")
    assert [metric["Name"] for metric in declared["Metrics"]] == [
        "RunsCompleted", "TurnMilliseconds", "ModelMilliseconds",
    ]  # fmt: skip
    assert found["RunsCompleted"] == [1]
    assert found["TurnMilliseconds"] == [(newest(system).total_duration_ns or 0) / 1_000_000]
    assert len(found["ModelMilliseconds"]) == 2


@pytest.mark.usefixtures("in_aws")
def test_a_failed_run_is_counted_in_all_and_by_its_error(
    system: System, model: ScriptedModel, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model.script = [REFUSALS[0][0]]

    system.send(agent, "Hello.")

    whole, of_error = written(capsys)
    assert (whole["RunsFailed"], len(whole["ModelMilliseconds"])) == ([1], 1)
    assert whole["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["stage"]]
    assert (of_error["RunsFailed"], of_error["error"]) == ([1], "llm_authentication")
    assert of_error["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["stage", "error"]]


def test_nothing_is_measured_outside_of_aws(
    system: System, model: ScriptedModel, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    system.send(agent, "Hello.")

    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("in_aws")
def test_runs_that_end_at_once_do_not_mix_their_figures(capsys: pytest.CaptureFixture[str]) -> None:
    def report(number: int) -> None:
        run = Run(id="run-1", agent_id="agent-1", conversation="agent-1", created_at=clock.now())
        run.total_duration_ns = number * 1_000_000
        for _ in range(50):
            reports.completed(run, [number * 1_000_000])

    threads = [threading.Thread(target=report, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = written(capsys)
    assert len(found) == 16 * 50
    assert all(each["RunsCompleted"] == [1] and each["TurnMilliseconds"] == each["ModelMilliseconds"] for each in found)


def test_a_run_tells_the_time_to_its_first_answer_and_the_tools_it_called(
    system: System, model: ScriptedModel, agent: str
) -> None:
    insert = {"label": "human", "new_string": "Likes tea."}
    model.script = [
        calls("memory_insert", insert, id="call_1"), calls("no_such_tool", {}, id="call_2"),
        calls("memory_insert", insert, id="call_3"), says("Noted."),
    ]  # fmt: skip

    system.send(agent, "I like tea.")

    run = newest(system)
    shown = system.call("runs", "GET", f"/v1/runs/{run.id}").body
    assert 0 < shown["ttft_ns"] < shown["total_duration_ns"]
    metrics = system.call("runs", "GET", f"/v1/runs/{run.id}/metrics").body
    assert metrics["tools_used"] == [BUILTIN["memory_insert"].id]


def test_a_run_that_committed_nothing_has_no_first_answer(system: System, model: ScriptedModel, agent: str) -> None:
    model.script = [REFUSALS[0][0]]

    system.send(agent, "Hello.")

    run = newest(system).id
    assert system.call("runs", "GET", f"/v1/runs/{run}").body["ttft_ns"] is None
    assert system.call("runs", "GET", f"/v1/runs/{run}/metrics").body["tools_used"] == []
