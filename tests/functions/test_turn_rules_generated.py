"""Any rules, any model, any moment of death: no run executes a call that its rules forbid, and every run ends.

What the rules forbid is said here a second time, call by call, and shares nothing with the solver.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkeep.errors import AgentKeepError
from agentkeep.loop import turns
from agentkeep.loop.request import Input, TurnRequest
from agentkeep.models import ModelAnswer, ModelRequest
from agentkeep.store.content import TextPart, ToolCall, ToolReturn
from agentkeep.tools.builtin import ToolContext
from agentkeep.tools.returns import success
from tests.doubles.faults import Death, Faults
from tests.doubles.models import both, calls, says
from tests.doubles.provider_shapes import bodies
from tests.doubles.scenes import TWO_STEPS
from tests.doubles.system import System
from tests.functions.turn_stage import Stage, opened

Rule = dict[str, Any]
HAD: Final = ("conversation_search", "memory_insert", "memory_replace", "memory_rethink")
MAX_STEPS: Final = 6
NAMES = st.sampled_from([*HAD, "not_attached"])
CHILDREN = st.lists(NAMES, min_size=1, max_size=3)
OUTPUTS: Final = ("yes", "no", "5")
ARGUMENTS: Final = st.sampled_from([None, {"label": "human"}, {"no_such_argument": 1}])


def rule(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Rule]:
    return st.fixed_dictionaries({"type": st.just(kind), "tool_name": NAMES, **fields})


RULES = st.lists(
    st.one_of(
        rule("run_first", args=ARGUMENTS),
        rule("constrain_child_tools", children=CHILDREN),
        rule("parent_last_tool", children=CHILDREN),
        rule(
            "conditional",
            child_output_mapping=st.dictionaries(st.sampled_from(OUTPUTS), NAMES, min_size=1),
            default_child=st.none() | NAMES,
            require_output_mapping=st.booleans(),
        ),
        rule("max_count_per_step", max_count_limit=st.integers(0, 2)),
        rule("required_before_exit"),
        rule("exit_loop"),
        rule("continue_loop"),
        rule("requires_approval"),
    ),
    max_size=5,
)
ANSWERS = st.lists(st.lists(NAMES, max_size=3), max_size=8)
"""The names that each of the model's answers calls; no name is a text. After the last it only talks."""


@dataclass(frozen=True)
class Ran:
    """A call that was run, in which step, and what it returned."""

    step: str
    name: str
    output: str


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr("agentkeep.loop.effects.run_builtin", returning_in_turn())
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage


def returning_in_turn() -> Any:
    """A stand-in for all tools."""
    outputs = itertools.cycle(OUTPUTS)

    def run(call: ToolCall, context: ToolContext) -> ToolReturn:
        return success(call, next(outputs), 100)

    return run


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(RULES, ANSWERS, st.booleans(), st.none() | st.integers(1, 8))
def test_no_run_executes_what_its_rules_forbid_and_every_run_ends(
    stage: Stage, rules: list[Rule], answers: list[list[str]], parallel: bool, dies_at: int | None
) -> None:
    asked = play(stage, answers)
    agent = stage.system.new_agent(tools=["memory_rethink"], tool_rules=rules, parallel_tool_calls=parallel)["id"]
    if dies_at is not None:
        die(stage, agent, dies_at)

    body = {"messages": [{"role": "user", "content": "Go.", "otid": "otid-1"}], "max_steps": MAX_STEPS}
    answer = stage.system.call("messages", "POST", f"/v1/agents/{agent}/messages", body)

    assert answer.status == 200, answer.body
    ran, steps = history(stage, agent)
    assert [said for said in forbidden(rules, ran) if said] == []
    expect_the_end(rules, ran, steps, answer.body["stop_reason"]["stop_reason"])
    assert len(asked) <= MAX_STEPS + (dies_at is not None)


def play(stage: Stage, answers: list[list[str]]) -> list[ModelRequest]:
    """Lets the model answer that way, and gives what it will be asked; requests no provider would take fail."""
    asked: list[ModelRequest] = []
    identifiers = itertools.count()

    def think(request: ModelRequest) -> ModelAnswer:
        bodies(request)
        asked.append(request)
        names = answers[len(asked) - 1] if len(asked) <= len(answers) else []
        called = [calls(name, "{}", id=f"call_{next(identifiers)}") for name in names]
        return both(*called) if called else says("Words.")

    stage.model.think = think
    return asked


def die(stage: Stage, agent: str, write: int) -> None:
    """The turn as far as it comes before the process dies at a write; the next process finds the rest."""
    stage.system.engine.faults = Faults(write, "dies before")  # type: ignore[assignment]
    said = Input(content=[TextPart(text="Go.")], otid="otid-1")
    with stage.system.acting(), suppress(AgentKeepError, Death):
        turns.run(TurnRequest(agent, agent, [said], max_steps=MAX_STEPS), lambda event: None)
    stage.system.engine.faults = None
    stage.start_again()


def history(stage: Stage, agent: str) -> tuple[list[Ran], list[str]]:
    """The calls that were run, and the steps of the turn, in order."""
    path, query = f"/v1/agents/{agent}/messages", {"order": "asc", "limit": 1000}
    listed = stage.system.call("messages", "GET", path, query=query).body
    ran = []
    for message in (each for each in listed if each["message_type"] == "tool_return_message"):
        call = next(each for each in listed if each["message_type"] == "tool_call_message" and
                    each["step_id"] == message["step_id"])  # fmt: skip
        names = {each["tool_call_id"]: each["name"] for each in call["tool_calls"]}
        for each in message["tool_returns"]:
            if each["tool_return"] in OUTPUTS:
                ran.append(Ran(message["step_id"], names[each["tool_call_id"]], each["tool_return"]))
    return ran, list(dict.fromkeys(each["step_id"] for each in listed if each["step_id"]))


def forbidden(rules: Sequence[Rule], ran: Sequence[Ran]) -> Iterator[str]:
    """What was run against a rule."""
    openers = {each["tool_name"] for each in rules if each["type"] == "run_first"} & set(HAD)
    for position, call in enumerate(ran):
        before = ran[position - 1] if position else None
        if before is None and openers and call.name not in openers:
            yield f"{call.name} opened the turn"
        for each in rules:
            names = [one.name for one in ran[: position + 1]]
            if not allowed(each, call.name, before, names, opening=before is None and call.name in openers):
                yield f"{call.name} after {before}: {each}"
        by_parents = [each for each in rules if each["type"] == "parent_last_tool" and call.name in each["children"]]
        parents = {each["tool_name"] for each in by_parents}
        opens = before is None and call.name in openers
        if parents and not opens and (before is None or before.name not in parents):
            yield f"{call.name} without its parent"


def allowed(each: Rule, name: str, before: Ran | None, names: list[str], *, opening: bool) -> bool:
    """Whether one rule, looked at alone, lets a call be run after another."""
    kind, follows = each["type"], before is not None and before.name == each["tool_name"]
    if kind == "max_count_per_step":
        return names.count(each["tool_name"]) <= int(each["max_count_limit"])
    if kind == "constrain_child_tools" and follows:
        return name in each["children"]
    if kind == "conditional" and follows and before is not None:
        mapped = each["child_output_mapping"].get(before.output)
        if mapped is None and each["require_output_mapping"]:
            return False
        return name == str(mapped or each["default_child"] or name)
    return opening or name in HAD


def expect_the_end(rules: Sequence[Rule], ran: Sequence[Ran], steps: Sequence[str], reason: str) -> None:
    """The stop reason is one that the rules and the calls explain."""
    exits = {each["tool_name"] for each in rules if each["type"] == "exit_loop"}
    required = {each["tool_name"] for each in rules if each["type"] == "required_before_exit"} & set(HAD)
    if reason in ("end_turn", "tool_rule"):
        assert required <= {each.name for each in ran}
    elif reason == "max_steps":
        assert len(steps) == MAX_STEPS
    elif reason == "invalid_tool_call":
        assert any(each.get("args") for each in rules)
    else:
        assert reason == "no_tool_call"
    exited = [exits_at(step, exits, required, ran, steps) for step in steps]
    assert not any(exited[:-1])
    assert exited[-1] == (reason == "tool_rule") or reason == "invalid_tool_call"


def exits_at(step: str, exits: set[str], required: set[str], ran: Sequence[Ran], steps: Sequence[str]) -> bool:
    """Whether an exit tool was run in a step after which nothing required is missing."""
    until = [each for each in ran if steps.index(each.step) <= steps.index(step)]
    left = any(each.name in exits and each.step == step for each in until)
    return left and required <= {each.name for each in until}
