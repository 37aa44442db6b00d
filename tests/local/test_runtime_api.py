"""Our Runtime API loop against an emulated Runtime API: answers in one piece, streamed, failing, unwanted."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkeep.api.runtime import Context, Handler, RuntimeApi, serve_one
from agentkeep.api.stream import StreamedResponse
from tests.local.runtime_api import Posted, RuntimeApiServer


@pytest.fixture
def server() -> Iterator[RuntimeApiServer]:
    api = RuntimeApiServer()
    yield api
    api.close()


def invoke(server: RuntimeApiServer, handler: Handler, event: dict[str, Any] | None = None) -> Posted:
    """What a handler's answer to one event looks like on the wire."""
    server.events.put(event or {})
    serve_one(RuntimeApi(server.address), handler)
    return server.posted.get(timeout=5)


def streaming(body: Iterator[bytes], status: int = 200) -> Handler:
    return lambda event, context: StreamedResponse(status, {"Content-Type": "text/event-stream"}, body)


def head_and_body(posted: Posted) -> tuple[Any, bytes]:
    head, _, body = posted.body.partition(b"\0" * 8)
    return json.loads(head), body


def test_an_answer_in_one_piece(server: RuntimeApiServer) -> None:
    posted = invoke(server, lambda event, context: {"statusCode": 200, "body": event["say"]}, {"say": "hi"})

    assert posted.path == "invocation/request-1/response"
    assert json.loads(posted.body) == {"statusCode": 200, "body": "hi"}
    assert "Lambda-Runtime-Function-Response-Mode" not in posted.headers


def test_a_handler_knows_its_invocation(server: RuntimeApiServer) -> None:
    def look(event: dict[str, Any], context: Context) -> dict[str, Any]:
        return {
            "id": context.aws_request_id,
            "arn": context.invoked_function_arn,
            "left": context.get_remaining_time_in_millis(),
            "trace": os.environ["_X_AMZN_TRACE_ID"],
        }

    seen = json.loads(invoke(server, look, {"id": "request-9"}).body)

    assert (seen["id"], seen["trace"]) == ("request-9", "Root=1-2-3")
    assert seen["arn"].endswith(":function:messages")
    assert 25_000 < seen["left"] <= 30_000


def test_a_streamed_answer_is_head_nuls_and_body(server: RuntimeApiServer) -> None:
    posted = invoke(server, streaming(iter([b"one", b"", b"two"]), status=201))

    assert posted.headers["Lambda-Runtime-Function-Response-Mode"] == "streaming"
    assert posted.headers["Content-Type"] == "application/vnd.awslambda.http-integration-response"
    assert head_and_body(posted) == (
        {"statusCode": 201, "headers": {"Content-Type": "text/event-stream"}},
        b"onetwo",
    )
    assert posted.trailers == {}


def test_pieces_leave_when_they_are_made(server: RuntimeApiServer) -> None:
    def slow() -> Iterator[bytes]:
        for _ in range(3):
            time.sleep(0.1)
            yield b"."

    posted = invoke(server, streaming(slow()))
    gaps = [later - earlier for earlier, later in zip(posted.arrivals[2:], posted.arrivals[3:], strict=False)]

    assert len(gaps) == 2
    assert min(gaps) > 0.05


def test_an_error_half_way_is_told_in_the_trailers(server: RuntimeApiServer) -> None:
    text = "a message of the user"

    def broken() -> Iterator[bytes]:
        yield b"one"
        raise KeyError(text)

    posted = invoke(server, streaming(broken()))

    assert head_and_body(posted)[1] == b"one"
    assert posted.trailers["Lambda-Runtime-Function-Error-Type"] == "Runtime.KeyError"
    report = json.loads(base64.b64decode(posted.trailers["Lambda-Runtime-Function-Error-Body"]))
    assert report["errorType"] == "KeyError"
    assert "broken" in report["stackTrace"][-1]
    assert text not in json.dumps(report)


def test_a_receiver_that_is_gone_ends_the_stream_and_not_the_work() -> None:
    server = RuntimeApiServer(hang_up_after=3)
    made: list[int] = []

    def work() -> Iterator[bytes]:
        for number in range(50):
            made.append(number)
            time.sleep(0.002)
            yield b"x" * 10_000

    try:
        posted = invoke(server, streaming(work()))
        again = invoke(server, lambda event, context: "alive")
    finally:
        server.close()

    assert not posted.complete
    assert made == list(range(50))
    assert again.body == b'"alive"'


def test_a_receiver_that_never_was_there_does_not_keep_the_work_from_ending() -> None:
    made: list[int] = []
    closed = RuntimeApiServer()
    closed.events.put({})

    def work() -> Iterator[bytes]:
        for number in range(5):
            made.append(number)
            yield b"x"

    def answer(event: dict[str, Any], context: Context) -> StreamedResponse:
        closed.close()
        return StreamedResponse(200, {}, work())

    serve_one(RuntimeApi(closed.address), answer)

    assert made == [0, 1, 2, 3, 4]


def test_a_handler_that_fails_is_reported_and_the_next_event_is_served(server: RuntimeApiServer) -> None:
    def fail(event: dict[str, Any], context: Context) -> None:
        raise ZeroDivisionError

    failed = invoke(server, fail)
    served = invoke(server, lambda event, context: "alive")

    assert failed.path == "invocation/request-1/error"
    assert failed.headers["Lambda-Runtime-Function-Error-Type"] == "Runtime.ZeroDivisionError"
    assert served.body == b'"alive"'


def test_an_answer_that_lambda_refuses_is_reported() -> None:
    server = RuntimeApiServer(refuse=True)
    try:
        server.events.put({})
        serve_one(RuntimeApi(server.address), lambda event, context: "x" * 100)
        answers = [server.posted.get(timeout=5).path, server.posted.get(timeout=5).path]
    finally:
        server.close()

    assert answers == ["invocation/request-1/response", "invocation/request-1/error"]


def start(server: RuntimeApiServer, root: Path, source: str) -> "subprocess.Popen[bytes]":
    """Our loop as Lambda starts it, with a function of this source."""
    (root / "handler.py").write_text(source)
    environment = {
        **os.environ,
        "AWS_LAMBDA_RUNTIME_API": server.address,
        "_HANDLER": "handler.lambda_handler",
        "LAMBDA_TASK_ROOT": str(root),
    }
    return subprocess.Popen([sys.executable, "-m", "agentkeep.api.runtime"], env=environment, stdout=subprocess.DEVNULL)


def test_the_process_serves_event_after_event(server: RuntimeApiServer, tmp_path: Path) -> None:
    source = (
        "from agentkeep.api.stream import StreamedResponse\n"
        "def lambda_handler(event, context):\n"
        "    if event['streamed']:\n"
        "        return StreamedResponse(200, {}, iter([b'a', b'b']))\n"
        "    return {'statusCode': 200}\n"
    )
    process = start(server, tmp_path, source)
    try:
        server.events.put({"streamed": True})
        server.events.put({"streamed": False})
        first, second = server.posted.get(timeout=20), server.posted.get(timeout=5)
    finally:
        process.kill()
        process.wait()

    assert head_and_body(first) == ({"statusCode": 200, "headers": {}}, b"ab")
    assert json.loads(second.body) == {"statusCode": 200}


def test_a_function_that_cannot_be_loaded_is_reported_and_the_process_ends(
    server: RuntimeApiServer, tmp_path: Path
) -> None:
    process = start(server, tmp_path, "import no_such_module\n")
    try:
        posted = server.posted.get(timeout=20)
        code = process.wait(timeout=10)
    finally:
        process.kill()

    assert posted.path == "init/error"
    assert json.loads(posted.body)["errorMessage"] == "No module named 'no_such_module'"
    assert code != 0
