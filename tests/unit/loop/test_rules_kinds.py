"""Tool rules as they are read: what is taken, and the sentences of what is not."""

from typing import Any

import pytest

from agentkeep.loop.rules.kinds import read, stored


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"type": "sometimes"}, "a tool rule's 'type' should be one of conditional, constrain_child_tools,"),
        ({}, "a tool rule's 'type' should be one of"),
        ({"type": "run_first"}, "a tool rule needs 'tool_name', the name of a tool"),
        ({"type": "exit_loop", "tool_name": ""}, "'tool_name' of the rule 'exit_loop': String should have at least 1"),
        ({"type": "constrain_child_tools", "tool_name": "a"}, "the rule 'constrain_child_tools' needs 'children'"),
        (
            {"type": "constrain_child_tools", "tool_name": "a", "children": ["b", 5]},
            "'children.1' of the rule 'constrain_child_tools': Input should be a valid string",
        ),
        (
            {"type": "constrain_child_tools", "tool_name": "a", "children": ["b"], "child_arg_nodes": [{"name": "c"}]},
            "'child_arg_nodes' names 'c', which is not among 'children'; add it there",
        ),
        ({"type": "max_count_per_step", "tool_name": "a"}, "the rule 'max_count_per_step' needs 'max_count_limit'"),
        (
            {"type": "max_count_per_step", "tool_name": "a", "max_count_limit": -1},
            "'max_count_limit' of the rule 'max_count_per_step': Input should be greater than or equal to 0",
        ),
        (
            {"type": "max_count_per_step", "tool_name": "a", "max_count_limit": "3"},
            "'max_count_limit' of the rule 'max_count_per_step': Input should be a valid integer",
        ),
        (
            {"type": "conditional", "tool_name": "a", "child_output_mapping": {}},
            "'child_output_mapping' of the rule 'conditional': Dictionary should have at least 1 item",
        ),
        (
            {"type": "exit_loop", "tool_name": "a", "max_count": 3},
            "the rule 'exit_loop' has no 'max_count'; it takes prompt_template, tool_name, type",
        ),
        (
            {"type": "run_first", "tool_name": "a", "args": ["x"]},
            "'args' of the rule 'run_first': Input should be a valid dictionary",
        ),
    ],
)
def test_a_rule_that_does_not_fit_is_refused_with_its_field(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as refusal:
        read(fields)

    assert str(refusal.value).startswith(words)


def test_a_rule_shows_every_field_of_its_kind() -> None:
    rule = read({"type": "constrain_child_tools", "tool_name": "a", "children": ["b"]})

    assert rule.model_dump() == {
        "type": "constrain_child_tools",
        "tool_name": "a",
        "children": ["b"],
        "child_arg_nodes": None,
        "prompt_template": None,
    }


def test_a_stored_rule_that_does_not_fit_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    rules = stored([{"type": "constrain_child_tools", "tool_name": "a"}, {"type": "exit_loop", "tool_name": "b"}])

    assert [rule.type for rule in rules] == ["exit_loop"]
    assert "the rule 'constrain_child_tools' needs 'children'" in caplog.text
