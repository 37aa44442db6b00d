"""Runs and steps: looking them up, listing them, their messages, usage and metrics."""

from typing import Any

from agentkeep.api.render.runs import run, run_metrics, step, step_metrics, usage
from agentkeep.api.replies import Reply
from agentkeep.api.requests.messages import ListRunMessages
from agentkeep.api.requests.runs import ListActiveRuns, ListRuns, ListRunSteps, ListSteps, StepFeedback
from agentkeep.api.resolver import Event, Resolver
from agentkeep.operations import messages, runs

Json = dict[str, Any]

app = Resolver()


@app.get("/v1/runs", permission="run:read")
def list_runs() -> list[Json]:
    return [run(found) for found in runs.page(app.query(ListRuns))]


@app.get("/v1/runs/active", permission="run:read")
def list_active_runs() -> list[Json]:
    return [run(found) for found in runs.active(app.query(ListActiveRuns))]


@app.get("/v1/runs/<run_id>", permission="run:read")
def retrieve_run(run_id: str) -> Json:
    return run(runs.retrieve(run_id))


@app.get("/v1/runs/<run_id>/messages", permission="run:read")
def list_run_messages(run_id: str) -> list[Json]:
    return messages.of_run(run_id, app.query(ListRunMessages))


@app.get("/v1/runs/<run_id>/usage", permission="run:read")
def retrieve_run_usage(run_id: str) -> Json:
    return usage(runs.retrieve(run_id).usage)


@app.get("/v1/runs/<run_id>/metrics", permission="run:read")
def retrieve_run_metrics(run_id: str) -> Json:
    return run_metrics(runs.retrieve(run_id))


@app.get("/v1/runs/<run_id>/steps", permission="run:read")
def list_run_steps(run_id: str) -> list[Json]:
    return [step(found) for found in runs.steps_of_run(run_id, app.query(ListRunSteps))]


@app.get("/v1/steps", permission="run:read")
def list_steps() -> list[Json]:
    return [step(found) for found in runs.steps(app.query(ListSteps))]


@app.get("/v1/steps/<step_id>", permission="run:read")
def retrieve_step(step_id: str) -> Json:
    return step(runs.retrieve_step(step_id))


@app.get("/v1/steps/<step_id>/metrics", permission="run:read")
def retrieve_step_metrics(step_id: str) -> Json:
    return step_metrics(runs.retrieve_step(step_id))


@app.get("/v1/steps/<step_id>/messages", permission="run:read")
def list_step_messages(step_id: str) -> list[Json]:
    return messages.of_step(step_id, app.query(ListRunMessages))


@app.patch("/v1/steps/<step_id>/feedback", permission="run:write")
def give_feedback(step_id: str) -> Json:
    return step(runs.give_feedback(step_id, app.body(StepFeedback)))


def lambda_handler(event: Event, context: Any) -> Reply:
    """Answers a proxy event of API Gateway."""
    return app.resolve(event, context)
