"""Documents and paths into them: looking up, and rules that hold between the paths of one expression."""

from collections.abc import Sequence
from itertools import combinations

from infra.local.dynamodb.expressions.tokens import ExpressionError, Path
from infra.local.dynamodb.values import AttributeValue, Item


def lookup(item: Item, path: Path) -> AttributeValue | None:
    """The value at `path`, None when there is none."""
    value = item.get(str(path[0]))
    for part in path[1:]:
        if value is None:
            return None
        value = member(value, part)
    return value


def member(value: AttributeValue, part: str | int) -> AttributeValue | None:
    """The member of a map by name, or the element of a list by index, None when there is none."""
    if isinstance(part, str):
        found: AttributeValue | None = value.get("M", {}).get(part)
        return found
    elements: list[AttributeValue] = value.get("L", [])
    return elements[part] if part < len(elements) else None


def path_text(path: Path) -> str:
    """The path as DynamoDB's messages show it: `[a, b, [2]]`."""
    return "[" + ", ".join(f"[{part}]" if isinstance(part, int) else part for part in path) + "]"


def expect_disjoint(paths: Sequence[Path]) -> None:
    """Raises ExpressionError when a path leads into another, or takes one place for a map and for a list."""
    if len({path[0] for path in paths}) == len(paths):
        return
    for one, two in combinations(paths, 2):
        shared = min(len(one), len(two))
        if one[:shared] == two[:shared]:
            raise _between("overlap", one, two)
        fork = next(position for position in range(shared) if one[position] != two[position])
        if type(one[fork]) is not type(two[fork]):
            raise _between("conflict", one, two)


def _between(problem: str, one: Path, two: Path) -> ExpressionError:
    return ExpressionError(
        f"Two document paths {problem} with each other; must remove or rewrite one of these paths;"
        f" path one: {path_text(one)}, path two: {path_text(two)}"
    )
