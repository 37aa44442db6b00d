"""Running a step's calls under the agent's rules: what is forbidden is answered instead of run. Pure but for `run`."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agentkeep.errors import BadRequestError
from agentkeep.loop.rules.solver import Called, Prefilled, Solver
from agentkeep.store.content import TextPart, ToolCall, ToolReturn, ToolSchema
from agentkeep.text import clean
from agentkeep.tools.arguments import parse
from agentkeep.tools.returns import failure, not_callable

Run = Callable[[ToolCall], ToolReturn]


def run_calls(calls: Sequence[ToolCall], rules: Solver, schemas: Sequence[ToolSchema], run: Run) -> list[ToolReturn]:
    """The returns of the calls, in their order; each call is judged after the returns of those before it."""
    known = {schema.name: schema for schema in schemas}
    returns: list[ToolReturn] = []
    for call in calls:
        returned = _run_one(call, rules, known, run)
        returns.append(returned)
        rules = rules.after(called([returned]))
    return returns


def _run_one(call: ToolCall, rules: Solver, schemas: Mapping[str, ToolSchema], run: Run) -> ToolReturn:
    if not rules.orders:
        return run(call)
    if call.name not in rules.valid:
        return not_callable(call, rules.valid, rules.reasons(call.name))
    given = rules.prefilled(call.name)
    if given is None:
        return run(call)
    complaint = _complaint(given, schemas[call.name])
    return failure(call, complaint, refused_by="prefilled_arguments") if complaint else run(_filled(call, given))


def with_prefilled(calls: Sequence[ToolCall], rules: Solver, schemas: Sequence[ToolSchema]) -> list[ToolCall]:
    """The calls as they will be run, so that the history shows the arguments that counted."""
    known = {schema.name: schema for schema in schemas}
    filled = []
    for call in calls:
        given = rules.prefilled(call.name) if call.name in rules.valid else None
        filled.append(_filled(call, given) if given and not _complaint(given, known[call.name]) else call)
        rules = rules.after([Called(call.name)] if call.name in rules.valid else [])
    return filled


def called(returns: Iterable[ToolReturn]) -> list[Called]:
    """The calls behind these returns that were run, as the rules see them."""
    return [Called(each.name, _text(each)) for each in returns if each.refused_by is None]


def _text(returned: ToolReturn) -> str:
    if isinstance(returned.content, str):
        return returned.content
    return "".join(part.text for part in returned.content if isinstance(part, TextPart))


def _complaint(given: Prefilled, schema: ToolSchema) -> str | None:
    """What is wrong with arguments that a rule sets, whatever the model adds to them."""
    try:
        parse(schema.name, json.dumps(given.arguments), {**schema.parameters, "required": []})
    except BadRequestError as refusal:
        return f"The arguments that the agent's tool rules set ({given.source}) do not fit: {refusal.message}"
    return None


def _filled(call: ToolCall, given: Prefilled) -> ToolCall:
    """The call with the rule's arguments for the model's. What is no JSON object is left for the tool to refuse."""
    try:
        written: Any = json.loads(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        return call
    if not isinstance(written, dict) or {**written, **given.arguments} == written:
        return call
    merged = clean(json.dumps({**written, **given.arguments}, ensure_ascii=False))
    return call.model_copy(update={"arguments": merged})
