"""How an agent wants its window compacted, as its `compaction_settings` and those of a request say."""

import logging
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import ValidationError

from agentkeep.store.content import Record

_log: Final = logging.getLogger(__name__)
_MOST_KEPT: Final = 0.9
"""A compaction that keeps nearly everything would have to be repeated at once."""


class CompactionSettings(Record):
    """Letta's CompactionSettings. `sliding_window_percentage` is the share of the window, 0 to 1, that is kept.

    `clip_chars` bounds the summary; None leaves it as it is, up to a share of the window.
    """

    mode: Literal["all", "sliding_window", "self_compact_all", "self_compact_sliding_window"] = "sliding_window"
    model: str | None = None
    model_settings: dict[str, Any] | None = None
    prompt: str | None = None
    prompt_acknowledgement: bool = False
    clip_chars: int | None = 50_000
    sliding_window_percentage: float = 0.3

    @property
    def by_itself(self) -> bool:
        """Whether the agent's own model summarizes, in the agent's own role, rather than a summarizer."""
        return self.mode.startswith("self_compact")

    @property
    def kept_share(self) -> float:
        """The share of the window that messages may still take after the cut."""
        return 0.0 if self.mode.endswith("all") else min(max(self.sliding_window_percentage, 0.0), _MOST_KEPT)


def settings_of(*several: Mapping[str, Any] | None) -> CompactionSettings:
    """Settings from the agent's and the request's, the later ones first. What cannot be read leaves the defaults."""
    given: dict[str, Any] = {}
    for each in several:
        given |= each or {}
    try:
        return CompactionSettings.model_validate(given)
    except ValidationError:
        _log.warning("compaction_settings that cannot be read are ignored.")
        return CompactionSettings()
