"""Having a model write the summary, by whichever of the ways the settings name works; without any, saying so."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentkeep import clock, ids
from agentkeep.errors import AgentKeepError
from agentkeep.loop.compaction import prompts
from agentkeep.loop.compaction.settings import CompactionSettings
from agentkeep.loop.compaction.transcript import last_words, summary_of, transcript
from agentkeep.loop.turn import Turn
from agentkeep.models import ContextWindowExceededError, ModelError, ModelRequest, UnknownModelError, catalog, complete
from agentkeep.models.errors import (
    InsufficientCreditsError,
    InvalidAnswerError,
    ModelAuthenticationError,
    ModelNotFoundError,
    ModelPermissionError,
)
from agentkeep.models.tokens import ASCII_PER_TOKEN, estimate_tokens
from agentkeep.store.content import Message, TextPart, Usage
from agentkeep.text import clean

_log: Final = logging.getLogger(__name__)
_SECONDS: Final = 240.0
"""The longest that all attempts may take; a turn waits for them."""
_SUMMARY_SHARE: Final = 5
"""A summary takes at most one part in so many of the window, whatever it was allowed in characters."""
_TRANSCRIPT_SHARES: Final = (0.7, 0.2)
"""Of the summarizer's window: what a transcript takes at first, and once that was too much."""

_NOTHING_WORKS: Final = (
    InsufficientCreditsError, ModelAuthenticationError, ModelNotFoundError, ModelPermissionError, UnknownModelError,
)  # fmt: skip
"""Failures of the agent's own model, the last to be asked, after which the turn cannot go on anyway."""


@dataclass(frozen=True)
class Summary:
    """The summary of older messages. `model` wrote it with this `usage`; `note` says why none did."""

    text: str
    model: str | None = None
    usage: Usage | None = None
    note: str | None = None


class NoSummaryError(InvalidAnswerError):
    """The model called a tool or said nothing where it was to summarize."""

    def __init__(self, handle: str) -> None:
        super().__init__(f"{handle} did not answer with a summary.")


def summarize(turn: Turn, gone: Sequence[Message], settings: CompactionSettings, seconds: float) -> Summary:
    """A summary of the messages that leave the window; if nobody can write one, it says so, and why.

    Raises what keeps the agent's own model from answering anything, such as a wrong key: then no message has to go.
    """
    ends = time.monotonic() + min(seconds, _SECONDS)
    failure: AgentKeepError | None = None
    hopeless: set[str | None] = set()
    for handle, share in _ways(turn, settings):
        left = ends - time.monotonic()
        if handle in hopeless or left < 1:
            continue
        try:
            return _written(_request(turn, gone, settings, handle, share, left), turn, settings)
        except ContextWindowExceededError as error:
            failure = error
        except (ModelError, UnknownModelError) as error:
            failure = error
            hopeless.add(handle)
        _log.warning("A summary for %s was not written: %s.", turn.state.conversation.id, failure.code)
    if isinstance(failure, _NOTHING_WORKS):
        raise failure
    return _dropped(turn, gone, failure)


def _ways(turn: Turn, settings: CompactionSettings) -> Iterator[tuple[str | None, float]]:
    """Who may write the summary, in this order, and how much of its window the transcript takes.

    None is the agent itself. A summarizer that was not chosen, or is not there, is the agent's model.
    """
    if settings.by_itself:
        yield None, 1.0
    chosen = [] if settings.model in (None, "letta/auto") else [str(settings.model)]
    for handle in dict.fromkeys([*chosen, turn.model]):
        yield from ((handle, share) for share in _TRANSCRIPT_SHARES)


def _request(
    turn: Turn, gone: Sequence[Message], settings: CompactionSettings, handle: str | None, share: float, seconds: float
) -> ModelRequest:
    if handle is None:
        return _own_request(turn, gone, settings, seconds)
    return _transcript_request(turn, gone, settings, handle, share, seconds)


def _own_request(turn: Turn, gone: Sequence[Message], settings: CompactionSettings, seconds: float) -> ModelRequest:
    """The agent's own context up to the cut, so that the provider's cache of it is used, and our request after it."""
    asked = settings.prompt or prompts.filled(prompts.SUMMARIZE_ONESELF, turn.context_window)
    return ModelRequest(
        handle=turn.model,
        messages=[turn.context[0], *gone, _said(turn, "user", asked)],
        tools=turn.tools,
        settings={name: value for name, value in turn.settings.items() if name != "response_format"},
        tool_choice="none" if turn.tools else None,
        timeout_seconds=seconds,
    )


def _transcript_request(
    turn: Turn, gone: Sequence[Message], settings: CompactionSettings, handle: str, share: float, seconds: float
) -> ModelRequest:
    instructions = settings.prompt or prompts.filled(prompts.SUMMARIZE, turn.context_window)
    window = min(turn.context_window, catalog.limits(handle).context_window) - estimate_tokens(instructions)
    text = transcript(gone, max(int(window * share), 100) * ASCII_PER_TOKEN)
    ready = [_said(turn, "user", prompts.BEGIN), _said(turn, "assistant", prompts.READY)]
    own: dict[str, Any] = settings.model_settings or {}
    return ModelRequest(
        handle=handle,
        messages=[
            _said(turn, "system", instructions),
            *(ready if settings.prompt_acknowledgement else []),
            _said(turn, "user", prompts.TRANSCRIPT.format(transcript=text)),
        ],
        settings=own if handle == settings.model else {},
        timeout_seconds=seconds,
    )


def _said(turn: Turn, role: Any, text: str) -> Message:
    return Message(
        id=ids.new("message"),
        agent_id=turn.agent.id,
        conversation=turn.state.conversation.id,
        role=role,
        content=[TextPart(text=text)],
        created_at=clock.now(),
    )


def _written(request: ModelRequest, turn: Turn, settings: CompactionSettings) -> Summary:
    answer = complete(request)
    text = clean("".join(part.text for part in answer.content if isinstance(part, TextPart))).strip()
    if not text:
        raise NoSummaryError(request.handle)
    return Summary(_clipped(text, turn, settings), request.handle, answer.usage.model_copy(update={"step_count": 0}))


def _clipped(text: str, turn: Turn, settings: CompactionSettings) -> str:
    """The summary in the characters it may have, and small enough for the window it is for."""
    room = max(turn.context_window // _SUMMARY_SHARE, 50)
    by_window = len(text) * room // max(estimate_tokens(text), room)
    allowed = min(by_window, len(text) if settings.clip_chars is None else settings.clip_chars)
    return text if len(text) <= allowed else f"{text[: max(allowed - 4, 0)]} ..."


def _dropped(turn: Turn, gone: Sequence[Message], failure: AgentKeepError | None) -> Summary:
    """Instead of a summary: that there is none, the summary before, and what the user said last."""
    reason = "the time for it was over" if failure is None else failure.code
    _log.error("The window of %s was cut without a summary: %s.", turn.state.conversation.id, reason)
    text = prompts.NO_SUMMARY.format(reason=reason)
    room = max(turn.context_window // _SUMMARY_SHARE, 50) * ASCII_PER_TOKEN
    for heading, kept in (
        (prompts.EARLIER_SUMMARY, "\n".join(summary_of(each) for each in gone if each.compaction)[: room // 2]),
        (prompts.LAST_WORDS, last_words(gone, room // 4)),
    ):
        text += f"{heading}{kept}" if kept else ""
    return Summary(text, note=reason)
