"""Our Runtime API loop, for functions that stream: the managed Python runtime cannot.

Started by an exec wrapper (`AWS_LAMBDA_EXEC_WRAPPER`) as `python -m agentkeep.api.runtime`. It does what the managed
runtime does for an answer in one piece, and sends a StreamedResponse as it is made: a head with status and headers,
eight NUL bytes, the body. Sources: AWS Lambda developer guide, "Using the Lambda runtime API" and "Building a custom
runtime"; API Gateway developer guide, "Set up a Lambda proxy integration with payload response streaming".
"""

import base64
import http.client
import importlib
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any, Final, NoReturn

from agentkeep.api.stream import StreamedResponse
from agentkeep.unforeseen import log_unforeseen

API_VERSION: Final = "2018-06-01"
STREAM_TYPE: Final = "application/vnd.awslambda.http-integration-response"
HEAD_END: Final = b"\0" * 8
_ERROR_TYPE: Final = "Lambda-Runtime-Function-Error-Type"
_ERROR_BODY: Final = "Lambda-Runtime-Function-Error-Body"

Handler = Callable[[dict[str, Any], "Context"], Any]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Context:
    """What a handler learns about its invocation; the names are those of Lambda's own context object."""

    aws_request_id: str
    invoked_function_arn: str
    tenant_id: str | None
    deadline_ms: int
    function_name: str = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")
    function_version: str = os.environ.get("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
    memory_limit_in_mb: str = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")
    log_group_name: str = os.environ.get("AWS_LAMBDA_LOG_GROUP_NAME", "")
    log_stream_name: str = os.environ.get("AWS_LAMBDA_LOG_STREAM_NAME", "")
    client_context: None = None
    identity: None = None

    @classmethod
    def of(cls, headers: Message) -> "Context":
        """The context that the headers of an invocation describe."""
        return cls(
            aws_request_id=headers["Lambda-Runtime-Aws-Request-Id"],
            invoked_function_arn=headers.get("Lambda-Runtime-Invoked-Function-Arn", ""),
            tenant_id=headers.get("Lambda-Runtime-Aws-Tenant-Id"),
            deadline_ms=int(headers["Lambda-Runtime-Deadline-Ms"]),
        )

    def get_remaining_time_in_millis(self) -> int:
        """How long until Lambda ends the invocation."""
        return max(0, self.deadline_ms - int(time.time() * 1000))


class RuntimeApi:
    """The Runtime API of Lambda, at `address` (host:port)."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection = http.client.HTTPConnection(address)

    def next_invocation(self) -> tuple[dict[str, Any], Context]:
        """Waits for the next event. Its trace id goes into the environment, where the X-Ray SDK looks for it."""
        self._connection.request("GET", f"/{API_VERSION}/runtime/invocation/next")
        response = self._connection.getresponse()
        event: dict[str, Any] = json.loads(response.read())
        os.environ["_X_AMZN_TRACE_ID"] = response.headers.get("Lambda-Runtime-Trace-Id", "")
        return event, Context.of(response.headers)

    def respond(self, request_id: str, answer: object) -> int:
        """Sends an answer in one piece; gives the status that Lambda received it with."""
        return self._post(f"invocation/{request_id}/response", json.dumps(answer).encode())

    def fail(self, request_id: str, error: BaseException) -> None:
        """Says that an invocation ended in an error."""
        self._post(f"invocation/{request_id}/error", _report(error), {_ERROR_TYPE: _name(error)})

    def fail_to_start(self, error: BaseException) -> None:
        """Says that the function could not be loaded."""
        self._post("init/error", _report(error, str(error)), {_ERROR_TYPE: _name(error)})

    def stream(self, request_id: str) -> "ResponseStream":
        """Opens the answer of an invocation for sending it piece by piece."""
        return ResponseStream(self._address, f"/{API_VERSION}/runtime/invocation/{request_id}/response")

    def _post(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> int:
        self._connection.request("POST", f"/{API_VERSION}/runtime/{path}", body, dict(headers or {}))
        response = self._connection.getresponse()
        response.read()
        return response.status


class ResponseStream:
    """A chunked POST, over a connection of its own. Once its receiver is gone, what is sent is dropped."""

    def __init__(self, address: str, path: str) -> None:
        self._connection = http.client.HTTPConnection(address)
        self.gone = False
        self._guarded(self._open, path)

    def _open(self, path: str) -> None:
        self._connection.putrequest("POST", path)
        self._connection.putheader("Lambda-Runtime-Function-Response-Mode", "streaming")
        self._connection.putheader("Content-Type", STREAM_TYPE)
        self._connection.putheader("Transfer-Encoding", "chunked")
        self._connection.putheader("Trailer", f"{_ERROR_TYPE}, {_ERROR_BODY}")
        self._connection.endheaders()

    def send(self, chunk: bytes) -> None:
        """Sends a piece; an empty one, which would end a chunked body, is left out."""
        if chunk:
            self._guarded(self._connection.send, b"%x\r\n%s\r\n" % (len(chunk), chunk))

    def end(self, error: BaseException | None = None) -> None:
        """Ends the answer. An error half way is told in the trailers, since the head has left."""
        trailers = b"" if error is None else _trailers(error)
        self._guarded(self._connection.send, b"0\r\n" + trailers + b"\r\n")
        self._guarded(self._receipt)
        self._connection.close()

    def _receipt(self) -> None:
        response = self._connection.getresponse()
        response.read()
        if response.status >= 300:
            raise http.client.HTTPException(f"Lambda answered {response.status} to a streamed response")

    def _guarded(self, act: Callable[..., None], *arguments: Any) -> None:
        if self.gone:
            return
        try:
            act(*arguments)
        except (OSError, http.client.HTTPException) as error:
            self.gone = True
            _logger.warning("The receiver of a streamed answer is gone: %s", error)


def serve_one(api: RuntimeApi, handler: Handler) -> None:
    """Takes one event and answers it. A body is read to its end even if nobody receives it: its work has to end."""
    event, context = api.next_invocation()
    try:
        answer = handler(event, context)
    except Exception as error:  # the border of the process: Lambda is told, and the next event comes
        log_unforeseen(error, f"invocation '{context.aws_request_id}'")
        api.fail(context.aws_request_id, error)
        return
    if isinstance(answer, StreamedResponse):
        _stream(api, context.aws_request_id, answer)
    elif api.respond(context.aws_request_id, answer) >= 300:
        api.fail(context.aws_request_id, RuntimeError("Lambda refused the answer; the usual reason is its 6 MB."))


def _stream(api: RuntimeApi, request_id: str, answer: StreamedResponse) -> None:
    stream = api.stream(request_id)
    stream.send(json.dumps({"statusCode": answer.status_code, "headers": answer.headers}).encode())
    stream.send(HEAD_END)
    try:
        for chunk in answer.body:
            stream.send(chunk)
    except Exception as error:  # the border of the process, with the head sent already
        log_unforeseen(error, f"the answer of invocation '{request_id}'")
        stream.end(error)
    else:
        stream.end()


def _name(error: BaseException) -> str:
    return f"Runtime.{type(error).__name__}"


def _report(error: BaseException, message: str = "The function failed; its log says where.") -> bytes:
    """The error as Lambda shows it. The text of an error during a request may quote that request, and is left out."""
    frames = traceback.format_tb(error.__traceback__)
    return json.dumps({"errorMessage": message, "errorType": type(error).__name__, "stackTrace": frames}).encode()


def _trailers(error: BaseException) -> bytes:
    body = base64.b64encode(_report(error))
    return f"{_ERROR_TYPE}: {_name(error)}\r\n{_ERROR_BODY}: ".encode() + body + b"\r\n"


def load_handler(name: str, root: str) -> Handler:
    """The function that `_HANDLER` names as `module.function`, from the function's own folder."""
    sys.path.insert(0, root)
    module, _, function = name.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module.replace("/", ".")), function)
    return handler


def main() -> NoReturn:
    """Serves events until Lambda ends the process."""
    logging.basicConfig(level=os.environ.get("AWS_LAMBDA_LOG_LEVEL", "INFO"), stream=sys.stdout)
    api = RuntimeApi(os.environ["AWS_LAMBDA_RUNTIME_API"])
    try:
        handler = load_handler(os.environ["_HANDLER"], os.environ["LAMBDA_TASK_ROOT"])
    except BaseException as error:  # the border of the process: Lambda is told why it ends
        api.fail_to_start(error)
        raise
    while True:
        serve_one(api, handler)


if __name__ == "__main__":
    main()
