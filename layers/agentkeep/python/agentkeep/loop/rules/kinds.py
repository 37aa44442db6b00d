"""The kinds of tool rules, as requests bring them and agents keep them. Shapes and names are the Letta API's."""

import logging
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, TypeAdapter, ValidationError
from pydantic import model_validator as validated

_log: Final = logging.getLogger(__name__)

ToolName = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Arguments = dict[str, Any]


class _Rule(BaseModel):
    """`prompt_template` is kept for clients that send it and otherwise ignored, as in Letta."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    tool_name: ToolName
    prompt_template: str | None = None


class ArgumentsOfChild(BaseModel):
    """Arguments that a child is called with when it follows its parent; the others are the model's."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: ToolName
    args: Arguments | None = None


class RunFirst(_Rule):
    """A turn's first call is of this tool, or of another that has such a rule. `args` win over the model's."""

    type: Literal["run_first"] = "run_first"
    args: Arguments | None = None


class ConstrainChildTools(_Rule):
    """Right after this tool one of `children` is called."""

    type: Literal["constrain_child_tools"] = "constrain_child_tools"
    children: list[ToolName]
    child_arg_nodes: list[ArgumentsOfChild] | None = None

    @validated(mode="after")
    def _nodes_are_children(self) -> Self:
        for node in self.child_arg_nodes or ():
            if node.name not in self.children:
                raise ValueError(f"'child_arg_nodes' names {node.name!r}, which is not among 'children'; add it there")
        return self


class ParentLastTool(_Rule):
    """`children` are called right after this tool only, and right after it nothing else is."""

    type: Literal["parent_last_tool"] = "parent_last_tool"
    children: list[ToolName]


class Conditional(_Rule):
    """What this tool returned says which tool is called next: the one that `child_output_mapping` has for it.

    Without a match it is `default_child`, else any; with `require_output_mapping` it is none.
    """

    type: Literal["conditional"] = "conditional"
    child_output_mapping: dict[str, ToolName] = Field(min_length=1)
    default_child: ToolName | None = None
    require_output_mapping: StrictBool = False


class ExitLoop(_Rule):
    """A call of this tool ends the turn."""

    type: Literal["exit_loop"] = "exit_loop"


class ContinueLoop(_Rule):
    """A call of this tool does not end the turn."""

    type: Literal["continue_loop"] = "continue_loop"


class MaxCountPerStep(_Rule):
    """The tool is called `max_count_limit` times in a turn at most."""

    type: Literal["max_count_per_step"] = "max_count_per_step"
    max_count_limit: Annotated[int, Field(strict=True, ge=0)]


class RequiredBeforeExit(_Rule):
    """The turn does not end before this tool was called."""

    type: Literal["required_before_exit"] = "required_before_exit"


class RequiresApproval(_Rule):
    """A call of this tool waits for somebody's approval. It says nothing about order."""

    type: Literal["requires_approval"] = "requires_approval"


_KINDS: Final[Mapping[str, type[_Rule]]] = {
    "conditional": Conditional,
    "constrain_child_tools": ConstrainChildTools,
    "continue_loop": ContinueLoop,
    "exit_loop": ExitLoop,
    "max_count_per_step": MaxCountPerStep,
    "parent_last_tool": ParentLastTool,
    "required_before_exit": RequiredBeforeExit,
    "requires_approval": RequiresApproval,
    "run_first": RunFirst,
}
Rule = Annotated[
    Conditional
    | ConstrainChildTools
    | ContinueLoop
    | ExitLoop
    | MaxCountPerStep
    | ParentLastTool
    | RequiredBeforeExit
    | RequiresApproval
    | RunFirst,
    Field(discriminator="type"),
]
_RULE: Final[TypeAdapter[Rule]] = TypeAdapter(Rule, config=ConfigDict(defer_build=True))


def read(fields: Mapping[str, Any]) -> Rule:
    """The rule that `fields` describe. Raises ValueError with a sentence that names the field and what to send."""
    kind = _KINDS.get(str(fields.get("type")))
    if kind is None:
        raise ValueError(f"a tool rule's 'type' should be one of {', '.join(_KINDS)}")
    if not isinstance(fields.get("tool_name"), str):
        raise ValueError("a tool rule needs 'tool_name', the name of a tool")
    try:
        return _RULE.validate_python(dict(fields))
    except ValidationError as error:
        raise ValueError(_complaint(kind, error)) from None


def _complaint(kind: type[_Rule], error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = kind.model_fields["type"].default
    path = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "missing":
        return f"the rule '{name}' needs '{path}'"
    if first["type"] == "extra_forbidden":
        return f"the rule '{name}' has no '{path}'; it takes {', '.join(sorted(kind.model_fields))}"
    reason = first["msg"].removeprefix("Value error, ")
    return f"'{path}' of the rule '{name}': {reason}" if path else reason


def stored(rules: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """The rules of an agent. One that was stored before rules were checked and does not fit is left out, and logged."""
    return tuple(rule for fields in rules if (rule := _fitting(fields)) is not None)


def _fitting(fields: Mapping[str, Any]) -> Rule | None:
    try:
        return read(fields)
    except ValueError as error:
        _log.warning("A stored tool rule is not applied: %s.", error)
        return None
