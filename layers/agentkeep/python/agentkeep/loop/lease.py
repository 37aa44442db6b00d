"""The lease on a conversation: who runs it, until when. The fence in it makes a late writer's commit fail."""

import logging
import os
import threading
from contextvars import copy_context
from types import TracebackType
from typing import Final, Self

from agentkeep import clock, ids, settings
from agentkeep.errors import ConflictError
from agentkeep.store import conversations
from agentkeep.store.conversations import State
from agentkeep.store.database import ConditionFailedError, StoreUnavailableError

_log: Final = logging.getLogger(__name__)
_RENEWALS_PER_LEASE: Final = 3

settings.check()


class LeaseLostError(ConflictError):
    """Another holder took the conversation over; what this one still wanted to write was refused."""

    code = "LEASE_LOST"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"This run lost its conversation to another holder (run_id={run_id}), which goes on with it or has closed"
            f" it. See GET /v1/runs/{run_id}.",
            run_id=run_id,
        )


def seconds() -> float:
    """How long a lease lasts unless renewed."""
    return settings.LEASE_SECONDS.read()


def until() -> int:
    """When a lease taken or renewed now ends, in epoch milliseconds."""
    return clock.epoch_ms() + int(seconds() * 1000)


def new_owner() -> str:
    """A name for the holder: the server process where there is one, and the turn."""
    return f"{_epoch()}/{ids.new('holder')}"


def is_held(state: State) -> bool:
    """Whether somebody alive holds the conversation. A former process of this machine's server is known to be dead."""
    if state.lease_until <= clock.epoch_ms():
        return False
    return not _epoch() or (state.lease_owner or "").startswith(f"{_epoch()}/")


def let_go(state: State) -> None:
    """Ends our lease at once and leaves its run open, so that whoever comes next goes on with it without waiting."""
    try:
        conversations.renew(state.conversation.id, state.fence, clock.epoch_ms())
    except (ConditionFailedError, StoreUnavailableError):
        _log.info("The lease on %s is not ours any more, or has to run out.", state.conversation.id)


def _epoch() -> str:
    return os.environ.get("AGENTKEEP_PROCESS_EPOCH", "")


class Renewal:
    """Renews a lease three times in its duration for as long as the block inside runs; joined before it ends."""

    def __init__(self, conversation_id: str, fence: int) -> None:
        self._conversation_id = conversation_id
        self._fence = fence
        self._ended = threading.Event()
        self._thread = threading.Thread(target=copy_context().run, args=(self._renew,), name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._ended.wait(seconds() / _RENEWALS_PER_LEASE):
            try:
                conversations.renew(self._conversation_id, self._fence, until())
            except ConditionFailedError:
                return  # released or taken over: the fence decides what may still be written
            except StoreUnavailableError:
                _log.warning("The lease on %s was not renewed; trying again.", self._conversation_id)
