"""Where a window is cut: never between a call and its return, never into what waits for an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agentkeep.loop.compaction.cutting import boundaries, choose, unanswered
from agentkeep.models.tokens import estimate_tokens
from agentkeep.store.content import Message
from tests.doubles.messages import called, message, returned


@some.composite
def _talks(draw: some.DrawFn) -> list[Message]:
    """A conversation as turns leave it: speech, calls with their returns after them; perhaps broken off in the end."""
    talk: list[Message] = []
    for number in range(draw(some.integers(0, 12))):
        kind = draw(some.sampled_from(["user", "assistant", "call"]))
        if kind != "call":
            talk.append(message(kind, "x" * draw(some.integers(1, 400))))
            continue
        ids = [f"call_{number}_{each}" for each in range(draw(some.integers(1, 3)))]
        talk.append(called(*((identifier, "tool", "{}") for identifier in ids)))
        talk.append(returned(*((identifier, "y" * draw(some.integers(1, 400))) for identifier in ids)))
    return talk[:-1] if talk and draw(some.booleans()) else talk


def _is_paired(talk: list[Message], cut: int) -> bool:
    calls = {call.id for each in talk[:cut] for call in each.tool_calls}
    returns = {each.tool_call_id for part in talk[cut:] for each in part.tool_returns}
    return not calls & returns


@given(_talks(), some.integers(0, 600), some.booleans())
def test_a_cut_separates_no_call_from_its_return(talk: list[Message], keep: int, running: bool) -> None:
    assert _is_paired(talk, choose(talk, keep_tokens=keep, running=running))


@given(_talks(), some.integers(0, 600))
def test_what_waits_for_an_answer_stays(talk: list[Message], keep: int) -> None:
    cut = choose(talk, keep_tokens=keep, running=True)

    newest = next((at for at in range(len(talk), 0, -1) if talk[at - 1].role == "assistant"), 0)
    assert cut <= newest
    assert all(each not in talk[:cut] for each in talk[newest:])


@given(_talks(), some.integers(0, 600), some.booleans())
def test_what_stays_fits_or_cannot_be_less(talk: list[Message], keep: int, running: bool) -> None:
    cut = choose(talk, keep_tokens=keep, running=running)

    allowed = [each for each in boundaries(talk) if not running or each <= unanswered(talk)]
    assert estimate_tokens(talk[cut:]) <= keep or cut == max(allowed)
    assert all(estimate_tokens(talk[earlier:]) > keep for earlier in allowed if earlier < cut)


@given(_talks(), some.integers(0, 600), some.booleans())
def test_what_was_cut_is_not_cut_again(talk: list[Message], keep: int, running: bool) -> None:
    rest = talk[choose(talk, keep_tokens=keep, running=running) :]

    again = choose(rest, keep_tokens=keep, running=running)

    assert again == 0


SPOKEN = [message("user", "Hello."), message("assistant", "Hello, Priya.")]
CALL = called(("call_1", "tool", "{}"))


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        ([], 0),
        (SPOKEN, 2),
        ([*SPOKEN, message("user", "And now?")], 2),
        ([*SPOKEN, CALL], 2),
        ([*SPOKEN, CALL, returned(("call_1", "done"))], 2),
        ([*SPOKEN, message("user", "one"), message("user", "two")], 2),
        ([message("user", "one")], 0),
    ],
)
def test_where_the_unanswered_begins(talk: list[Message], expected: int) -> None:
    assert unanswered(talk) == expected


def test_a_call_that_still_waits_for_its_return_is_never_cut_off() -> None:
    assert choose([*SPOKEN, CALL], keep_tokens=0, running=False) == 2


def test_a_return_far_from_its_call_keeps_all_between() -> None:
    talk = [CALL, message("user", "between"), returned(("call_1", "late")), message("assistant", "Done.")]

    assert boundaries(talk) == [0, 3, 4]


def test_nothing_goes_while_everything_fits() -> None:
    assert choose(SPOKEN, keep_tokens=1_000, running=False) == 0
