"""Which tools the rules allow next, one kind of rule after the other, and what they ask of the next request."""

from typing import Any

import pytest

from agentkeep.loop.rules.kinds import stored
from agentkeep.loop.rules.solver import Called, Prefilled, Solver

TOOLS = ("search", "read", "write", "notify")
Fields = dict[str, Any]


def solver(*rules: Fields, past: str = "", output: str = "") -> Solver:
    """The rules after the calls named in `past`, of which the newest returned `output`."""
    names = past.split()
    calls = [Called(name, output if number == len(names) else "") for number, name in enumerate(names, 1)]
    return Solver(stored(rules), TOOLS, calls)


def first(tool: str, **fields: Any) -> Fields:
    return {"type": "run_first", "tool_name": tool, **fields}


def children(tool: str, *names: str, **fields: Any) -> Fields:
    return {"type": "constrain_child_tools", "tool_name": tool, "children": list(names), **fields}


def parent(tool: str, *names: str) -> Fields:
    return {"type": "parent_last_tool", "tool_name": tool, "children": list(names)}


def at_most(tool: str, count: int) -> Fields:
    return {"type": "max_count_per_step", "tool_name": tool, "max_count_limit": count}


def required(tool: str) -> Fields:
    return {"type": "required_before_exit", "tool_name": tool}


def conditional(tool: str, mapping: dict[str, str], **fields: Any) -> Fields:
    return {"type": "conditional", "tool_name": tool, "child_output_mapping": mapping, **fields}


def test_without_rules_every_tool_may_be_called_and_none_is_asked_for() -> None:
    free = solver()

    assert (free.valid, free.choice, free.owed, free.missing, free.orders) == (list(TOOLS), None, [], [], False)


class TestRunFirst:
    def test_only_first_tools_start_a_turn(self) -> None:
        start = solver(first("write"), first("search"))

        assert (start.valid, start.choice, start.owed) == (["search", "write"], "required", ["search", "write"])

    def test_a_single_first_tool_is_forced_by_name(self) -> None:
        assert solver(first("search")).choice == "search"

    def test_after_any_call_the_turn_is_free(self) -> None:
        later = solver(first("search"), past="search")

        assert (later.valid, later.choice, later.owed) == (list(TOOLS), None, [])

    def test_a_first_tool_that_the_agent_does_not_have_asks_for_nothing(self) -> None:
        assert solver(first("fly")).valid == list(TOOLS)

    def test_it_may_start_a_turn_though_it_is_a_child(self) -> None:
        assert solver(first("write"), parent("read", "write")).valid == ["write"]


class TestChildren:
    def test_right_after_the_tool_one_of_its_children_is_called(self) -> None:
        after = solver(children("search", "write", "read"), past="search")

        assert (after.valid, after.choice, after.owed) == (["read", "write"], "required", ["read", "write"])

    def test_before_it_and_later_nothing_is_constrained(self) -> None:
        assert solver(children("search", "read")).valid == list(TOOLS)
        assert solver(children("search", "read"), past="search read").valid == list(TOOLS)

    def test_two_rules_about_one_tool_both_hold(self) -> None:
        after = solver(children("search", "read", "write"), children("search", "write", "notify"), past="search")

        assert (after.valid, after.choice) == (["write"], "write")

    def test_no_tool_may_be_called_where_the_agent_has_none_of_the_children(self) -> None:
        stuck = solver(children("search", "fly"), past="search")

        assert (stuck.valid, stuck.choice, stuck.owed) == ([], "none", [])


class TestParents:
    def test_a_child_waits_for_its_parent(self) -> None:
        assert solver(parent("search", "read")).valid == ["search", "write", "notify"]
        assert solver(parent("search", "read"), past="search write").valid == ["search", "write", "notify"]

    def test_right_after_the_parent_only_its_children_may_be_called_but_words_will_do(self) -> None:
        after = solver(parent("search", "read"), past="search")

        assert (after.valid, after.choice, after.owed) == (["read"], "read", [])

    def test_a_child_of_two_parents_may_follow_either(self) -> None:
        rules = (parent("search", "read"), parent("write", "read"))

        assert solver(*rules, past="search").valid == ["read"]
        assert solver(*rules, past="write").valid == ["read"]
        assert solver(*rules, past="notify").valid == ["search", "write", "notify"]


class TestConditional:
    @pytest.mark.parametrize(
        ("output", "next_tool"),
        [
            ("found", "read"),
            ("true", "write"),
            ("True", "write"),
            ("3", "notify"),
            ("3.0", "notify"),
            ("0.5", "search"),
        ],
    )
    def test_the_return_says_what_comes_next(self, output: str, next_tool: str) -> None:
        mapping = {"found": "read", "true": "write", "3": "notify", "0.50": "search"}
        after = solver(conditional("search", mapping), past="search", output=output)

        assert (after.valid, after.choice, after.owed) == ([next_tool], next_tool, [next_tool])

    def test_the_key_that_is_the_very_text_goes_before_one_of_the_same_value(self) -> None:
        mapping = {"1.0": "write", "1": "read"}

        assert solver(conditional("search", mapping), past="search", output="1").valid == ["read"]

    def test_an_empty_text_is_a_return_like_any_other(self) -> None:
        rule = conditional("search", {"": "read"}, default_child="write")

        assert solver(rule, past="search", output="").valid == ["read"]

    def test_without_a_match_the_default_comes_next_or_whatever_the_model_likes(self) -> None:
        mapping = {"found": "read"}
        told = solver(conditional("search", mapping, default_child="write"), past="search", output="nothing")
        free = solver(conditional("search", mapping), past="search", output="nothing")

        assert (told.valid, told.choice) == (["write"], "write")
        assert (free.valid, free.choice, free.owed) == (list(TOOLS), None, [])

    def test_a_mapping_that_must_match_allows_nothing_without_a_match(self) -> None:
        rule = conditional("search", {"found": "read"}, default_child="write", require_output_mapping=True)
        stuck = solver(rule, past="search", output="nothing")

        assert (stuck.valid, stuck.choice, stuck.owed) == ([], "none", [])


class TestCounting:
    @pytest.mark.parametrize(("past", "left"), [("", True), ("search", True), ("search read search", False)])
    def test_each_call_counts_once(self, past: str, left: bool) -> None:
        assert ("search" in solver(at_most("search", 2), past=past).valid) == left

    def test_the_smaller_of_two_limits_holds(self) -> None:
        assert "search" not in solver(at_most("search", 3), at_most("search", 1), past="search").valid

    def test_required_tools_are_missing_until_they_were_called(self) -> None:
        assert solver(required("write"), required("notify")).missing == ["write", "notify"]
        assert solver(required("write"), required("notify"), past="notify").missing == ["write"]

    def test_a_required_tool_that_the_agent_does_not_have_is_not_missing(self) -> None:
        assert solver(required("fly")).missing == []


class TestPrefilled:
    def test_arguments_of_a_first_tool_hold_for_the_first_call(self) -> None:
        rules = first("search", args={"query": "news"})

        assert solver(rules).prefilled("search") == Prefilled({"query": "news"}, "run_first of search")
        assert solver(rules).prefilled("read") is None
        assert solver(rules, past="search").prefilled("search") is None

    def test_arguments_of_a_child_hold_right_after_its_parent(self) -> None:
        nodes = [{"name": "read", "args": {"page": 1}}, {"name": "write", "args": None}]
        rules = children("search", "read", "write", child_arg_nodes=nodes)

        assert solver(rules, past="search").prefilled("read") == Prefilled(
            {"page": 1}, "constrain_child_tools of search"
        )
        assert solver(rules, past="search").prefilled("write") is None
        assert solver(rules, past="write").prefilled("read") is None

    def test_of_two_rules_the_later_one_wins(self) -> None:
        rules = (first("search", args={"query": "a", "limit": 1}), first("search", args={"query": "b"}))

        assert solver(*rules).prefilled("search") == Prefilled(
            {"query": "b", "limit": 1}, "run_first of search, run_first of search"
        )


def test_approval_says_nothing_about_order() -> None:
    approval = solver({"type": "requires_approval", "tool_name": "write"})

    assert (approval.valid, approval.choice, approval.orders) == (list(TOOLS), None, False)


@pytest.mark.parametrize(
    ("rules", "past", "name", "reasons"),
    [
        ([first("search"), first("read")], "", "write", ["A turn starts with a call of search or read."]),
        ([at_most("write", 1)], "write", "write", ["write may be called once in a turn."]),
        ([children("read", "write")], "read", "search", ["What follows read is a call of write."]),
        ([children("read")], "read", "search", ["What follows read is a call of no tool."]),
        ([parent("read", "write")], "search", "write", ["write may be called only right after read."]),
        ([at_most("write", 1)], "write", "fly", []),
    ],
)
def test_a_refusal_gives_its_reasons(rules: list[Fields], past: str, name: str, reasons: list[str]) -> None:
    assert list(solver(*rules, past=past).reasons(name)) == reasons
