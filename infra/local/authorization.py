"""Asks the authorizer function who a request comes from, and remembers its answer as API Gateway does."""

import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from infra.api_gateway import ACCESS_DENIED, AUTHORIZER_FAILURE, UNAUTHORIZED, OwnAnswer
from infra.local.invocation import FunctionFailedError, Handler
from infra.local.lambda_context import LambdaContext
from infra.local.request import Request

Ask = Callable[[], Awaitable[Mapping[str, Any]]]
_REMEMBERED: Final = 10_000


class RefusedError(Exception):
    """The request does not reach a function."""

    def __init__(self, answer: OwnAnswer) -> None:
        super().__init__(answer.sentence)
        self.answer = answer


def answering_none(authorizer: Handler) -> Handler:
    """The authorizer, with an empty policy in place of the exception that API Gateway turns into a 401."""

    def ask(event: Mapping[str, Any], context: LambdaContext) -> Any:
        try:
            return authorizer(event, context)
        except Exception as error:  # whatever its class, its text is what counts
            if str(error) != "Unauthorized":
                raise
            return {}

    return ask


class Authorization:
    """Who may come in. Policies are kept for `seconds` by the Authorization header; nothing else makes one forgotten.

    So a revoked key works on for up to that time, here as in AWS. With `requires_key`, a request without the header is
    refused without asking.
    """

    def __init__(self, *, requires_key: bool, seconds: float) -> None:
        self._requires_key = requires_key
        self._seconds = seconds
        self._kept: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    async def context(self, request: Request, ask: Ask) -> dict[str, Any]:
        """The `requestContext.authorizer` of a request: strings only. Raises RefusedError. `ask` calls the function."""
        identity = request.header("authorization") or ""
        if self._requires_key and not identity:
            raise RefusedError(UNAUTHORIZED)
        policy = self._recall(identity)
        if policy is None:
            policy = await _policy(ask)
            self._keep(identity, policy)
        if not _allows(policy):
            raise RefusedError(ACCESS_DENIED)
        given: Mapping[str, Any] = policy.get("context") or {}
        return {name: _text(value) for name, value in given.items()} | {"principalId": str(policy["principalId"])}

    def _recall(self, identity: str) -> Mapping[str, Any] | None:
        until, policy = self._kept.get(identity, (0.0, None))
        return policy if until > time.monotonic() else None

    def _keep(self, identity: str, policy: Mapping[str, Any]) -> None:
        self._kept[identity] = (time.monotonic() + self._seconds, policy)
        self._kept.move_to_end(identity)
        if len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)


async def _policy(ask: Ask) -> Mapping[str, Any]:
    try:
        policy = await ask()
    except (FunctionFailedError, TimeoutError) as error:
        raise RefusedError(AUTHORIZER_FAILURE) from error
    if not policy:
        raise RefusedError(UNAUTHORIZED)
    return policy


def _allows(policy: Mapping[str, Any]) -> bool:
    statements = policy["policyDocument"]["Statement"]
    return bool(statements) and all(statement["Effect"] == "Allow" for statement in statements)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
