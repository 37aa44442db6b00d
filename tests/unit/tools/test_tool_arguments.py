"""Reading the arguments of a call: what is forgiven, what is refused, and what the refusal says."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkeep.tools.arguments import ToolArgumentsError, parse
from agentkeep.tools.definition import boolean, integer, objects, parameters, string, strings

PARAMETERS = parameters(
    {
        "label": string("Label."),
        "line": integer("Line."),
        "loud": boolean("Loud."),
        "colour": string("Colour.", ["red", "blue"]),
        "tags": strings("Tags."),
        "sides": strings("Sides.", ["left", "right"]),
        "parts": objects("Parts.", {"name": string("Name.")}, ["name"]),
        "new_string": string("New text."),
    },
    required=["label"],
)


def read(**arguments: Any) -> dict[str, Any]:
    return parse("paint", json.dumps(arguments), PARAMETERS)


def refusal(text: str) -> str:
    with pytest.raises(ToolArgumentsError) as refused:
        parse("paint", text, PARAMETERS)
    return refused.value.message


def test_well_formed_arguments_are_read() -> None:
    given = {"label": "a", "line": 3, "loud": True, "colour": "red", "tags": ["x", "y"], "parts": [{"name": "n"}]}

    assert read(**given) == given


@pytest.mark.parametrize(
    ("name", "sent", "taken"),
    [
        ("line", "3", 3),
        ("line", " -1 ", -1),
        ("line", 3.0, 3),
        ("line", "3.0", 3),
        ("loud", "true", True),
        ("loud", "False", False),
        ("label", 42, "42"),
        ("label", 1.5, "1.5"),
        ("tags", "one", ["one"]),
        ("tags", [1, "two"], ["1", "two"]),
        ("label", "a\0b", "ab"),
        ("tags", ["a\0"], ["a"]),
    ],
)
def test_what_is_meant_is_taken(name: str, sent: object, taken: object) -> None:
    assert read(**{"label": "a", name: sent})[name] == taken


def test_null_and_absent_are_the_same() -> None:
    assert read(label="a", line=None, tags=None) == {"label": "a"}


def test_what_legacy_agents_add_is_dropped() -> None:
    assert read(label="a", request_heartbeat=True, thinking="hm", inner_thoughts="hm") == {"label": "a"}


def test_a_former_name_is_understood() -> None:
    assert read(label="a", new_str="x") == {"label": "a", "new_string": "x"}


@pytest.mark.parametrize("text", ["", "  ", "{}", "null-free"])
def test_nothing_given_is_a_missing_argument_or_broken(text: str) -> None:
    assert "paint" in refusal(text)


def test_a_tool_without_parameters_takes_no_text_at_all() -> None:
    assert parse("rest", "", parameters({})) == {}


def test_a_missing_argument_is_named_with_what_it_should_be() -> None:
    assert refusal("{}") == (
        "paint needs the argument 'label' (a string). Required: label."
        " Optional: line, loud, colour, tags, sides, parts, new_string."
    )
    assert "needs the argument 'label'" in refusal('{"label": null}')


def test_an_unknown_argument_is_named_with_the_ones_there_are() -> None:
    assert refusal('{"label": "a", "wrong": 1}') == (
        "paint has no argument 'wrong'. It takes: label, line, loud, colour, tags, sides, parts, new_string."
    )


def test_a_former_name_of_something_the_tool_does_not_have_is_unknown() -> None:
    assert "has no argument 'old_str'" in refusal('{"label": "a", "old_str": "x"}')


@pytest.mark.parametrize(
    ("name", "sent", "wanted"),
    [
        ("label", ["a"], "must be a string, not a list"),
        ("label", {"a": 1}, "must be a string, not an object"),
        ("label", True, "must be a string, not true"),
        ("line", "three", 'must be a whole number, not "three"'),
        ("line", 3.5, "must be a whole number, not 3.5"),
        ("line", True, "must be a whole number, not true"),
        ("line", "9" * 100, "must be a whole number, not"),
        ("loud", "maybe", 'must be true or false, not "maybe"'),
        ("loud", 1, "must be true or false, not 1"),
        ("colour", "green", 'must be one of red, blue, not "green"'),
        ("tags", 3, "must be a list, not 3"),
        ("tags", [["a"]], "must be a string, not a list"),
        ("sides", ["up"], 'must be one of left, right, not "up"'),
        ("sides", 3, "must be a list: left, right, not 3"),
        ("parts", ["a"], 'must be an object, not "a"'),
    ],
)
def test_a_wrong_type_is_named_with_what_it_should_be(name: str, sent: object, wanted: str) -> None:
    message = refusal(json.dumps({"label": "a", name: sent}))

    assert message.startswith(f"The argument '{name}' of paint {wanted}")


@pytest.mark.parametrize(
    "text", ['{"label": "a"', "label=a", '{"label": NaN-}', "{" * 100_000, '{"line": ' + "9" * 5000 + "}"]
)
def test_broken_json_is_told_with_what_to_send(text: str) -> None:
    message = refusal(text)

    assert message.startswith("The arguments of paint are not valid JSON (")
    assert "Send one JSON object. Required: label." in message


@pytest.mark.parametrize("text", ["[]", '"label"', "3", "null"])
def test_json_that_is_no_object_is_refused(text: str) -> None:
    assert refusal(text).startswith("The arguments of paint must be one JSON object. Required: label.")


def test_a_long_value_is_quoted_in_part() -> None:
    assert len(refusal(json.dumps({"label": "a", "line": "x" * 10_000}))) < 300


SCALARS = [
    None,
    True,
    False,
    0,
    -3,
    2.0,
    0.5,
    float("nan"),
    "",
    "3",
    "true",
    "red",
    "left",
    "a\0",
    "\ud800",
    "\U0001f600",
]
JSON = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "x"]), inner, max_size=2),
    max_leaves=4,
)
TYPES = {"label": str, "line": int, "loud": bool, "colour": str, "tags": list, "sides": list, "parts": list}


def outcome(text: str) -> dict[str, Any] | ToolArgumentsError:
    try:
        return parse("paint", text, PARAMETERS)
    except ToolArgumentsError as refused:
        return refused


@given(st.dictionaries(st.sampled_from(list(PARAMETERS["properties"])), JSON))
def test_whatever_is_sent_is_either_of_the_right_type_or_refused(arguments: dict[str, Any]) -> None:
    read = outcome(json.dumps(arguments))

    if isinstance(read, ToolArgumentsError):
        assert read.message.encode("utf-8")
    else:
        assert all(type(value) is TYPES.get(name, str) for name, value in read.items())


@given(st.text('{}[]":,label3 \\u\0\ud800'))
def test_no_text_makes_reading_fail_in_another_way(text: str) -> None:
    read = outcome(text)

    assert "paint" in read.message if isinstance(read, ToolArgumentsError) else "label" in read
