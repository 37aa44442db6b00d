"""Runs and steps: looking them up, listing them, feedback on a step."""

from datetime import UTC, datetime

from agentkeep.api.requests.runs import ListActiveRuns, ListRuns, ListRunSteps, ListSteps, StepFeedback
from agentkeep.operations.revising import revise
from agentkeep.store import database, runs
from agentkeep.store.entities import Run, Step
from agentkeep.store.pages import PageRequest
from agentkeep.store.runs import Scope

_ACTIVE = ("created", "running")


def retrieve(run_id: str) -> Run:
    """The run. Raises NotFoundError."""
    return runs.get(run_id)


def retrieve_step(step_id: str) -> Step:
    """The step. Raises NotFoundError."""
    return runs.get_step(step_id)


def page(query: ListRuns) -> list[Run]:
    """One page of runs. `conversation_id` may be an agent's id: its default conversation."""

    def keep(run: Run) -> bool:
        if (query.statuses and run.status not in query.statuses) or (query.active and run.status not in _ACTIVE):
            return False
        if query.background is not None and run.background != query.background:
            return False
        if query.agents and run.agent_id not in query.agents:
            return False
        return query.stop_reason is None or run.stop_reason == query.stop_reason

    return runs.page(_scope(query), query.page(), keep)


def _scope(query: ListRuns) -> Scope:
    conversation = query.conversation_id
    if conversation == "default":
        conversation = query.agents[0] if query.agents else None
    return Scope(agent_ids=query.agents, conversation=conversation, active=query.active)


def active(query: ListActiveRuns) -> list[Run]:
    """The runs that have not finished, newest first."""

    def keep(run: Run) -> bool:
        if query.background is not None and run.background != query.background:
            return False
        return run.status in _ACTIVE and query.agent_id in (None, run.agent_id)

    return runs.page(Scope(active=True), PageRequest(limit=1000), keep)


def steps_of_run(run_id: str, query: ListRunSteps) -> list[Step]:
    """One page of a run's steps."""
    runs.get(run_id)
    return runs.page_of_steps(Scope(run_id=run_id), query.page(), lambda step: True)


def steps(query: ListSteps) -> list[Step]:
    """One page of steps."""
    scope = Scope(agent_ids=[query.agent_id] if query.agent_id else [])
    return runs.page_of_steps(scope, query.page(), lambda step: _fits(step, query))


def _fits(step: Step, query: ListSteps) -> bool:
    if query.model and query.model not in (step.model, (step.model or "").partition("/")[2]):
        return False
    if query.feedback and step.feedback != query.feedback:
        return False
    if query.has_feedback is not None and (step.feedback is not None) != query.has_feedback:
        return False
    if (query.tags and not set(query.tags) & set(step.tags)) or query.trace_ids:
        return False
    return _within(step.created_at, query.start_date, query.end_date)


def _within(moment: datetime, start: datetime | None, end: datetime | None) -> bool:
    earliest = datetime.min.replace(tzinfo=UTC)
    latest = datetime.max.replace(tzinfo=UTC)
    return (start or earliest) <= moment <= (end or latest)


def give_feedback(step_id: str, request: StepFeedback) -> Step:
    """The step with the feedback; none takes it away. Tags are replaced when they are sent."""

    def rated(step: Step) -> Step:
        tags = step.tags if request.tags is None else request.tags
        return step.model_copy(update={"feedback": request.feedback, "tags": tags})

    def attempt() -> Step:
        step, change = runs.step_change(step_id, rated)
        database.write(change)
        return step

    return revise(attempt)
