"""Which tools may be called next, and whether a turn may end, from an agent's rules and the calls made so far. Pure.

A call counts once its tool has run, whether that succeeded or not. The semantics are those of Letta's loop, except that
a rule is never dropped: where rules leave no tool, none may be called, and a child of two parents may follow either.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from agentkeep.loop.rules.kinds import (
    Conditional,
    ConstrainChildTools,
    ContinueLoop,
    ExitLoop,
    MaxCountPerStep,
    ParentLastTool,
    RequiredBeforeExit,
    RequiresApproval,
    Rule,
    RunFirst,
)

Kind = TypeVar("Kind", bound=Rule)


@dataclass(frozen=True)
class Called:
    """A call that was run, and what its tool returned."""

    name: str
    output: str = ""


@dataclass(frozen=True)
class Prefilled:
    """Arguments that rules set for the next call of a tool; `source` names those rules."""

    arguments: dict[str, Any]
    source: str


@dataclass(frozen=True)
class Solver:
    """An agent's rules at one moment of a turn.

    `tools` are the names of the tools the agent has, `past` the calls that were run in this turn, oldest first.
    """

    rules: Sequence[Rule] = ()
    tools: Sequence[str] = ()
    past: Sequence[Called] = ()

    def after(self, calls: Iterable[Called]) -> "Solver":
        """The rules after more calls were run."""
        return replace(self, past=(*self.past, *calls))

    @property
    def orders(self) -> bool:
        """Whether there are rules about the course of a turn; approval is not one."""
        return any(not isinstance(rule, RequiresApproval) for rule in self.rules)

    @cached_property
    def valid(self) -> list[str]:
        """The tools that may be called next, in the agent's order."""
        left = [name for name in self.tools if not self._used_up(name)]
        if self._starts:
            return [name for name in left if name in self._starts]
        for following in self._followings:
            left = [name for name in left if name in following]
        return [name for name in left if name not in self._barred]

    @property
    def choice(self) -> str | None:
        """The `tool_choice` of the next request; None leaves it to the model, `none` allows no call."""
        if not self.orders or not self.tools:
            return None
        if not self.valid:
            return "none"
        if not self._starts and not self._followings:
            return None
        return self.valid[0] if len(self.valid) == 1 else "required"

    @property
    def owed(self) -> list[str]:
        """The tools of which one has to be called next, whatever is said meanwhile. Empty if words are enough."""
        return self.valid if self._starts or self._children or self._routes else []

    @property
    def missing(self) -> list[str]:
        """The tools that still have to be called before the turn may end."""
        required = {rule.tool_name for rule in self._of(RequiredBeforeExit)} - {call.name for call in self.past}
        return [name for name in self.tools if name in required]

    def ends(self, name: str) -> bool:
        """Whether a call of the tool ends the turn."""
        return any(rule.tool_name == name for rule in self._of(ExitLoop))

    def continues(self, name: str) -> bool:
        """Whether a rule says that a call of the tool does not end the turn."""
        return any(rule.tool_name == name for rule in self._of(ContinueLoop))

    def prefilled(self, name: str) -> Prefilled | None:
        """What rules set for the next call, if that is of this tool; of two values for an argument the later rule's."""
        given = list(self._prefilling(name))
        if not given:
            return None
        arguments = {key: value for one in given for key, value in one.arguments.items()}
        return Prefilled(arguments, ", ".join(one.source for one in given))

    def reasons(self, name: str) -> Iterator[str]:
        """Why a tool of the agent may not be called next, in sentences for the model."""
        if name not in self.tools:
            return
        if self._starts and name not in self._starts:
            yield f"A turn starts with a call of {_one_of(self._starts)}."
        if self._used_up(name):
            yield f"{name} may be called {_times(self._limit(name))} in a turn."
        for following in self._followings:
            if name not in following:
                yield f"What follows {self._last} is a call of {_one_of(following)}."
        if not self._starts and name in self._barred:
            parents = [rule.tool_name for rule in self._of(ParentLastTool) if name in rule.children]
            yield f"{name} may be called only right after {_one_of(parents)}."

    def _of(self, kind: type[Kind]) -> list[Kind]:
        return [rule for rule in self.rules if isinstance(rule, kind)]

    @property
    def _last(self) -> str | None:
        return self.past[-1].name if self.past else None

    @cached_property
    def _starts(self) -> list[str]:
        first = [rule.tool_name for rule in self._of(RunFirst) if rule.tool_name in self.tools]
        return [] if self.past else list(dict.fromkeys(first))

    @cached_property
    def _children(self) -> list[Sequence[str]]:
        return [rule.children for rule in self._of(ConstrainChildTools) if rule.tool_name == self._last]

    @cached_property
    def _routes(self) -> list[Sequence[str]]:
        """What the newest call's return leads to, for each rule about it that leaves no free choice."""
        routed = (_route(rule, self.past[-1].output) for rule in self._of(Conditional) if rule.tool_name == self._last)
        return [names for names in routed if names is not None]

    @cached_property
    def _followings(self) -> list[Sequence[str]]:
        parents = [rule for rule in self._of(ParentLastTool) if rule.tool_name == self._last]
        of_parent = [name for rule in parents for name in rule.children]
        return [*self._children, *self._routes, *([of_parent] if parents else [])]

    @cached_property
    def _barred(self) -> set[str]:
        """The children of parents that were not called last, unless they have another parent that was."""
        parents = self._of(ParentLastTool)
        free = {name for rule in parents if rule.tool_name == self._last for name in rule.children}
        return {name for rule in parents for name in rule.children} - free

    def _limit(self, name: str) -> int | None:
        return min((rule.max_count_limit for rule in self._of(MaxCountPerStep) if rule.tool_name == name), default=None)

    def _used_up(self, name: str) -> bool:
        limit = self._limit(name)
        return limit is not None and sum(call.name == name for call in self.past) >= limit

    def _prefilling(self, name: str) -> Iterator[Prefilled]:
        for first in self._of(RunFirst) if name in self._starts else ():
            if first.tool_name == name and first.args:
                yield Prefilled(first.args, f"run_first of {name}")
        for parent in self._of(ConstrainChildTools):
            for node in (parent.child_arg_nodes or ()) if parent.tool_name == self._last else ():
                if node.name == name and node.args:
                    yield Prefilled(node.args, f"constrain_child_tools of {parent.tool_name}")


def _route(rule: Conditional, output: str) -> Sequence[str] | None:
    """The tools that a return leads to; None where any may follow."""
    mapping = rule.child_output_mapping
    key = next((key for key in mapping if key == output), None) or next(
        (key for key in mapping if _same(key, output)), None
    )
    if key is not None:
        return [mapping[key]]
    if rule.require_output_mapping:
        return []
    return [rule.default_child] if rule.default_child else None


def _same(key: str, output: str) -> bool:
    """Whether a key, which is always text in JSON, stands for the value that a tool returned: `true` for True."""
    ours, theirs = key.strip(), output.strip()
    if ours == theirs:
        return True
    if ours.lower() in ("true", "false"):
        return ours.lower() == theirs.lower()
    try:
        return float(ours) == float(theirs)
    except ValueError:
        return False


def _one_of(names: Sequence[str]) -> str:
    if not names:
        return "no tool"
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} or {last}" if others else last


def _times(count: int | None) -> str:
    return "once" if count == 1 else f"{count} times"
