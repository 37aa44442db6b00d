"""What a caller is told of a run that is taken up on the way, and of one that failed before."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agentkeep.api.errors import ModelFailure
from agentkeep.loop.events import Event, MessageCommitted, RunFinished, RunStarted
from agentkeep.loop.following import RunFailedError, Told
from agentkeep.store.content import Message
from agentkeep.store.entities import Run

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def committed(seq: int) -> MessageCommitted:
    return MessageCommitted(
        Message(
            id=f"message-{seq}", agent_id="agent-1", conversation="conv-1", role="assistant", seq=seq, created_at=NOW
        )
    )


def run(**fields: Any) -> Run:
    return Run(id="run-1", agent_id="agent-1", conversation="conv-1", created_at=NOW, **fields)


def test_each_start_and_each_message_is_told_once() -> None:
    events: list[Event] = []
    told = Told(events.append)

    for event in [RunStarted("run-1"), committed(4), committed(5), RunStarted("run-1"), committed(4), committed(5)]:
        told(event)
    told(committed(6))
    told(RunFinished(run()))

    assert events == [RunStarted("run-1"), committed(4), committed(5), committed(6), RunFinished(run())]


def test_another_run_is_another_start() -> None:
    events: list[Event] = []
    told = Told(events.append)

    told(RunStarted("run-1"))
    told(RunStarted("run-2"))

    assert events == [RunStarted("run-1"), RunStarted("run-2")]


def test_a_failed_run_says_again_what_it_said_first() -> None:
    recorded = {"type": "llm_rate_limit", "message": "Slow down.", "detail": "429: said so", "status": 429}

    error = RunFailedError(run(status="failed", error=recorded))

    assert isinstance(error, ModelFailure)
    assert (error.status, error.error_type, error.message, error.detail) == (
        429, "llm_rate_limit", "Slow down.", "429: said so",
    )  # fmt: skip


@pytest.mark.parametrize("recorded", [None, {}])
def test_a_failed_run_that_recorded_nothing_is_our_mistake(recorded: dict[str, Any] | None) -> None:
    error = RunFailedError(run(status="failed", error=recorded))

    assert (error.status, error.error_type, error.message) == (500, "internal_error", "run-1 failed.")
