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
class CompactionStarted:
    """Older messages are about to be summarized, which takes as long as a model call. Sizes in tokens.

    `tokens`: the newest prompt as its provider counted it. `trigger` as in CompactionStats.
    """

    run_id: str
    trigger: str
    tokens: int | None
    context_window: int


@dataclass(frozen=True)
class RunFinished:
    """The run ended. `run` holds its stop reason and usage, `error` why it failed, if it did."""

    run: Run
    error: AgentKeepError | None = None


@dataclass(frozen=True)
class WindowCompacted:
    """A compaction that was asked for is over. Counts are messages in the window, the system message among them."""

    summary: str
    messages_before: int
    messages_after: int


Event = RunStarted | MessageCommitted | CompactionStarted | WindowCompacted | RunFinished
