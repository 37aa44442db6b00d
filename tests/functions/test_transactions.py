"""Many writes in as few transactions as hold them, the decisive ones together."""

from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkeep.store import database
from agentkeep.store.database import Write
from agentkeep.store.keys import Key

LIMIT_WRITES, LIMIT_BYTES = 100, 4 * 1024 * 1024


def write_of(number: int, size: int) -> Write:
    return database.put("entities", Key("p", f"{number}"), {"data": "x" * size})


def split(writes: Sequence[Write], decisive: Literal["first", "last"]) -> list[list[Write]]:
    """The transactions that `transact_all` makes."""
    parts: list[list[Write]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "transact", lambda part: parts.append(list(part)))
        database.transact_all(writes, decisive)
    return parts


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0, 300, 40_000, 131_072]), min_size=1, max_size=350), st.sampled_from(["first", "last"])
)
def test_every_write_happens_once_in_order_and_no_transaction_is_too_large(
    sizes: list[int], decisive: Literal["first", "last"]
) -> None:
    writes = [write_of(number, size) for number, size in enumerate(sizes)]

    parts = split(writes, decisive)

    assert [write for part in parts for write in part] == writes
    assert all(len(part) <= LIMIT_WRITES for part in parts)
    assert all(sum(len(write.item["data"]) for write in part) < LIMIT_BYTES for part in parts)
    assert database.fits_one_transaction(writes) == (len(parts) == 1)


def test_what_decides_goes_with_as_much_as_fits() -> None:
    writes = [write_of(number, 10) for number in range(250)]

    assert [len(part) for part in split(writes, "first")] == [100, 100, 50]
    assert [len(part) for part in split(writes, "last")] == [50, 100, 100]


def test_large_writes_fill_a_transaction_before_a_hundred_do() -> None:
    writes = [write_of(number, 130_000) for number in range(60)]

    assert [len(part) for part in split(writes, "last")] == [8, 26, 26]
