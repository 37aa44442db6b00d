"""The inline driver: steps of one run, from the window to the stop reason, under a lease that is kept alive.

A step is: model call, commit of the answer with its calls, tools, commit of the returns with their effects. A crash
between any two leaves a state from which `drive` goes on: it starts with the calls that have no return yet.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from agentkeep import clock, ids
from agentkeep.errors import AgentKeepError
from agentkeep.loop import closing, effects, lease, reports
from agentkeep.loop.commit import commit
from agentkeep.loop.compaction import compacting
from agentkeep.loop.decisions import AfterAnswer, after_answer, after_returns, storable
from agentkeep.loop.effects import Outcome
from agentkeep.loop.events import Event, MessageCommitted, RunFinished
from agentkeep.loop.lease import LeaseLostError, Renewal
from agentkeep.loop.rules.enforcing import called, with_prefilled
from agentkeep.loop.rules.solver import Solver
from agentkeep.loop.rules.turn_rules import offered, rules_of, unheeded
from agentkeep.loop.turn import Turn
from agentkeep.models import ContextWindowExceededError, ModelAnswer, ModelRequest, complete
from agentkeep.store import agents as agent_store
from agentkeep.store import runs
from agentkeep.store.content import Message, TextPart, ToolCall, ToolReturn
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
    compacting.before_step(turn, _seconds(deadline), emit)
    rules = rules_of(turn)
    answer = _answer(turn, rules, deadline, emit)
    turn.count(answer.usage)
    step = _new_step(turn, answer)
    decision = _decide(turn, rules, answer)
    step.stop_reason = decision.stop
    before = len(turn.window)
    said = [*_answered(turn, step, answer, decision.calls), *_reminding(turn, step, decision.reminder)]
    step = commit(turn, step, said, (), "answer", decision.stop)
    _emit(turn, before, emit)
    return _returns(turn, step, decision.calls, emit) if decision.calls else decision.stop


def _answer(turn: Turn, rules: Solver, deadline: float | None, emit: Emit) -> ModelAnswer:
    """The model's answer. A context too large for it is compacted, once."""
    try:
        return _ask(turn, rules, deadline)
    except ContextWindowExceededError as overflow:
        compacting.after_overflow(turn, overflow, _seconds(deadline), emit)
        return _ask(turn, rules, deadline)


def _ask(turn: Turn, rules: Solver, deadline: float | None) -> ModelAnswer:
    started = time.perf_counter_ns()
    try:
        return storable(complete(_request(turn, rules, deadline)))
    finally:
        turn.model_calls_ns.append(time.perf_counter_ns() - started)


def _decide(turn: Turn, rules: Solver, answer: ModelAnswer) -> AfterAnswer:
    decision = after_answer(
        answer,
        parallel=bool(turn.settings.get("parallel_tool_calls")),
        rules=rules,
        unheeded=unheeded(turn) if rules.orders else 0,
        last=turn.run.steps + 1 >= _max_steps(turn),
    )
    return replace(decision, calls=with_prefilled(decision.calls, rules, turn.tools)) if rules.orders else decision


def _seconds(deadline: float | None) -> float:
    """How long a model call may take now."""
    left = _MODEL_SECONDS if deadline is None else deadline - time.monotonic() - _RESERVED_SECONDS
    return max(1.0, min(_MODEL_SECONDS, left))


def _request(turn: Turn, rules: Solver, deadline: float | None) -> ModelRequest:
    return ModelRequest(
        handle=turn.model,
        messages=turn.context,
        tools=offered(turn, rules),
        settings={**turn.settings, "parallel_tool_calls": False} if rules.orders else turn.settings,
        tool_choice=rules.choice,
        timeout_seconds=_seconds(deadline),
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
        context_window=turn.context_window,
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


def _reminding(turn: Turn, step: Step, text: str | None) -> list[Message]:
    """What the model is told after an answer that could not end the turn."""
    content = [TextPart(text=text)] if text else []
    return [_message(turn, step, "system").model_copy(update={"content": content})] if text else []


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
    before = len(turn.window)
    for attempt in range(_EFFECT_TRIES):
        try:
            stop = _commit_returns(turn, step, effects.run_tools(turn, calls), f"returns{attempt}")
            break
        except ConditionFailedError:
            effects.meet_others(turn, attempt)
    else:
        stop = _commit_returns(turn, step, effects.refused(turn, calls, effects.CONTENDED), "refused")
    _emit(turn, before, emit)
    return stop


def _commit_returns(turn: Turn, step: Step, outcome: Outcome, phase: str) -> StopReason | None:
    stop = _stop_after(turn, outcome.returns)
    returned = _message(turn, step, "tool").model_copy(update={"tool_returns": list(outcome.returns)})
    took = outcome.took_ns
    timed = step.model_copy(update={"tool_execution_ns": took, "step_ns": (step.step_ns or 0) + took})
    timed.stop_reason = stop
    commit(turn, timed, [returned], outcome.writes, phase, stop)
    turn.agent, turn.blocks = outcome.agent, outcome.blocks
    return stop


def _stop_after(turn: Turn, returns: Sequence[ToolReturn]) -> StopReason | None:
    return after_returns(
        returns,
        agent_type=turn.agent.agent_type,
        steps=turn.run.steps,
        max_steps=_max_steps(turn),
        rules=rules_of(turn).after(called(returns)),
    )


def _max_steps(turn: Turn) -> int:
    return int(turn.run.request.get("max_steps") or 50)


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
