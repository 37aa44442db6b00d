"""The gateway: streamed answers, sizes and times, and what becomes of work whose client has left."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.local.probes import Functions, Streamed, gateway, seen
from tests.local.servers import served


@pytest.fixture
def functions() -> Functions:
    return Functions()


@pytest.fixture
def client(functions: Functions) -> Iterator[httpx.Client]:
    """A client of a gateway that asks for keys and fails on threads left behind."""
    with (
        served(gateway(functions, requires_key=True, strict=True)) as address,
        httpx.Client(base_url=address, headers={"Authorization": "Bearer acme"}) as client,
    ):
        yield client


class TestSizes:
    @pytest.mark.parametrize(
        ("content", "status"),
        [
            (b"a" * 5_000_000, 200),
            (b"a" * 7_000_000, 413),
            (b"a" * 12_000_000, 413),
            (b"\n" * 4_000_000, 413),
        ],
    )
    def test_event_above_what_a_lambda_takes_is_413(
        self, client: httpx.Client, functions: Functions, content: bytes, status: int
    ) -> None:
        functions.own["agents"] = lambda event, context: {"statusCode": 200, "body": str(len(event["body"]))}

        answer = client.post("/v1/agents", content=content)

        assert answer.status_code == status
        if status == 413:
            assert answer.json()["detail"].startswith("The body is larger")

    def test_request_that_breaks_off_reaches_no_function(self, client: httpx.Client, functions: Functions) -> None:
        called: list[str] = []

        def remembering(event: Any, context: Any) -> Any:
            called.append(event["body"])
            return {"statusCode": 200}

        functions.own["agents"] = remembering

        with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as raw:
            raw.sendall(b"POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: x\r\n")
            raw.sendall(b"Content-Length: 100\r\n\r\n{}")
        whole = client.post("/v1/agents", content=b"[]")

        assert whole.status_code == 200
        assert called == ["[]"]

    def test_client_that_asks_first_does_not_have_to_send_it(self, client: httpx.Client) -> None:
        with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as raw:
            raw.sendall(b"POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 20000000\r\n")
            raw.sendall(b"Expect: 100-continue\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 413")


class TestStreams:
    def test_chunks_arrive_when_they_are_made(self, client: httpx.Client, functions: Functions) -> None:
        go_on = threading.Event()

        def body() -> Iterator[bytes]:
            yield b"first"
            assert go_on.wait(10)
            yield b"second"

        functions.own["messages"] = lambda event, context: Streamed(200, {"Content-Type": "text/event-stream"}, body())

        with client.stream("POST", "/v1/agents/a/messages", json={}) as answer:
            chunks = answer.iter_raw()
            first = next(chunks)
            go_on.set()
            rest = b"".join(chunks)

        assert answer.headers["content-type"] == "text/event-stream"
        assert (first, rest) == (b"first", b"second")

    def test_the_whole_stream_is_made_in_one_context(self, client: httpx.Client, functions: Functions) -> None:
        def body() -> Iterator[bytes]:
            for _ in range(3):
                yield seen.get("nobody").encode()

        def handler(event: Any, context: Any) -> Any:
            before = seen.get("nobody")
            seen.set(event["requestContext"]["authorizer"]["tenant"])
            return Streamed(200, {"x-before": before}, body())

        functions.own["messages"] = handler

        answers = [client.post("/v1/agents/a/messages", headers={"Authorization": name}) for name in ("ann", "bob")]

        assert [answer.text for answer in answers] == ["annannann", "bobbobbob"]
        assert [answer.headers["x-before"] for answer in answers] == ["nobody", "nobody"]

    def test_client_that_leaves_does_not_end_the_work(self, client: httpx.Client, functions: Functions) -> None:
        left, done = threading.Event(), threading.Event()

        def body() -> Iterator[bytes]:
            yield b"first"
            assert left.wait(10)
            for _ in range(1000):
                yield b"x" * 1000
            done.set()

        functions.own["messages"] = lambda event, context: Streamed(200, {}, body())

        with client.stream("POST", "/v1/agents/a/messages", json={}) as answer:
            next(answer.iter_raw())
        left.set()

        assert done.wait(10)

    def test_failure_in_the_middle_breaks_the_transfer(self, client: httpx.Client, functions: Functions) -> None:
        def body() -> Iterator[bytes]:
            yield b"first"
            raise KeyError("in the middle")

        functions.own["messages"] = lambda event, context: Streamed(200, {}, body())

        with pytest.raises(httpx.RemoteProtocolError):
            client.post("/v1/agents/a/messages", json={})

    def test_stream_with_a_thread_left_behind_breaks(self, client: httpx.Client, functions: Functions) -> None:
        release = threading.Event()

        def body() -> Iterator[bytes]:
            threading.Thread(target=release.wait).start()
            yield b"all"

        functions.own["messages"] = lambda event, context: Streamed(200, {}, body())

        with pytest.raises(httpx.RemoteProtocolError):
            client.post("/v1/agents/a/messages", json={})
        release.set()

    @pytest.mark.parametrize("limit", [{"streamed_seconds": 0.3}, {"idle_seconds": 0.3}])
    def test_stream_is_cut_off_when_api_gateway_would(self, functions: Functions, limit: dict[str, float]) -> None:
        release = threading.Event()

        def body() -> Iterator[bytes]:
            yield b"first"
            release.wait(10)

        functions.own["messages"] = lambda event, context: Streamed(200, {}, body())

        with served(gateway(functions, **limit)) as address:
            with pytest.raises(httpx.RemoteProtocolError):
                httpx.post(f"{address}/v1/agents/a/messages", json={})
            release.set()

    def test_whole_answer_on_a_streaming_route(self, client: httpx.Client, functions: Functions) -> None:
        functions.own["messages"] = lambda event, context: {"statusCode": 404, "body": '{"detail": "no agent"}'}

        answer = client.post("/v1/agents/a/messages", json={})

        assert (answer.status_code, answer.json()) == (404, {"detail": "no agent"})

    def test_streams_are_told_when_the_server_stops(self, functions: Functions) -> None:
        release = threading.Event()

        def body() -> Iterator[bytes]:
            yield b"data: 1\n\n"
            release.wait(10)

        functions.own["messages"] = lambda event, context: Streamed(200, {"Content-Type": "text/event-stream"}, body())
        running = served(gateway(functions))
        address = running.__enter__()

        with httpx.stream("POST", f"{address}/v1/agents/a/messages", json={}) as answer:
            chunks = answer.iter_text()
            first = next(chunks)
            running.__exit__(None, None, None)
            rest = "".join(chunks)
        release.set()

        assert first == "data: 1\n\n"
        assert rest.startswith("event: error\ndata: {")
        assert "server_stopping" in rest
