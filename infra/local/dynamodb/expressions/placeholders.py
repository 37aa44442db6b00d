"""The names and values of one request, given to its expressions; all of them have to be used."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from infra.local.dynamodb.errors import invalid
from infra.local.dynamodb.expressions.reserved import RESERVED
from infra.local.dynamodb.expressions.tokens import ExpressionError, Path
from infra.local.dynamodb.values import AttributeValue, checked_text, checked_value

_NAME: Final = re.compile(r"#\w+", re.ASCII)
_VALUE: Final = re.compile(r":\w+", re.ASCII)


class Placeholders:
    """`#names` and `:values` of a request, and which of them its expressions used."""

    def __init__(self, request: Mapping[str, Any], expressions: Sequence[str]) -> None:
        """`expressions` are the request's members that can use them. Raises ValidationException for bad ones."""
        names = _given(request, "ExpressionAttributeNames", _NAME, expressions)
        self._names = {name: checked_text(attribute) for name, attribute in names.items()}
        values = _given(request, "ExpressionAttributeValues", _VALUE, expressions)
        self._values = {name: checked_value(value) for name, value in values.items()}
        self._unused = set(self._names) | set(self._values)

    def path(self, path: Path) -> Path:
        """The path with its placeholders replaced. Raises ExpressionError for reserved words and unknown names."""
        return tuple(part if isinstance(part, int) else self._name(part) for part in path)

    def _name(self, part: str) -> str:
        if not part.startswith("#"):
            if part.upper() in RESERVED:
                raise ExpressionError(f"Attribute name is a reserved keyword; reserved keyword: {part}")
            return part
        if part not in self._names:
            raise ExpressionError(
                f"An expression attribute name used in the document path is not defined; attribute name: {part}"
            )
        self._unused.discard(part)
        return self._names[part]

    def value(self, name: str) -> AttributeValue:
        """The value of a placeholder such as `:v`. Raises ExpressionError when there is none."""
        if name not in self._values:
            raise ExpressionError(
                f"An expression attribute value used in expression is not defined; attribute value: {name}"
            )
        self._unused.discard(name)
        return self._values[name]

    def expect_all_used(self) -> None:
        """Raises ValidationException when a name or a value was given and never used."""
        for member, given in (("Names", self._names), ("Values", self._values)):
            unused = ", ".join(sorted(self._unused & set(given)))
            if unused:
                raise invalid(
                    f"Value provided in ExpressionAttribute{member} unused in expressions: keys: {{{unused}}}"
                )


def _given(
    request: Mapping[str, Any], member: str, shape: re.Pattern[str], expressions: Sequence[str]
) -> Mapping[str, Any]:
    given: Mapping[str, Any] | None = request.get(member)
    if given is None:
        return {}
    if not any(request.get(expression) is not None for expression in expressions):
        raise invalid(f"{member} can only be specified when using expressions")
    if not given:
        raise invalid(f"{member} must not be empty")
    for key in given:
        if shape.fullmatch(key) is None:
            raise invalid(f'{member} contains invalid key: Syntax error; key: "{key}"')
    return given
