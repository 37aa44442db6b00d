"""Who holds a conversation, and how a lease is kept while a turn runs."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from agentkeep.loop import lease
from agentkeep.store.conversations import State
from agentkeep.store.database import ConditionFailedError, StoreUnavailableError
from agentkeep.store.entities import Conversation

NOW_MS = 1_790_000_000_000


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentkeep.clock.epoch_ms", lambda: NOW_MS)
    monkeypatch.delenv("AGENTKEEP_PROCESS_EPOCH", raising=False)
    monkeypatch.delenv("AGENTKEEP_LEASE_SECONDS", raising=False)


def state(until: int, owner: str | None = None) -> State:
    now = datetime(2026, 11, 29, tzinfo=UTC)
    conversation = Conversation(
        id="conv-1", agent_id="agent-1", system_message_id="message-1", created_at=now, updated_at=now
    )
    return State(conversation, fence=7, lease_until=until, lease_owner=owner, run_id="run-1" if owner else None)


def test_a_lease_lasts_thirty_seconds_unless_the_deployment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lease.until() == NOW_MS + 30_000

    monkeypatch.setenv("AGENTKEEP_LEASE_SECONDS", "1.5")

    assert lease.until() == NOW_MS + 1_500


@pytest.mark.parametrize(("until", "held"), [(0, False), (NOW_MS - 1, False), (NOW_MS, False), (NOW_MS + 1, True)])
def test_a_conversation_is_held_until_its_lease_has_run_out(until: int, held: bool) -> None:
    assert lease.is_held(state(until, "/holder-1")) is held


def test_a_lease_of_a_former_process_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKEEP_PROCESS_EPOCH", "first")
    owner = lease.new_owner()
    assert lease.is_held(state(NOW_MS + 1, owner))

    monkeypatch.setenv("AGENTKEEP_PROCESS_EPOCH", "second")

    assert not lease.is_held(state(NOW_MS + 1, owner))


def test_a_process_that_is_named_like_the_beginning_of_another_is_not_that_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTKEEP_PROCESS_EPOCH", "abc")
    owner = lease.new_owner()

    monkeypatch.setenv("AGENTKEEP_PROCESS_EPOCH", "ab")

    assert not lease.is_held(state(NOW_MS + 1, owner))


class Renewals:
    """Counts renewals; the outcome of each is asked of a function."""

    def __init__(self, outcome: Callable[[int], Exception | None] = lambda number: None) -> None:
        self.made: list[tuple[str, int, int]] = []
        self._outcome = outcome

    def __call__(self, conversation_id: str, fence: int, until: int) -> None:
        self.made.append((conversation_id, fence, until))
        error = self._outcome(len(self.made))
        if error:
            raise error


def renewed(monkeypatch: pytest.MonkeyPatch, renewals: Renewals, seconds: float) -> int:
    monkeypatch.setattr("agentkeep.store.conversations.renew", renewals)
    monkeypatch.setenv("AGENTKEEP_LEASE_SECONDS", "0.3")
    with lease.Renewal("conv-1", 7):
        time.sleep(seconds)
    return len(renewals.made)


def test_a_lease_is_renewed_three_times_in_its_duration(monkeypatch: pytest.MonkeyPatch) -> None:
    renewals = Renewals()

    assert 3 <= renewed(monkeypatch, renewals, 0.65) <= 6
    assert set(renewals.made) == {("conv-1", 7, NOW_MS + 300)}


def test_nothing_is_renewed_for_a_lease_that_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    assert renewed(monkeypatch, Renewals(lambda number: ConditionFailedError([0])), 0.4) == 1


def test_a_store_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    flaky = Renewals(lambda number: StoreUnavailableError("update_item") if number < 3 else None)

    assert renewed(monkeypatch, flaky, 0.65) >= 4


def test_no_thread_is_left_whatever_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentkeep.store.conversations.renew", Renewals())
    before = threading.active_count()

    with pytest.raises(SystemExit), lease.Renewal("conv-1", 7):
        raise SystemExit

    assert threading.active_count() == before


def test_letting_go_ends_the_lease_now_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    renewals = Renewals()
    monkeypatch.setattr("agentkeep.store.conversations.renew", renewals)

    lease.let_go(state(NOW_MS + 20_000, "/holder-1"))

    assert renewals.made == [("conv-1", 7, NOW_MS)]


@pytest.mark.parametrize("error", [ConditionFailedError([0]), StoreUnavailableError("update_item")])
def test_letting_go_of_what_cannot_be_let_go_is_no_error(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr("agentkeep.store.conversations.renew", Renewals(lambda number: error))

    lease.let_go(state(NOW_MS + 20_000, "/holder-1"))
