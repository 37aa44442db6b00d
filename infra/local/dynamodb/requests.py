"""What a request may hold: every member is either obeyed or refused, none is silently ignored."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from infra.local.dynamodb.errors import DynamoError, invalid
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.projections import Projection
from infra.local.dynamodb.expressions.tokens import ExpressionError

NAMES: Final = frozenset({"ExpressionAttributeNames"})
NAMES_AND_VALUES: Final = frozenset({"ExpressionAttributeNames", "ExpressionAttributeValues"})
_NOT_REPORTED: Final = frozenset({"ReturnConsumedCapacity", "ReturnItemCollectionMetrics"})


def expect_members(request: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raises ValidationException for members that the local engine does not know."""
    for member in request.keys() - known:
        if member not in _NOT_REPORTED or request[member] != "NONE":
            raise invalid(f"The local DynamoDB engine does not support the parameter {member}.")


def choice(request: Mapping[str, Any], member: str, options: tuple[str, ...]) -> str:
    """The member's value, the first option when it is absent. Raises ValidationException for other values."""
    value = str(request.get(member, options[0]))
    if value not in options:
        raise invalid(
            f"1 validation error detected: Value '{value}' at '{member[0].lower()}{member[1:]}' failed to satisfy"
            f" constraint: Member must satisfy enum value set: [{', '.join(options)}]"
        )
    return value


@contextmanager
def expression(member: str) -> Iterator[None]:
    """Says of an ExpressionError inside which expression it is about, as DynamoDB does."""
    try:
        yield
    except ExpressionError as error:
        raise invalid(f"Invalid {member}: {error}") from error


def projection(request: Mapping[str, Any], given: Placeholders) -> Projection | None:
    """The projection that a request asks for."""
    text = request.get("ProjectionExpression")
    if text is None:
        return None
    with expression("ProjectionExpression"):
        return Projection.bound(text, given)


def transaction_canceled(reasons: list[dict[str, Any]]) -> DynamoError:
    """The TransactionCanceledException with one reason per item of the transaction."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    return DynamoError(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        CancellationReasons=reasons,
    )
