"""The door between botocore clients and the engine: botocore's `before-call` event, so no signing and no HTTP.

It holds each request against the rights of its session, lets the weather in, and tries again what botocore's standard
retry mode would try again, since that stands behind HTTP and is passed over here.
"""

import random
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import BotoCoreError
from botocore.session import Session

from infra.local.dynamodb.access import Guard, Rights
from infra.local.dynamodb.database import Answer, Request
from infra.local.dynamodb.engine import Engine
from infra.local.dynamodb.errors import DynamoError
from infra.local.dynamodb.wire import loaded

SERVICES: Final = ("dynamodb", "dynamodb-streams")
_MAX_ATTEMPTS: Final = 3
_RETRIED_CODES: Final = frozenset({
    "ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded",
    "TransactionInProgressException",
})  # fmt: skip
_Outcome = Answer | DynamoError | BotoCoreError


def install(engine: Engine, session: Session, rights: Rights = "both") -> Callable[[], None]:
    """Leads DynamoDB calls of every client made from `session` from now on to the engine; returns the way to undo it.

    The session gets credentials that are good for nothing, so that making a client looks none up. Clients made in
    between stay usable after the undoing, but reach for AWS then.
    """
    door = _Door(engine, rights)
    emitter = session.get_component("event_emitter")
    for service in SERVICES:
        emitter.register(f"before-call.{service}", door)
    session.set_credentials("local", "local")

    def uninstall() -> None:
        door.open = False
        for service in SERVICES:
            emitter.unregister(f"before-call.{service}", door)

    return uninstall


class _Door:
    """Answers the `before-call` event of one session's clients."""

    def __init__(self, engine: Engine, rights: Rights) -> None:
        self.open = True
        self._engine = engine
        self._guard = Guard(engine.database, rights)

    def __call__(
        self, model: Any, params: Mapping[str, Any], context: Mapping[str, Any], **_: Any
    ) -> tuple[AWSResponse, Answer] | None:
        if not self.open:
            return None
        body = params["body"]
        request = loaded(body.decode() if isinstance(body, bytes) else body)
        attempts = _attempts(context)
        for attempt in range(1, attempts + 1):
            outcome = self._tried(model.name, request)
            if attempt == attempts or not _is_retried(outcome):
                break
            time.sleep(self._engine.weather.pause_seconds * 2**attempt * random.uniform(0.5, 1))
        return _response(outcome, attempt - 1)

    def _tried(self, operation: str, request: Request) -> _Outcome:
        weather = self._engine.weather
        try:
            self._guard.expect_allowed(operation, request)
            refusal = weather.refusal(operation, request)
            if refusal:
                return refusal
            asked, left = weather.asked(operation, request)
            answer = self._carried_out(operation, asked)
        except DynamoError as error:
            return error
        return weather.loses_answer() or weather.joined(answer, left)

    def _carried_out(self, operation: str, request: Request) -> Answer:
        if self._engine.faults is None:
            return self._engine.call(operation, request)
        return self._engine.faults.around(operation, lambda: self._engine.call(operation, request))


def _attempts(context: Mapping[str, Any]) -> int:
    retries = context["client_config"].retries or {}
    return int(retries.get("total_max_attempts", _MAX_ATTEMPTS))


def _is_retried(outcome: _Outcome) -> bool:
    if isinstance(outcome, DynamoError):
        return outcome.code in _RETRIED_CODES or outcome.status >= 500
    return isinstance(outcome, BotoCoreError)


def _response(outcome: _Outcome, retries: int) -> tuple[AWSResponse, Answer]:
    if isinstance(outcome, BotoCoreError):
        raise outcome
    status = outcome.status if isinstance(outcome, DynamoError) else 200
    body = _error_body(outcome) if isinstance(outcome, DynamoError) else outcome
    metadata = {"RequestId": str(uuid.uuid4()), "HTTPStatusCode": status, "HTTPHeaders": {}, "RetryAttempts": retries}
    return AWSResponse("https://dynamodb.invalid/", status, HTTPHeaders(), None), {**body, "ResponseMetadata": metadata}


def _error_body(error: DynamoError) -> Answer:
    return {"Error": {"Code": error.code, "Message": error.message}, "Message": error.message, **error.members}
