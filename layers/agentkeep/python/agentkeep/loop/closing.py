"""Ending a run that cannot go on: calls without a return get one that says so, the conversation is left free."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from agentkeep import clock, ids
from agentkeep.errors import AgentKeepError, NotFoundError
from agentkeep.loop import reports
from agentkeep.loop.commit import finished_fields
from agentkeep.loop.decisions import status_of
from agentkeep.loop.lease import LeaseLostError
from agentkeep.loop.turn import Turn
from agentkeep.models.errors import ModelError
from agentkeep.store import conversations, database, messages, runs
from agentkeep.store.content import Message, ToolReturn
from agentkeep.store.conversations import State
from agentkeep.store.database import ConditionFailedError, Write
from agentkeep.store.entities import Run, StopReason

_INTERRUPTED: Final = (
    "The call was interrupted: its process ended before the tool returned. Whether it took effect is not known."
    " Look at the current state before calling it again."
)


class UnforeseenError(AgentKeepError):
    """A mistake of ours ended the run."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Something went wrong in AgentKeep while {run_id} ran. The log has it.", run_id=run_id)


class RunInterruptedError(AgentKeepError):
    """The process that drove the run ended, and the run was closed by the next one that needed the conversation."""

    status = 503
    code = "INTERRUPTED"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"The process that drove {run_id} ended before the run did, and another message came before anybody went on"
            " with it. What it had said is in the history. Send the message again, with a new otid if it had one.",
            run_id=run_id,
        )


class TooManyAttemptsError(AgentKeepError):
    """The run was taken up again as often as is sensible."""

    status = 503
    code = "TOO_MANY_ATTEMPTS"

    def __init__(self, run_id: str, attempts: int) -> None:
        super().__init__(f"{run_id} was interrupted {attempts} times and is not tried again.", run_id=run_id)


def fail(turn: Turn, error: AgentKeepError) -> None:
    """Ends a run whose lease this process holds. `turn` then shows the failed run."""
    run, writes = _closing(turn.state, turn.run, turn.window, error)
    if turn.recompiled:
        writes.append(messages.replace_write(turn.system))
    ending = replace(turn.state, next_seq=turn.state.next_seq + _paired(writes), last_run_completion=run.completed_at)
    try:
        database.transact([conversations.turn_write(turn.state, ending, until=0), *writes])
    except ConditionFailedError as failure:
        raise LeaseLostError(turn.run.id) from failure
    turn.run = run
    reports.failed(run, error, turn.model, turn.model_calls_ns)


def close(state: State, run: Run, error: AgentKeepError) -> None:
    """Ends a run whose holder is dead, as `state` shows. Raises ConditionFailedError when someone else did."""
    window = list(messages.between(state.conversation.id, run.first_seq, None)) if run.first_seq is not None else []
    closed, writes = _closing(state, run, window, error)
    ending = replace(state, next_seq=state.next_seq + _paired(writes), last_run_completion=closed.completed_at)
    database.transact([conversations.turn_write(state, ending, until=0, taking_over=True), *writes])
    reports.failed(closed, error, run.request.get("override_model") or state.conversation.model)


def settle_deleted(run: Run) -> None:
    """Cancels a run that lost its conversation because that was deleted, and raises NotFoundError then."""
    try:
        conversations.get(run.conversation)
    except NotFoundError:
        cancel(run)
        raise


def cancel(run: Run) -> None:
    """Ends a run whose agent or conversation was deleted. Only for its last holder, or once that is dead."""
    cancelled: dict[str, object] = {"status": "cancelled", "stop_reason": "cancelled"}
    ended = run.model_copy(update=cancelled | finished_fields(run, clock.now()))
    database.transact([runs.update_write(ended), *_unclaiming(run)])


def _paired(writes: Sequence[Write]) -> int:
    """How many messages the writes add to the history; pointers and the system message stand at sequence 0."""
    return sum(1 for write in writes if write.table == "messages" and write.key.sk != 0)


def _closing(state: State, run: Run, window: Sequence[Message], error: AgentKeepError) -> tuple[Run, list[Write]]:
    returns = list(_missing_returns(state, run, window))
    failed = run.model_copy(
        update={
            **_failure(error),
            **finished_fields(run, clock.now()),
            "last_seq": returns[-1].seq if returns else run.last_seq,
        }
    )
    paired = (write for message in returns for write in messages.put_writes(message))
    return failed, [runs.update_write(failed), *paired, *_unclaiming(run)]


def _unclaiming(run: Run) -> Iterator[Write]:
    """Frees the key of a run that committed nothing, so that the same message can start another."""
    if run.first_seq is None and (key := claimed_key(run)):
        yield runs.unclaim_write(run.conversation, key)


def _failure(error: AgentKeepError) -> dict[str, object]:
    stop: StopReason = error.stop_reason if isinstance(error, ModelError) else "error"
    detail = error.detail if isinstance(error, ModelError) else ""
    recorded = {"type": reports.error_type(error), "message": error.message, "detail": detail, "status": error.status}
    return {
        "status": status_of(stop) if status_of(stop) != "completed" else "failed",
        "stop_reason": stop,
        "error": recorded,
    }


def claimed_key(run: Run) -> str | None:
    """The idempotency key that the run's request was recognised by."""
    key = run.request.get("key")
    return str(key) if key else None


def _missing_returns(state: State, run: Run, window: Sequence[Message]) -> Iterator[Message]:
    newest = window[-1] if window else None
    if newest is None or newest.run_id != run.id or not newest.tool_calls:
        return
    yield Message(
        id=ids.new("message"),
        agent_id=run.agent_id,
        conversation=state.conversation.id,
        role="tool",
        seq=state.next_seq,
        tool_returns=[
            ToolReturn(tool_call_id=call.id, name=call.name, status="error", content=_INTERRUPTED)
            for call in newest.tool_calls
        ],
        run_id=run.id,
        step_id=newest.step_id,
        created_at=clock.now(),
    )
