"""What is logged of an error that nobody foresaw: its kind, its place and its causes, not its text."""

import pytest
from pydantic import TypeAdapter

from agentkeep.unforeseen import log_unforeseen

QUOTED = "Ada owes Bob"


def _fails() -> None:
    try:
        TypeAdapter(int).validate_python(QUOTED)
    except ValueError as error:
        raise RuntimeError(str(error)) from error


def test_kind_place_and_causes_are_logged_and_no_text(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RuntimeError, match=QUOTED) as raised:
        _fails()

    log_unforeseen(raised.value, "request 'r-1'")

    (record,) = caplog.records
    text = record.getMessage()
    assert (record.levelname, record.exc_info) == ("ERROR", None)
    assert text.startswith("Unforeseen RuntimeError during request 'r-1':\n")
    assert text.index("ValidationError") < text.index("which led to") < text.index("builtins.RuntimeError")
    assert "in _fails" in text
    assert QUOTED not in caplog.text


def test_a_ring_of_causes_has_an_end(caplog: pytest.LogCaptureFixture) -> None:
    first, second = RuntimeError("one"), KeyError("two")
    first.__cause__, second.__cause__ = second, first

    log_unforeseen(first, "a trial")

    assert caplog.records[0].getMessage().count("which led to") == 1
