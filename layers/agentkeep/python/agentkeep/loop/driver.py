"""The inline driver: steps of one run, from the window to the stop reason, under a lease that is kept alive.

A step is: model call, commit of the answer with its calls, tools, commit of the returns with their effects. A crash
between any two leaves a state from which `drive` goes on: it starts with the calls that have no return yet.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from agentkeep import clock, ids
from agentkeep.errors import AgentKeepError
from agentkeep.loop import closing, effects, lease, reports
from agentkeep.loop.commit import commit
from agentkeep.loop.decisions import after_answer, after_returns, storable
from agentkeep.loop.effects import Outcome
from agentkeep.loop.events import Event, MessageCommitted, RunFinished
from agentkeep.loop.lease import LeaseLostError, Renewal
from agentkeep.loop.turn import Turn
from agentkeep.models import ModelAnswer, ModelRequest, complete
from agentkeep.store import agents as agent_store
from agentkeep.store import runs
from agentkeep.store.content import Message, ToolCall
from agentkeep.store.database import ConditionFailedError, StoreUnavailableError
from agentkeep.store.entities import Step, StopReason
from agentkeep.unforeseen import log_unforeseen

Emit = Callable[[Event], None]

_EFFECT_TRIES: Final = 16
_MODEL_SECONDS: Final = 600.0
_RESERVED_SECONDS: Final = 60.0
"""What is kept of an invocation's time for committing after a model call."""


def drive(turn: Turn, deadline: float | None, emit: Emit) -> None:
    """Runs the turn to its end and emits what it commits. A failure ends the run and is emitted, not raised.

    Raises StoreUnavailableError when the store fails, and leaves the run to whoever sends the message again; raises
    LeaseLostError when another holder has the conversation, NotFoundError when it was deleted.
    """
    try:
        with Renewal(turn.state.conversation.id, turn.state.fence):
            _run(turn, deadline, emit)
    except StoreUnavailableError as error:
        lease.let_go(turn.state)
        reports.interrupted(turn.run, error, turn.model)
        raise
    except LeaseLostError as error:
        lease.let_go(turn.state)
        reports.interrupted(turn.run, error, turn.model)
        closing.settle_deleted(turn.run)
        raise
    _note_activity(turn)


def _run(turn: Turn, deadline: float | None, emit: Emit) -> None:
    try:
        _steps(turn, deadline, emit)
    except (LeaseLostError, StoreUnavailableError):
        raise
    except AgentKeepError as error:
        closing.fail(turn, error)
        emit(RunFinished(turn.run, error))
    except Exception:  # the border of a run: whatever broke, the conversation is left free and paired
        closing.fail(turn, closing.UnforeseenError(turn.run.id))
        raise
    else:
        reports.completed(turn.run, turn.model_calls_ns)
        emit(RunFinished(turn.run))


def _steps(turn: Turn, deadline: float | None, emit: Emit) -> None:
    stop = _finish_interrupted_step(turn, emit)
    while stop is None:
        stop = _step(turn, deadline, emit)


def _finish_interrupted_step(turn: Turn, emit: Emit) -> StopReason | None:
    """Runs the calls that a dead holder committed without their returns."""
    newest = turn.committed[-1] if turn.committed else None
    if newest is None or newest.step_id is None or not newest.tool_calls:
        return None
    return _returns(turn, runs.get_step(newest.step_id), newest.tool_calls, emit)


def _step(turn: Turn, deadline: float | None, emit: Emit) -> StopReason | None:
    turn.recompile()
    answer = _ask(turn, deadline)
    step = _new_step(turn, answer)
    decision = after_answer(answer, parallel=bool(turn.settings.get("parallel_tool_calls")))
    step.stop_reason = decision.stop
    before = len(turn.window)
    step = commit(turn, step, _answered(turn, step, answer, decision.calls), (), "answer", decision.stop)
    _emit(turn, before, emit)
    if decision.stop:
        return decision.stop
    return _returns(turn, step, decision.calls, emit)


def _ask(turn: Turn, deadline: float | None) -> ModelAnswer:
    started = time.perf_counter_ns()
    try:
        return storable(complete(_request(turn, deadline)))
    finally:
        turn.model_calls_ns.append(time.perf_counter_ns() - started)


def _request(turn: Turn, deadline: float | None) -> ModelRequest:
    left = _MODEL_SECONDS if deadline is None else deadline - time.monotonic() - _RESERVED_SECONDS
    return ModelRequest(
        handle=turn.model,
        messages=turn.context,
        tools=turn.tools,
        settings=turn.settings,
        timeout_seconds=max(1.0, min(_MODEL_SECONDS, left)),
    )


def _new_step(turn: Turn, answer: ModelAnswer) -> Step:
    took_ns = turn.model_calls_ns[-1]
    return Step(
        id=ids.new("step"),
        run_id=turn.run.id,
        agent_id=turn.agent.id,
        conversation=turn.state.conversation.id,
        number=turn.run.steps + 1,
        model=turn.model,
        provider=turn.model.partition("/")[0],
        usage=answer.usage.model_copy(update={"step_count": 1}),
        context_window=turn.agent.context_window,
        llm_request_ns=took_ns,
        step_ns=took_ns,
        created_at=clock.now(),
    )


def _answered(turn: Turn, step: Step, answer: ModelAnswer, calls: Sequence[ToolCall]) -> list[Message]:
    inputs = [message.model_copy(update={"step_id": step.id}) for message in turn.pending]
    said = _message(turn, step, "assistant").model_copy(
        update={
            "content": answer.content,
            "tool_calls": list(calls),
            "provider": answer.provider,
            "model": turn.model,
        }
    )
    return [*inputs, said]


def _message(turn: Turn, step: Step, role: str) -> Message:
    return Message.model_validate(
        {
            "id": ids.new("message"),
            "agent_id": turn.agent.id,
            "conversation": turn.state.conversation.id,
            "role": role,
            "run_id": turn.run.id,
            "step_id": step.id,
            "created_at": clock.now(),
        }
    )


def _returns(turn: Turn, step: Step, calls: Sequence[ToolCall], emit: Emit) -> StopReason | None:
    """Runs the calls and commits their returns with their effects, on fresh blocks if others changed them meanwhile."""
    stop = _stop_after(turn, calls)
    before = len(turn.window)
    for attempt in range(_EFFECT_TRIES):
        try:
            _commit_returns(turn, step, effects.run_tools(turn, calls), f"returns{attempt}", stop)
            break
        except ConditionFailedError:
            effects.meet_others(turn, attempt)
    else:
        _commit_returns(turn, step, effects.refused(turn, calls, effects.CONTENDED), "refused", stop)
    _emit(turn, before, emit)
    return stop


def _commit_returns(turn: Turn, step: Step, outcome: Outcome, phase: str, stop: StopReason | None) -> None:
    returned = _message(turn, step, "tool").model_copy(update={"tool_returns": list(outcome.returns)})
    took = outcome.took_ns
    timed = step.model_copy(update={"tool_execution_ns": took, "step_ns": (step.step_ns or 0) + took})
    timed.stop_reason = stop
    commit(turn, timed, [returned], outcome.writes, phase, stop)
    turn.agent, turn.blocks = outcome.agent, outcome.blocks


def _stop_after(turn: Turn, calls: Sequence[ToolCall]) -> StopReason | None:
    limit = int(turn.run.request.get("max_steps") or 50)
    return after_returns(calls, agent_type=turn.agent.agent_type, steps=turn.run.steps, max_steps=limit)


def _emit(turn: Turn, before: int, emit: Emit) -> None:
    for message in turn.window[before:]:
        emit(MessageCommitted(message))


def _note_activity(turn: Turn) -> None:
    activity = agent_store.Activity(
        last_run_completion=turn.run.completed_at,
        last_run_duration_ms=(turn.run.total_duration_ns or 0) // 1_000_000,
        last_stop_reason=turn.run.stop_reason,
    )
    try:
        agent_store.record_activity(turn.agent.id, activity)
    except Exception as error:  # the run has ended and its answer is out: nothing after that may raise
        log_unforeseen(error, f"noting the end of {turn.run.id}")
