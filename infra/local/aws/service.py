"""Puts a service of this machine behind a botocore client: no signing, no HTTP, the same parameters and errors."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.session import Session

Parameters = Mapping[str, Any]
Operation = Callable[[Parameters], dict[str, Any]]
_STASH: Final = "agentkeep_parameters"


class AwsError(Exception):
    """What the service refuses, by AWS's error code."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


def serve(session: Session, service: str, operations: Mapping[str, Operation]) -> None:
    """Answers `service` (botocore's hyphenated service id) for clients made from `session` from now on.

    `operations` maps AWS's operation names to functions of the parameters. Any other operation raises
    NotImplementedError, which names it.
    """

    def remember(params: Parameters, context: dict[str, Any], **_: Any) -> None:
        context[_STASH] = params

    def answer(model: Any, context: Mapping[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
        if model.name not in operations:
            raise NotImplementedError(f"{service} {model.name} is not served on one machine.")
        return _answer(operations[model.name], context[_STASH])

    emitter = session.get_component("event_emitter")
    emitter.register(f"before-parameter-build.{service}", remember)
    emitter.register(f"before-call.{service}", answer)


def _answer(operation: Operation, parameters: Parameters) -> tuple[AWSResponse, dict[str, Any]]:
    try:
        return _response(200), {**operation(parameters), "ResponseMetadata": {"HTTPStatusCode": 200}}
    except AwsError as error:
        return _response(error.status), {
            "Error": {"Code": error.code, "Message": error.message},
            "ResponseMetadata": {"HTTPStatusCode": error.status},
        }


def _response(status: int) -> AWSResponse:
    return AWSResponse("local", status, HTTPHeaders(), None)
