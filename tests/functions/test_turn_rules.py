"""Turns under tool rules, through the handlers: what is offered, refused, filled in, asked for again, and ended."""

import json
from typing import Any

import pytest

from tests.doubles.models import both, calls, says
from tests.doubles.provider_shapes import StrictModel
from tests.doubles.system import Answer, System

Rule = dict[str, Any]
ALL = {"conversation_search", "memory_insert", "memory_replace"}
INSERT = calls("memory_insert", {"label": "human", "new_string": "Likes tea."}, id="call_insert")
REPLACE = calls("memory_replace", {"label": "human", "old_string": "x", "new_string": "Priya"}, id="call_replace")
SEARCH = calls("conversation_search", {"query": "tea"}, id="call_search")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> StrictModel:
    strict = StrictModel()
    monkeypatch.setattr("agentkeep.loop.driver.complete", strict)
    return strict


def ruled(system: System, *rules: Rule, **fields: Any) -> str:
    """An agent with these rules and a block `human`."""
    agent = system.new_agent(tool_rules=list(rules), memory_blocks=[{"label": "human", "value": "x"}], **fields)
    return str(agent["id"])


def human(system: System, agent: str) -> Any:
    return system.call("agents", "GET", f"/v1/agents/{agent}/core-memory/blocks/human").body["value"]


def offered(model: StrictModel) -> list[set[str]]:
    return [{tool.name for tool in request.tools} for request in model.requests]


def returns(answer: Answer) -> list[tuple[str, str]]:
    assert answer.status == 200, answer.body
    found = [message for message in answer.body["messages"] if message["message_type"] == "tool_return_message"]
    return [(each["status"], each["tool_return"]) for message in found for each in message["tool_returns"]]


def reason(answer: Answer) -> str:
    return str(answer.body["stop_reason"]["stop_reason"])


def test_a_first_tool_is_offered_alone_and_forced_where_the_model_lets_itself_be(
    system: System, model: StrictModel
) -> None:
    agent = ruled(system, {"type": "run_first", "tool_name": "memory_insert"})
    model.script = [INSERT, says("Noted.")]

    answer = system.send(agent, "I like tea.")

    assert offered(model) == [{"memory_insert"}, ALL]
    start, later = model.sent
    assert start["openai/gpt-4o-mini"]["tool_choice"] == {"type": "function", "function": {"name": "memory_insert"}}
    assert start["anthropic/claude-haiku-4-5"]["tool_choice"] == {
        "type": "tool",
        "name": "memory_insert",
        "disable_parallel_tool_use": True,
    }
    assert start["anthropic/claude-opus-5-5"]["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert "tool_choice" not in later["openai/gpt-4o-mini"]
    assert reason(answer) == "end_turn"


def test_arguments_of_a_rule_win_over_the_models_and_the_history_shows_what_was_run(
    system: System, model: StrictModel
) -> None:
    rule = {"type": "run_first", "tool_name": "memory_insert", "args": {"new_string": "Set by a rule."}}
    agent = ruled(system, rule)
    model.script = [INSERT, says("Noted.")]

    answer = system.send(agent, "I like tea.")

    call = answer.body["messages"][0]["tool_call"]
    assert json.loads(call["arguments"]) == {"label": "human", "new_string": "Set by a rule."}
    assert human(system, agent) == "x\nSet by a rule."
    assert "Set by a rule." in model.requests[1].messages[-2].tool_calls[0].arguments


def test_arguments_of_a_rule_complete_a_call_without_any(system: System, model: StrictModel) -> None:
    args = {"label": "human", "new_string": "Set by a rule."}
    agent = ruled(system, {"type": "run_first", "tool_name": "memory_insert", "args": args})
    model.script = [calls("memory_insert", ""), says("Noted.")]

    assert returns(system.send(agent, "Go."))[0][0] == "success"


def test_a_first_call_whose_arguments_cannot_be_read_is_still_due(system: System, model: StrictModel) -> None:
    args = {"new_string": "Set by a rule."}
    agent = ruled(system, {"type": "run_first", "tool_name": "memory_insert", "args": args})
    model.script = [calls("memory_insert", "{broken"), INSERT, says("Noted.")]

    answer = system.send(agent, "Go.")

    assert [status for status, _ in returns(answer)] == ["error", "success"]
    assert offered(model) == [{"memory_insert"}, {"memory_insert"}, ALL]
    assert human(system, agent) == "x\nSet by a rule."


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"text": "x"}, "memory_insert has no argument 'text'."),
        ({"insert_line": "end"}, "The argument 'insert_line' of memory_insert must be a whole number"),
    ],
)
def test_arguments_of_a_rule_that_do_not_fit_the_tool_end_the_run(
    system: System, model: StrictModel, args: dict[str, Any], words: str
) -> None:
    agent = ruled(system, {"type": "run_first", "tool_name": "memory_insert", "args": args})
    model.script = [INSERT]

    answer = system.send(agent, "I like tea.")

    [(status, text)] = returns(answer)
    assert status == "error"
    assert text.startswith(
        f"The arguments that the agent's tool rules set (run_first of memory_insert) do not fit: {words}"
    )
    assert reason(answer) == "invalid_tool_call"
    assert human(system, agent) == "x"
    run = system.call("runs", "GET", f"/v1/runs/{answer.body['messages'][0]['run_id']}").body
    assert (run["status"], run["stop_reason"]) == ("failed", "invalid_tool_call")


def test_right_after_a_tool_only_its_children_are_offered_and_run(system: System, model: StrictModel) -> None:
    nodes = [{"name": "memory_replace", "args": {"new_string": "Set by a rule."}}]
    rule = {
        "type": "constrain_child_tools",
        "tool_name": "conversation_search",
        "children": ["memory_replace"],
        "child_arg_nodes": nodes,
    }
    agent = ruled(system, rule)
    model.script = [SEARCH, INSERT, REPLACE, says("Noted.")]

    answer = system.send(agent, "I like tea.")

    assert offered(model) == [ALL, {"memory_replace"}, {"memory_replace"}, ALL]
    assert returns(answer)[1] == (
        "error",
        "[ToolConstraintError] Cannot call memory_insert, valid tools include: ['memory_replace']."
        " What follows conversation_search is a call of memory_replace.",
    )
    assert human(system, agent) == "Set by a rule."
    assert reason(answer) == "end_turn"


def test_a_child_runs_only_right_after_its_parent(system: System, model: StrictModel) -> None:
    rule = {"type": "parent_last_tool", "tool_name": "conversation_search", "children": ["memory_insert"]}
    agent = ruled(system, rule)
    model.script = [INSERT, SEARCH, INSERT, says("Noted.")]

    answer = system.send(agent, "I like tea.")

    assert [status for status, _ in returns(answer)] == ["error", "success", "success"]
    assert "memory_insert may be called only right after conversation_search." in returns(answer)[0][1]
    assert offered(model) == [
        ALL - {"memory_insert"},
        ALL - {"memory_insert"},
        {"memory_insert"},
        ALL - {"memory_insert"},
    ]
    assert human(system, agent) == "x\nLikes tea."


def test_the_return_of_a_tool_says_what_comes_next(system: System, model: StrictModel) -> None:
    mapping = {"x\nLikes tea.": "conversation_search", "x": "memory_insert"}
    rule = {
        "type": "conditional",
        "tool_name": "memory_insert",
        "child_output_mapping": mapping,
        "default_child": "memory_replace",
    }
    agent = ruled(system, rule)
    model.script = [INSERT, SEARCH, INSERT, REPLACE, says("Noted.")]

    answer = system.send(agent, "I like tea.")

    assert [tools for tools in offered(model) if tools != ALL] == [{"conversation_search"}, {"memory_replace"}]
    assert [status for status, _ in returns(answer)] == ["success"] * 4


def test_where_no_tool_may_be_called_calls_are_forbidden_and_words_end_the_turn(
    system: System, model: StrictModel
) -> None:
    rule = {
        "type": "conditional",
        "tool_name": "memory_insert",
        "child_output_mapping": {"never": "memory_replace"},
        "require_output_mapping": True,
    }
    agent = ruled(system, rule)
    model.script = [INSERT, REPLACE, says("I cannot go on.")]

    answer = system.send(agent, "I like tea.")

    assert offered(model) == [ALL, ALL, ALL]
    assert model.sent[1]["openai/gpt-4o-mini"]["tool_choice"] == "none"
    assert model.sent[1]["anthropic/claude-opus-5-5"]["tool_choice"] == {"type": "none"}
    assert "valid tools include: []. What follows memory_insert is a call of no tool." in returns(answer)[1][1]
    assert reason(answer) == "end_turn"


def test_a_tool_runs_as_often_as_its_limit_says(system: System, model: StrictModel) -> None:
    agent = ruled(system, {"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 2})
    model.script = [INSERT, INSERT, INSERT, says("Noted.")]

    answer = system.send(agent, "I like tea.")

    assert [status for status, _ in returns(answer)] == ["success", "success", "error"]
    assert "memory_insert may be called 2 times in a turn." in returns(answer)[2][1]
    assert human(system, agent) == "x\nLikes tea.\nLikes tea."


def test_a_limit_holds_among_parallel_calls_and_starts_anew_with_each_turn(system: System, model: StrictModel) -> None:
    rule = {"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 1}
    agent = ruled(system, rule, parallel_tool_calls=True)
    second = calls("memory_insert", {"label": "human", "new_string": "Likes it hot."}, id="call_2")
    model.script = [both(INSERT, second, SEARCH), says("Noted."), INSERT, says("Again.")]

    first_turn, second_turn = system.send(agent, "I like tea."), system.send(agent, "And again.")

    assert [status for status, _ in returns(first_turn)] == ["success", "error", "success"]
    assert [status for status, _ in returns(second_turn)] == ["success"]
    assert human(system, agent) == "x\nLikes tea.\nLikes tea."
    assert model.sent[0]["openai/gpt-4o-mini"]["parallel_tool_calls"] is False


def test_an_exit_tool_ends_the_turn(system: System, model: StrictModel) -> None:
    agent = ruled(system, {"type": "exit_loop", "tool_name": "memory_insert"})
    model.script = [SEARCH, INSERT]

    answer = system.send(agent, "I like tea.")

    assert reason(answer) == "tool_rule"
    assert (len(model.requests), len(returns(answer))) == (2, 2)
    run = system.call("runs", "GET", f"/v1/runs/{answer.body['messages'][0]['run_id']}").body
    assert (run["status"], run["stop_reason"]) == ("completed", "tool_rule")


def test_a_turn_goes_on_until_required_tools_were_called(system: System, model: StrictModel) -> None:
    agent = ruled(
        system,
        {"type": "required_before_exit", "tool_name": "memory_insert"},
        {"type": "exit_loop", "tool_name": "conversation_search"},
    )
    model.script = [says("Done."), says(""), SEARCH, INSERT, says("Now I am done.")]

    answer = system.send(agent, "I like tea.")

    assert reason(answer) == "end_turn"
    said = [message["content"] for message in answer.body["messages"] if message["message_type"] == "assistant_message"]
    assert said == ["Done.", "Now I am done."]
    assert model.requests[1].messages[-1].role == "system"
    assert model.requests[1].messages[-1].text.startswith("Your turn cannot end yet: these tools still have to be")
    assert human(system, agent) == "x\nLikes tea."


def test_a_turn_without_its_required_tool_ends_with_its_steps(system: System, model: StrictModel) -> None:
    agent = ruled(system, {"type": "required_before_exit", "tool_name": "memory_insert"})

    answer = system.send(agent, "I like tea.", max_steps=3)

    assert (reason(answer), len(model.requests)) == ("max_steps", 3)
    history = system.call("messages", "GET", f"/v1/agents/{agent}/messages", query={"order": "asc"}).body
    assert [each["message_type"] for each in history][-6:] == [
        "user_message", "assistant_message", "system_message", "assistant_message", "system_message",
        "assistant_message",
    ]  # fmt: skip


def test_a_model_that_only_talks_where_a_call_is_due_is_given_up(system: System, model: StrictModel) -> None:
    agent = ruled(system, {"type": "run_first", "tool_name": "memory_insert"})

    answer = system.send(agent, "I like tea.")

    assert (reason(answer), len(model.requests)) == ("no_tool_call", 3)
    assert system.send(agent, "Still there?").status == 200


def test_rules_about_tools_that_do_not_exist_change_nothing(system: System, model: StrictModel) -> None:
    agent = ruled(
        system,
        {"type": "run_first", "tool_name": "launch_rocket"},
        {"type": "required_before_exit", "tool_name": "launch_rocket"},
        {"type": "exit_loop", "tool_name": "launch_rocket"},
    )
    model.script = [INSERT, says("Noted.")]

    answer = system.send(agent, "I like tea.")

    assert (reason(answer), offered(model)) == ("end_turn", [ALL, ALL])


def test_a_legacy_agents_message_ends_its_turn_as_it_always_did(system: System, model: StrictModel) -> None:
    agent = ruled(system, {"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 1},
                  agent_type="memgpt_v2_agent")  # fmt: skip
    model.script = [INSERT, calls("send_message", {"message": "Noted."}, id="call_2")]

    answer = system.send(agent, "I like tea.")

    assert reason(answer) == "end_turn"
    assert answer.body["messages"][-1]["content"] == "Noted."


def test_a_legacy_agents_message_that_cannot_be_read_is_sent_again(system: System, model: StrictModel) -> None:
    agent = ruled(system, agent_type="memgpt_v2_agent")
    model.script = [calls("send_message", "{broken"), calls("send_message", {"message": "Hello."}, id="call_2")]

    answer = system.send(agent, "Hi.")

    assert (reason(answer), answer.body["messages"][-1]["content"]) == ("end_turn", "Hello.")


def test_rules_are_changed_shown_and_taken_away_by_an_update(system: System, model: StrictModel) -> None:
    agent = ruled(system, {"type": "exit_loop", "tool_name": "memory_insert"})
    rule = {"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 0}

    changed = system.call("agents", "PATCH", f"/v1/agents/{agent}", {"tool_rules": [rule]})
    system.send(agent, "I like tea.")
    shown = system.call("agents", "GET", f"/v1/agents/{agent}").body
    system.call("agents", "PATCH", f"/v1/agents/{agent}", {"tool_rules": []})
    system.send(agent, "I like tea.")

    assert changed.body["tool_rules"] == shown["tool_rules"] == [{**rule, "prompt_template": None}]
    assert offered(model) == [ALL - {"memory_insert"}, ALL]


def test_a_rule_that_does_not_fit_is_refused_and_nothing_changes(system: System, model: StrictModel) -> None:
    agent = ruled(system, {"type": "exit_loop", "tool_name": "memory_insert"})

    answer = system.call("agents", "PATCH", f"/v1/agents/{agent}", {"tool_rules": [{"type": "conditional",
                         "tool_name": "memory_insert"}]})  # fmt: skip

    assert answer.status == 422
    assert "tool_rules.0: the rule 'conditional' needs 'child_output_mapping'" in str(answer.body["detail"])
    shown = system.call("agents", "GET", f"/v1/agents/{agent}").body["tool_rules"]
    assert [each["type"] for each in shown] == ["exit_loop"]
