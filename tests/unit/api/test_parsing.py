"""Bodies and query strings, good and bad: what comes through, cleaned, and what the refusals say."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from agentkeep.api.parsing import parse_body, parse_query
from agentkeep.api.requests.fields import Body, CommaSeparated, Count, LegacyPage, Query, Since, Until
from agentkeep.errors import InvalidRequestError
from tests.unit.api.proxy import proxy_event


class Inner(Body):
    name: str


class Sample(Body):
    name: str
    size: Count = 1
    inner: Inner | None = None
    metadata: dict[str, Any] | None = None


class Search(LegacyPage):
    tags: list[str] = Field(default_factory=list)
    kinds: CommaSeparated[str] = Field(default_factory=list)
    deep: bool = False


def body(text: object) -> Sample:
    return parse_body(proxy_event("POST", "/v1/x", text), Sample)


def refusal(text: object) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        body(text)
    return caught.value.message


def query(text: str) -> Search:
    return parse_query(proxy_event("GET", f"/v1/x?{text}"), Search)


def test_unknown_fields_are_ignored() -> None:
    assert body({"name": "a", "colour": "red"}).model_dump(exclude_unset=True) == {"name": "a"}


def test_a_body_in_base64_is_read() -> None:
    event = proxy_event("POST", "/v1/x") | {
        "body": base64.b64encode(b'{"name": "a"}').decode(),
        "isBase64Encoded": True,
    }

    assert parse_body(event, Sample).name == "a"


def test_nul_and_lone_surrogates_are_cleaned_at_every_depth() -> None:
    sent = '{"name": "a\\u0000b", "metadata": {"k\\u0000": ["\\ud83d", {"x": "\\ud83d\\ude00"}]}}'

    read = body(sent)

    assert read.name == "ab"
    assert read.metadata == {"k": ["\ufffd", {"x": "😀"}]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "body: is not valid JSON"),
        ('"text"', 'body: should be a JSON object such as {...}, not "text".'),
        ("[1]", "body: should be a JSON object such as {...}, not an array."),
        ("null", "body: should be a JSON object such as {...}, not null."),
        ('{"name": "a", "size": NaN}', "body: holds NaN, which is not a number in JSON"),
        ('{"name": "a", "size": -Infinity}', "body: holds -Infinity"),
        ('{"name": "a", "metadata": {"x": 1e999}}', "body: holds the number 1e999, which is out of range."),
        ('{"name": "a", "metadata": {"x": ' + "9" * 5000 + "}}", "body: is not valid JSON"),
        ("{", "body: is not valid JSON"),
        ("", "name: Field required."),
        ({"name": 5}, "name: Input should be a valid string; it was 5."),
        ({"name": None}, "name: Input should be a valid string; it was null."),
        ({"name": ["a"]}, "name: Input should be a valid string; it was an array."),
        ({"name": "a", "size": "2"}, 'size: Input should be a valid integer; it was "2".'),
        ({"name": "a", "size": True}, "size: Input should be a valid integer; it was true."),
        ({"name": "a", "size": 0}, "size: Input should be greater than or equal to 1; it was 0."),
        ({"name": "a", "inner": {"name": {}}}, "inner.name: Input should be a valid string; it was an object."),
        ({"size": 0}, "name: Field required. (and 1 more)"),
    ],
)
def test_a_refusal_names_the_field_and_what_came(text: object, words: str) -> None:
    assert refusal(text).startswith(words)


@pytest.mark.parametrize("depth", [101, 5_000, 200_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    assert "nests deeper than 100 levels" in refusal(
        '{"name": "a", "metadata": ' + '{"a":' * depth + "1" + "}" * depth + "}"
    )


def test_nesting_as_deep_as_json_schemas_is_taken() -> None:
    nested = '{"a":' * 90 + "1" + "}" * 90

    assert body(f'{{"name": "a", "metadata": {nested}}}').metadata == json.loads(nested)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_never_fails(text: str) -> None:
    try:
        body(text)
    except InvalidRequestError as error:
        assert error.message  # noqa: PT017


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_any_json_value_is_read_or_refused_and_never_fails(value: object) -> None:
    try:
        body({"name": "a", "metadata": value})
    except InvalidRequestError as error:
        assert error.message  # noqa: PT017


def test_repeated_keys_make_a_list_and_the_last_of_a_scalar_counts() -> None:
    read = query("tags=a&tags=b,c&kinds=x,y&kinds=z&limit=3&limit=5")

    assert (read.tags, read.kinds, read.limit) == (["a", "b,c"], ["x", "y", "z"], 5)


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("1", True), ("True", True), ("false", False), ("0", False)]
)
def test_booleans_are_words_or_digits(text: str, value: bool) -> None:
    assert query(f"deep={text}").deep is value


def test_an_empty_value_counts_as_not_given() -> None:
    assert query("after=&limit=&tags=") == query("")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limit=0", 'limit: Input should be greater than or equal to 1; it was "0".'),
        ("limit=1001", 'limit: Input should be less than or equal to 1000; it was "1001".'),
        ("limit=ten", "limit: Input should be a valid integer"),
        ("order=up", "order: Input should be 'asc' or 'desc'; it was \"up\"."),
        ("deep=perhaps", "deep: Input should be a valid boolean"),
    ],
)
def test_a_query_that_does_not_fit_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        query(text)
    assert caught.value.message.startswith(words)


@pytest.mark.parametrize(
    ("text", "descending"),
    [
        ("", True),
        ("order=asc", False),
        ("order=desc", True),
        ("ascending=true", False),
        ("ascending=true&order=desc", True),
    ],
)
def test_the_older_name_of_an_order_is_understood(text: str, descending: bool) -> None:
    assert query(text).page().descending is descending


def test_a_page_holds_cursors() -> None:
    page = query("after=agent-1&before=agent-9&limit=7").page()

    assert (page.after, page.before, page.limit) == ("agent-1", "agent-9", 7)


class Days(Query):
    since: Since | None = None
    until: Until | None = None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("since=2026-01-31", "2026-01-31T00:00:00+00:00"),
        ("until=2026-01-31", "2026-01-31T23:59:59.999999+00:00"),
        ("since=2026-01-31T10:00:00Z", "2026-01-31T10:00:00+00:00"),
        ("since=2026-01-31T10:00:00%2B02:00", "2026-01-31T10:00:00+02:00"),
        ("since=2026-01-31T10:00:00+02:00", "2026-01-31T10:00:00+02:00"),
        ("since=2026-01-31%2010:00:00", "2026-01-31T10:00:00+00:00"),
    ],
)
def test_dates_are_iso_8601_in_utc_unless_they_say_otherwise(text: str, moment: str) -> None:
    read = parse_query(proxy_event("GET", f"/v1/x?{text}"), Days)

    assert (read.since or read.until).isoformat() == moment  # type: ignore[union-attr]


def test_a_date_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="since: "):
        parse_query(proxy_event("GET", "/v1/x?since=yesterday"), Days)
