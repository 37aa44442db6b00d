"""A store that fails, or a process that dies, at any call of a turn; then the message comes again, or another one."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from infra.local.dynamodb.errors import DynamoError
from infra.local.weather import WRITES as WRITING
from tests.doubles.faults import WAYS, Call, Death, Faults, Way, time_out
from tests.doubles.ledger import Contents
from tests.doubles.scenes import SCENES
from tests.doubles.system import Answer, System
from tests.functions.turn_stage import Stage, opened, shown

AGAIN: Final = ("the same otid", "the client's retry", "another message")
WRITES: Final = {"two steps": 7, "two at once": 5}
"""Lease; answer and returns of each step; the last answer; the agent's activity."""
READS: Final = 3
RECOVERABLE: Final = [way for way in WAYS if way != "refused"]


@dataclass(frozen=True)
class Undisturbed:
    """A scene as it goes when nothing goes wrong."""

    contents: Contents
    answer: list[dict[str, Any]]


@pytest.fixture(params=SCENES, ids=str)
def stage(request: pytest.FixtureRequest, system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, request.param, monkeypatch) as stage:
        yield stage


@pytest.fixture
def undisturbed(stage: Stage) -> Undisturbed:
    agent = stage.scene.new_agent(stage.system)
    answer = stage.send(agent, stage.scene.text)
    return Undisturbed(stage.contents(agent), shown(answer))


@pytest.mark.parametrize("way", RECOVERABLE)
def test_a_write_that_fails_costs_nothing(stage: Stage, undisturbed: Undisturbed, way: Way) -> None:
    for at in range(1, WRITES[stage.scene.name] + 1):
        _recovers(stage, undisturbed, Faults(at, way), AGAIN[(at + WAYS.index(way)) % 3])


@pytest.mark.long
@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("way", RECOVERABLE)
def test_every_write_in_every_way_costs_nothing(stage: Stage, undisturbed: Undisturbed, way: Way, again: str) -> None:
    for at in range(1, WRITES[stage.scene.name] + 1):
        _recovers(stage, undisturbed, Faults(at, way), again)


@pytest.mark.parametrize("way", [way for way in RECOVERABLE if way.endswith("before")])
def test_a_read_that_fails_costs_nothing(stage: Stage, undisturbed: Undisturbed, way: Way) -> None:
    for at in range(1, READS + 1):
        _recovers(stage, undisturbed, Faults(at, way, reads=True), AGAIN[(at + WAYS.index(way)) % 3])


def _recovers(stage: Stage, undisturbed: Undisturbed, faults: Faults, again: str) -> None:
    otid = "otid-1" if again == "the same otid" else None
    agent = stage.scene.new_agent(stage.system)
    first = _break(stage, agent, faults, otid)
    _expect_first_answer(first, faults, WRITES[stage.scene.name], undisturbed)
    stage.pass_time(31) if (faults.at or 0) % 2 else stage.start_again()
    faults.lift()

    answer = _send_again(stage, agent, again, otid)

    contents = stage.contents(agent)
    if again == "another message":
        assert answer.status == 200, answer.body
        _expect_a_part(contents, undisturbed.contents)
    else:
        assert shown(answer) == undisturbed.answer
        assert contents == undisturbed.contents


def _break(stage: Stage, agent: str, faults: Faults, otid: str | None) -> Answer | None:
    stage.system.engine.faults = faults  # type: ignore[assignment]
    if faults.way.startswith("dies"):
        stage.die(agent, otid)
        answer = None
    else:
        answer = stage.send(agent, stage.scene.text, otid)
    assert faults.counted >= (faults.at or 0), "the fault was never reached"
    return answer


def _expect_first_answer(answer: Answer | None, faults: Faults, last: int, undisturbed: Undisturbed) -> None:
    """What can be settled within the turn is, a read is tried once more; only a store that is down, or an open lease,
    refuses: 503, try again."""
    if answer is None:
        return
    down = faults.way.startswith("down") and (faults.reads or faults.at != last)
    not_taken = faults.way == "times out before" and not faults.reads and faults.at == 1
    if down or not_taken:
        assert answer.status == 503, answer.body
        assert "Send the request again." in answer.body["detail"]
    else:
        assert shown(answer) == undisturbed.answer


def _send_again(stage: Stage, agent: str, again: str, otid: str | None) -> Answer:
    if again == "another message":
        return stage.send(agent, "And now?")
    headers = {"x-stainless-retry-count": "1"} if again == "the client's retry" else {}
    return stage.send(agent, stage.scene.text, otid, **headers)


def _expect_a_part(contents: Contents, whole: Contents) -> None:
    """The turn as far as it came, its open calls closed, and the other message after it."""
    *before, asked, answered = contents.history
    assert (asked, answered) == ("user: And now?", "assistant: Acknowledged.")
    while before[-1].startswith("error: The call was interrupted"):
        before.pop()
    assert before == list(whole.history[: len(before)])
    for label, values in contents.blocks.items():
        assert values == whole.blocks[label][: len(values)]


@pytest.mark.parametrize("again", ["the same otid", "another message"])
def test_a_write_that_is_refused_fails_the_run_and_frees_the_conversation_at_once(
    stage: Stage, undisturbed: Undisturbed, again: str
) -> None:
    for at in range(2, WRITES[stage.scene.name]):
        agent = stage.scene.new_agent(stage.system)

        first = _break(stage, agent, Faults(at, "refused"), "otid-1")
        answer = _send_again(stage, agent, again, "otid-1")

        assert first.status == 500
        if again == "another message":
            _expect_a_part(stage.contents(agent), undisturbed.contents)
        elif at == 2:  # nothing was committed, so the message starts anew
            assert shown(answer) == undisturbed.answer
        else:
            assert (answer.status, answer.body["error"]["type"]) == (500, "internal")


def test_a_refused_lease_leaves_the_conversation_as_it_was(stage: Stage, undisturbed: Undisturbed) -> None:
    agent = stage.scene.new_agent(stage.system)

    assert _break(stage, agent, Faults(1, "refused"), "otid-1").status == 500

    assert shown(_send_again(stage, agent, "the same otid", "otid-1")) == undisturbed.answer
    assert stage.contents(agent) == undisturbed.contents


@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_turn_that_a_short_outage_stopped_is_gone_on_with_at_once(
    stage: Stage, undisturbed: Undisturbed, at: int
) -> None:
    agent = stage.scene.new_agent(stage.system)
    stage.system.engine.faults = _Outage(at, calls=3)  # type: ignore[assignment]

    assert stage.send(agent, stage.scene.text).status == 503

    answer = stage.send(agent, stage.scene.text, **{"x-stainless-retry-count": "1"})
    assert shown(answer) == undisturbed.answer
    assert stage.contents(agent) == undisturbed.contents


class _Outage:
    """From write number `at` on, so many transactions time out."""

    def __init__(self, at: int, calls: int) -> None:
        self._before, self._left = at - 1, calls

    def around(self, operation: str, carry_out: Call) -> dict[str, Any]:
        if operation == "TransactWriteItems" and self._left:
            self._before -= 1
            if self._before < 0:
                self._left -= 1
                raise time_out()
        return carry_out()


@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_commit_that_nobody_can_settle_is_not_written_over(stage: Stage, undisturbed: Undisturbed, at: int) -> None:
    """It happened, its answer was lost, and looking for it fails in a way that nobody foresaw."""
    agent = stage.scene.new_agent(stage.system)
    stage.system.engine.faults = _Unsettled(at)  # type: ignore[assignment]

    assert stage.send(agent, stage.scene.text).status == 409

    stage.system.engine.faults = None
    answer = stage.send(agent, stage.scene.text, **{"x-stainless-retry-count": "1"})
    assert shown(answer) == undisturbed.answer
    assert stage.contents(agent) == undisturbed.contents


class _Unsettled:
    """Loses the answer to write number `at`, and refuses the first read after it."""

    def __init__(self, at: int) -> None:
        self._left = at

    def around(self, operation: str, carry_out: Call) -> dict[str, Any]:
        if operation == "GetItem" and self._left == 0:
            self._left = -1
            raise DynamoError("AccessDeniedException", "You are not authorized to perform this operation.")
        answer = carry_out()
        if operation in WRITING:
            self._left -= 1
            if self._left == 0:
                raise time_out()
        return answer


several_faults = strategies.lists(
    strategies.builds(Faults, at=strategies.integers(1, 7), way=strategies.sampled_from(RECOVERABLE)), max_size=2
)
"""At most two, since a run is not taken up for a third time."""
one_stage = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=one_stage)
@given(several_faults)
def test_several_failures_in_a_row_cost_nothing(stage: Stage, undisturbed: Undisturbed, several: list[Faults]) -> None:
    _recovers_from_all(stage, undisturbed, several)


@pytest.mark.long
@pytest.mark.timeout(900)
@settings(max_examples=150, deadline=None, suppress_health_check=one_stage)
@given(several_faults)
def test_any_failures_in_a_row_cost_nothing(stage: Stage, undisturbed: Undisturbed, several: list[Faults]) -> None:
    _recovers_from_all(stage, undisturbed, several)


def _recovers_from_all(stage: Stage, undisturbed: Undisturbed, several: list[Faults]) -> None:
    agent = stage.scene.new_agent(stage.system)
    for faults in several:
        stage.system.engine.faults = faults  # type: ignore[assignment]
        with suppress(Death):
            stage.play(agent, "otid-1")
        faults.lift()
        stage.start_again()

    assert shown(stage.send(agent, stage.scene.text, "otid-1")) == undisturbed.answer
    assert stage.contents(agent) == undisturbed.contents
