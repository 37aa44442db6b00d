"""The answer to a request for a compaction, gathered from its events."""

from collections.abc import Sequence
from typing import Any

from agentkeep.api.errors import error_fields
from agentkeep.api.outcome import Outcome
from agentkeep.api.stream import Ended
from agentkeep.loop.events import Event, WindowCompacted

Json = dict[str, Any]


class CompactionOutcome(Outcome):
    """A compaction as it stands: its summary and counts once it is over, or why it ended."""

    def __init__(self) -> None:
        super().__init__(lambda message: ())
        self._compacted = WindowCompacted("", 0, 0)

    def add(self, event: Event | Ended) -> Sequence[Json]:
        """Takes in what happened. Nothing is shown before the end."""
        if isinstance(event, WindowCompacted):
            self.over, self._compacted = True, event
            return ()
        return super().add(event)

    def body(self) -> Json:
        """Letta's CompactionResponse. `error` is there only when it failed after the status was sent."""
        answer: Json = {
            "summary": self._compacted.summary,
            "num_messages_before": self._compacted.messages_before,
            "num_messages_after": self._compacted.messages_after,
        }
        if self.error is not None:
            answer["error"] = error_fields(self.error)
        return answer
