"""What operators learn of the end of a run: a line for each that failed, and metrics of all of them in AWS.

A run may fail after its answer has begun, with HTTP 200, and a provider's 401 is passed on as one: statuses alone do
not tell. The line says which run it was and whether the provider or AgentKeep refused. No word of the conversation is
in it, nor what the provider said, which may quote it.

Metrics are lines in CloudWatch's embedded metric format, namespace `AgentKeep`, by `stage`: `RunsCompleted`,
`RunsFailed` (also by `error`), `TurnMilliseconds` (acceptance to end), `ModelMilliseconds` (each call of the model,
retries included).
"""

import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from agentkeep.errors import AgentKeepError
from agentkeep.models.errors import ModelError
from agentkeep.store.entities import Run

if TYPE_CHECKING:
    from aws_lambda_powertools.metrics import EphemeralMetrics

_log: Final = logging.getLogger(__name__)
_NAMESPACE: Final = "AgentKeep"
_NS_PER_MS: Final = 1_000_000
_LINE: Final = "run=%s agent=%s model=%s error=%s status=%d source=%s"


def completed(run: Run, model_calls_ns: Sequence[int]) -> None:
    """Reports a run that came to its stop reason."""
    _measure("RunsCompleted", run, model_calls_ns, None)


def failed(run: Run, error: AgentKeepError, model: str | None, model_calls_ns: Sequence[int] = ()) -> None:
    """Reports a run that ended in an error. `model` is None where nobody knows any more which one it called."""
    _log.error("Run failed: " + _LINE, *_facts(run, error, model))
    _measure("RunsFailed", run, model_calls_ns, error_type(error))


def interrupted(run: Run, error: AgentKeepError, model: str) -> None:
    """Reports that this process gives a run up unfinished; whoever takes it up reports its end."""
    _log.warning("Run interrupted: " + _LINE, *_facts(run, error, model))


def error_type(error: AgentKeepError) -> str:
    """The name of an error as the run's record and its answer have it."""
    return error.error_type if isinstance(error, ModelError) else error.code.lower()


def _facts(run: Run, error: AgentKeepError, model: str | None) -> tuple[object, ...]:
    source = "provider" if isinstance(error, ModelError) else "agentkeep"
    return run.id, run.agent_id, model or "unknown", error_type(error), error.status, source


def _measure(outcome: str, run: Run, model_calls_ns: Sequence[int], error: str | None) -> None:
    if not os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        return
    metrics = _metrics()
    metrics.add_metric(outcome, "Count", 1)
    metrics.add_metric("TurnMilliseconds", "Milliseconds", (run.total_duration_ns or 0) / _NS_PER_MS)
    for took in model_calls_ns:
        metrics.add_metric("ModelMilliseconds", "Milliseconds", took / _NS_PER_MS)
    _write(metrics)
    if error is not None:
        of_error = _metrics(error=error)
        of_error.add_metric(outcome, "Count", 1)
        _write(of_error)


def _metrics(**dimensions: str) -> "EphemeralMetrics":
    """A set of its own for each report: Powertools' `Metrics` keeps one for all threads."""
    from aws_lambda_powertools.metrics import EphemeralMetrics  # only in AWS, and not while a function starts

    stage = os.environ.get("AGENTKEEP_STAGE", "")
    return EphemeralMetrics(namespace=_NAMESPACE, default_dimensions={"stage": stage, **dimensions})


def _write(metrics: "EphemeralMetrics") -> None:
    """In one piece, so that lines of several threads do not mix."""
    sys.stdout.write(json.dumps(metrics.serialize_metric_set()) + "\n")
    sys.stdout.flush()
