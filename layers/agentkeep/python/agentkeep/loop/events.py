"""What happens in a run, as it happens: the driver emits these, whoever answers or logs reads them."""

from dataclasses import dataclass

from agentkeep.errors import AgentKeepError
from agentkeep.store.content import Message
from agentkeep.store.entities import Run


@dataclass(frozen=True)
class RunStarted:
    """The message was accepted: from here on there is a run, and a failure is the run's failure."""

    run_id: str


@dataclass(frozen=True)
class MessageCommitted:
    """A message is in the history."""

    message: Message


@dataclass(frozen=True)
class RunFinished:
    """The run ended. `run` holds its stop reason and usage, `error` why it failed, if it did."""

    run: Run
    error: AgentKeepError | None = None


Event = RunStarted | MessageCommitted | RunFinished
