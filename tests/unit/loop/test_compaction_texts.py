"""Transcripts for summaries, settings as they are read, and windows as stretches of history."""

from hypothesis import given
from hypothesis import strategies as some

from agentkeep.loop.compaction.settings import settings_of
from agentkeep.loop.compaction.transcript import last_words, shortened, transcript
from agentkeep.store.entities import Segment
from agentkeep.store.windows import growing, stretches
from tests.doubles.messages import called, message, returned

TALK = [
    message("user", "What is the weather in Oslo?"),
    called(("call_1", "weather", '{"city": "Oslo"}')),
    returned(("call_1", "4 degrees, station NO-0301")),
    message("assistant", "Four degrees."),
]


def test_a_transcript_tells_who_said_and_called_what() -> None:
    assert transcript(TALK, 10_000).splitlines() == [
        "[2026-11-29 12:00 user] What is the weather in Oslo?",
        '[assistant calls weather] {"city": "Oslo"}',
        "[tool returned] 4 degrees, station NO-0301",
        "[2026-11-29 12:00 assistant] Four degrees.",
    ]


@given(some.lists(some.text(min_size=1, max_size=2_000), max_size=20), some.integers(50, 20_000))
def test_a_transcript_is_never_longer_than_allowed(texts: list[str], characters: int) -> None:
    assert len(transcript([message("user", text) for text in texts], characters)) <= characters


def test_long_entries_are_shortened_before_old_ones_go() -> None:
    told = transcript([message("user", "first"), message("user", "x" * 50_000), message("user", "last")], 3_000)

    assert "user] first" in told
    assert "user] last" in told
    assert "characters left out" in told


def test_a_shortened_text_keeps_both_ends() -> None:
    text = shortened("a" * 500 + "z" * 500, 100)

    assert (text[:10], text[-10:], len(text) <= 100) == ("a" * 10, "z" * 10, True)


def test_last_words_are_those_of_users_newest_last() -> None:
    talk = [message("user", f"wish {number}") for number in range(9)] + [message("assistant", "Granted.")]

    assert last_words(talk, 22) == "- wish 7\n- wish 8"


def test_later_settings_count_before_earlier_ones() -> None:
    settings = settings_of({"mode": "all", "prompt": "Short."}, None, {"prompt": "Long.", "clip_chars": None})

    assert (settings.mode, settings.prompt, settings.clip_chars) == ("all", "Long.", None)


def test_settings_that_cannot_be_read_are_the_defaults() -> None:
    assert settings_of({"mode": "everything"}).mode == "sliding_window"


@given(some.lists(some.tuples(some.sampled_from(["conv-1", "conv-2"]), some.integers(1, 30)), max_size=30, unique=True))
def test_stretches_hold_exactly_their_places_in_order(places: list[tuple[str, int]]) -> None:
    found = [(each.conversation, seq) for each in stretches(places) for seq in range(each.first, (each.last or 0) + 1)]

    assert found == places


def test_a_growing_window_is_one_stretch_while_it_can_be() -> None:
    together = growing([("conv-1", 3), ("conv-1", 4)], "conv-1", 5)
    apart = growing([("conv-2", 1), ("conv-1", 3)], "conv-1", 5)

    assert together == [Segment(conversation="conv-1", first=3)]
    assert apart[-1] == Segment(conversation="conv-1", first=5)
    assert len(apart) == 3
    assert growing([], "conv-1", 5) == [Segment(conversation="conv-1", first=5)]
