"""What is known of a turn so far, gathered from its events."""

from collections.abc import Callable, Sequence
from typing import Any

from agentkeep.api.errors import error_fields
from agentkeep.api.render import frames
from agentkeep.api.stream import Ended
from agentkeep.errors import AgentKeepError
from agentkeep.loop.events import CompactionStarted, Event, MessageCommitted, RunFinished, RunStarted
from agentkeep.store.content import Message, Usage
from agentkeep.store.entities import StopReason

Json = dict[str, Any]
Show = Callable[[Message | CompactionStarted], Sequence[Json]]
"""How a committed message is shown to this caller: `render.messages.MessageView.show` with the request's options."""


class StillRunningError(AgentKeepError):
    """The answer had to end before its run did. Nothing failed: the history will have the rest."""

    status = 504
    code = "STILL_RUNNING"

    def __init__(self, run_id: str | None) -> None:
        super().__init__(
            f"This answer reached its longest duration while {run_id or 'the run'} goes on."
            f" Read its state with GET /v1/runs/{run_id} and its messages with GET /v1/runs/{run_id}/messages.",
            run_id=run_id,
            status="running",
        )


class UnfinishedTurnError(RuntimeError):
    """The driver returned without saying how the run ended. A mistake in our code."""


def _is_news(message: Message) -> bool:
    return message.role in ("assistant", "tool") or message.compaction is not None


class Outcome:
    """A turn as it stands: its run, what it said, and once it is over, why it ended."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self.messages: list[Json] = []
        self.run_id: str | None = None
        self.reason: StopReason = "error"
        self.usage = Usage()
        self.error: Exception | None = None
        self.over = False

    def add(self, event: Event | Ended) -> Sequence[Json]:
        """Takes in what happened and gives what is to be shown of it. Input of the caller is not shown to it again."""
        if isinstance(event, RunStarted):
            self.run_id = event.run_id
        elif isinstance(event, CompactionStarted) or (isinstance(event, MessageCommitted) and _is_news(event.message)):
            shown = self._show(event if isinstance(event, CompactionStarted) else event.message)
            self.messages.extend(shown)
            return shown
        elif isinstance(event, RunFinished):
            self._finish(event)
        elif isinstance(event, Ended) and not self.over:
            self.over, self.error = True, event.error or UnfinishedTurnError()
        return ()

    def _finish(self, event: RunFinished) -> None:
        self.over, self.error = True, event.error
        self.run_id = event.run.id
        self.usage = event.run.usage
        self.reason = event.run.stop_reason or "end_turn"

    def give_up(self) -> None:
        """The answer has to end although the run goes on."""
        self.over, self.error = True, StillRunningError(self.run_id)

    def body(self) -> Json:
        """The whole answer. `error` is there only when the run failed after the status was sent, or goes on."""
        answer: Json = {
            "messages": self.messages,
            "stop_reason": frames.stop_reason(self.reason),
            "usage": frames.usage_statistics(self.usage),
            "logprobs": None,
            "turns": None,
        }
        if self.error is not None:
            answer["error"] = {**error_fields(self.error), "run_id": self.run_id}
        return answer
