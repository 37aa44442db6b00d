"""The gateway: events, routing, authorization, answers, browsers, and no answer crossing between tenants."""

import base64
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from infra.local.browsers import BrowserDoor
from infra.local.resources import ResourceTree
from tests.local.probes import ROUTES, Functions, Streamed, authorizer, gateway, seen
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


class TestEvents:
    def test_holds_method_path_query_and_headers_single_and_multiple(self, client: httpx.Client) -> None:
        answer = client.get("/v1/agents/a%2Fb?tag=x&tag=y&empty=", headers=[("X-Two", "1"), ("X-Two", "2")])

        event = answer.json()["event"]
        assert event["httpMethod"] == "GET"
        assert event["path"] == "/v1/agents/a%2Fb"
        assert event["queryStringParameters"] == {"tag": "y", "empty": ""}
        assert event["multiValueQueryStringParameters"] == {"tag": ["x", "y"], "empty": [""]}
        assert event["headers"]["x-two"] == "2"
        assert event["multiValueHeaders"]["x-two"] == ["1", "2"]
        assert event["headers"]["X-Forwarded-For"] == "127.0.0.1"

    def test_without_query_and_body_has_none(self, client: httpx.Client) -> None:
        event = client.get("/v1/agents").json()["event"]

        assert event["queryStringParameters"] is None
        assert event["multiValueQueryStringParameters"] is None
        assert event["pathParameters"] is None
        assert event["body"] is None
        assert event["isBase64Encoded"] is False

    def test_request_context_names_request_stage_and_caller(self, client: httpx.Client) -> None:
        answer = client.get("/v1/agents")

        context = answer.json()["event"]["requestContext"]
        assert context["authorizer"] == {"tenant": "acme", "limits": "{}", "answered": "1", "principalId": "acme"}
        assert context["stage"] == "local"
        assert context["identity"]["sourceIp"] == "127.0.0.1"
        assert context["requestId"] == answer.headers["x-amzn-requestid"]
        assert abs(context["requestTimeEpoch"] - time.time() * 1000) < 10_000

    def test_text_body_stays_text_and_a_file_becomes_base64(self, client: httpx.Client) -> None:
        text = client.post("/v1/agents", content='{"name": "Zoë"}').json()["event"]
        file = client.post(
            "/v1/agents", content=b"\xff\x00", headers={"Content-Type": "application/octet-stream"}
        ).json()["event"]

        assert (text["body"], text["isBase64Encoded"]) == ('{"name": "Zoë"}', False)
        assert (base64.b64decode(file["body"]), file["isBase64Encoded"]) == (b"\xff\x00", True)

    def test_context_counts_down_from_what_api_gateway_waits(self, client: httpx.Client) -> None:
        buffered = client.get("/v1/agents").json()["left_ms"]
        streamed = client.post("/v1/agents/a/messages").json()["left_ms"]

        assert 28_000 < buffered <= 29_000
        assert 899_000 < streamed <= 900_000


class TestRouting:
    @pytest.mark.parametrize(
        ("method", "path", "function", "resource", "parameters"),
        [
            ("GET", "/v1/agents", "agents", "/v1/agents", None),
            ("GET", "/v1/agents/", "agents", "/v1/agents", None),
            ("GET", "/v1/agents/count", "agents", "/v1/agents/count", None),
            ("GET", "/v1/agents/a1", "agents", "/v1/agents/{agent_id}", {"agent_id": "a1"}),
            ("GET", "/v1/agents/a1/messages", "messages", "/v1/agents/{agent_id}/messages", {"agent_id": "a1"}),
            ("GET", "/v1/agents/a1/messages/", "messages", "/v1/agents/{agent_id}/messages", {"agent_id": "a1"}),
            (
                "PUT",
                "/v1/agents/a1/else/x",
                "agents",
                "/v1/agents/{agent_id}/{proxy+}",
                {"agent_id": "a1", "proxy": "else/x"},
            ),
            ("GET", "/v1/nothing/here", "dispatcher", "/v1/{proxy+}", {"proxy": "nothing/here"}),
            ("GET", "/", "dispatcher", "/", None),
            ("HEAD", "/v1/agents", "agents", "/v1/agents", None),
        ],
    )
    def test_goes_where_the_deployed_tree_leads(
        self, method: str, path: str, function: str, resource: str, parameters: dict[str, str] | None
    ) -> None:
        match = ResourceTree(ROUTES).match(method, path)

        assert (match.target.function, match.resource, dict(match.parameters) or None) == (
            function,
            resource,
            parameters,
        )

    def test_path_before_v1_is_a_stage_or_mount_point(self, client: httpx.Client) -> None:
        event = client.get("/tenant-a/x/v1/agents/?limit=1").json()["event"]

        assert event["path"] == "/v1/agents/"
        assert event["requestContext"]["path"] == "/tenant-a/x/v1/agents/"
        assert event["queryStringParameters"] == {"limit": "1"}

    def test_no_redirect_for_a_trailing_slash(self, client: httpx.Client) -> None:
        assert [client.get(path).status_code for path in ("/v1/agents", "/v1/agents/")] == [200, 200]

    def test_head_is_answered_without_a_body(self, client: httpx.Client) -> None:
        answer = client.head("/v1/agents")

        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) > 0


class TestAuthorization:
    def test_without_a_key_is_401_in_our_shape(self, client: httpx.Client) -> None:
        answer = client.get("/v1/agents", headers={"Authorization": ""})

        assert answer.status_code == 401
        assert answer.json()["detail"].startswith("An API key is needed")

    def test_unknown_key_is_401_and_denied_one_403(self, client: httpx.Client) -> None:
        assert client.get("/v1/agents", headers={"Authorization": "Bearer bad"}).status_code == 401
        denied = client.get("/v1/agents", headers={"Authorization": "Bearer denied"})
        assert (denied.status_code, denied.json()) == (403, {"detail": "This API key may not call this API."})

    def test_authorizer_that_fails_is_500_in_our_shape(self, client: httpx.Client) -> None:
        answer = client.get("/v1/agents", headers={"Authorization": "Bearer broken"})

        assert answer.status_code == 500
        assert answer.json() == {"detail": "The API key could not be checked. Try again shortly."}

    def test_open_route_needs_no_key(self, client: httpx.Client) -> None:
        answer = client.get("/v1/health", headers={"Authorization": ""})

        assert answer.status_code == 200
        assert "authorizer" not in answer.json()["event"]["requestContext"]

    def test_answer_is_remembered_by_key_for_its_time(self, functions: Functions) -> None:
        asked: Counter[str] = Counter()

        def counting(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
            asked[event["headers"]["authorization"]] += 1
            return authorizer(event, context)

        functions.own["authorizer"] = counting
        with (
            served(gateway(functions, authorizer_cache_seconds=0.5)) as address,
            httpx.Client(base_url=address) as client,
        ):
            for token in ("a", "a", "b"):
                client.get("/v1/agents", headers={"Authorization": token})
            time.sleep(0.6)
            client.get("/v1/agents", headers={"Authorization": "a"})

        assert asked == {"a": 2, "b": 1}


class TestAnswers:
    def test_headers_of_both_kinds_are_sent_and_the_multiple_ones_count(
        self, client: httpx.Client, functions: Functions
    ) -> None:
        functions.own["agents"] = lambda event, context: {
            "statusCode": 201,
            "headers": {"X-One": "1", "X-Both": "single", "Content-Length": "999"},
            "multiValueHeaders": {"x-both": ["a", "b"]},
            "body": base64.b64encode(b"\x00\x01").decode(),
            "isBase64Encoded": True,
        }

        answer = client.get("/v1/agents")

        assert answer.status_code == 201
        assert answer.headers["x-one"] == "1"
        assert answer.headers.get_list("x-both") == ["a", "b"]
        assert answer.content == b"\x00\x01"

    @pytest.mark.parametrize(
        "answer",
        [
            {"body": "no status"},
            {"statusCode": "200"},
            {"statusCode": 200, "body": {"not": "text"}},
            {"statusCode": 200, "headers": {"X-Bad": "line\nbreak"}},
            {"statusCode": 200, "body": "x" * (6 * 1024 * 1024 + 1)},
            Streamed(200, {}, iter([b"on a route that is not streamed"])),
        ],
    )
    def test_what_api_gateway_would_not_take_is_502(
        self, client: httpx.Client, functions: Functions, answer: Any
    ) -> None:
        functions.own["agents"] = lambda event, context: answer

        refused = client.get("/v1/agents")

        assert (refused.status_code, refused.json()) == (502, {"detail": "Internal server error"})

    def test_handler_that_raises_is_502(self, client: httpx.Client, functions: Functions) -> None:
        def failing(event: Any, context: Any) -> Any:
            raise KeyError("secret detail")

        functions.own["agents"] = failing

        answer = client.get("/v1/agents")

        assert (answer.status_code, answer.json()) == (502, {"detail": "Internal server error"})

    def test_handler_that_leaves_a_thread_behind_is_502(self, client: httpx.Client, functions: Functions) -> None:
        release = threading.Event()

        def leaving(event: Any, context: Any) -> Any:
            threading.Thread(target=threading.Thread(target=release.wait).start).start()
            return {"statusCode": 200, "body": "looks fine"}

        functions.own["agents"] = leaving

        answer = client.get("/v1/agents")
        release.set()

        assert answer.status_code == 502

    def test_handler_that_joins_its_threads_is_fine(self, client: httpx.Client, functions: Functions) -> None:
        def joining(event: Any, context: Any) -> Any:
            with ThreadPoolExecutor(4) as pool:
                return {"statusCode": 200, "body": str(sum(pool.map(int, "1234")))}

        functions.own["agents"] = joining

        assert client.get("/v1/agents").text == "10"

    def test_handler_that_takes_too_long_is_504(self, functions: Functions) -> None:
        release = threading.Event()
        functions.own["agents"] = lambda event, context: {"statusCode": 200, "body": str(release.wait(10))}

        with served(gateway(functions, buffered_seconds=0.2)) as address:
            answer = httpx.get(f"{address}/v1/agents")
            release.set()

        assert answer.status_code == 504
        assert answer.json() == {"detail": "The function behind this path took too long. Try again shortly."}


class TestBrowsers:
    @pytest.fixture
    def address(self) -> Iterator[str]:
        door = BrowserDoor(origins=("https://ade.example.com",), hosts=("box.example.com",))
        with served(gateway(door=door)) as address:
            yield address

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 200),
            ({"Origin": "http://localhost:3000"}, 200),
            ({"Origin": "http://127.0.0.1:8283"}, 200),
            ({"Origin": "http://[::1]:8283"}, 200),
            ({"Origin": "https://ade.example.com"}, 200),
            ({"Origin": "https://evil.example.com"}, 403),
            ({"Origin": "http://localhost.evil.example.com"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://localhost@evil.example.com"}, 403),
            ({"Origin": "http://localhost:80@evil.example.com"}, 403),
            ({"Origin": "http://[::1"}, 403),
            ({"Origin": "HTTP://LOCALHOST:3000"}, 200),
            ({"Host": "[::1]:8283"}, 200),
            ({"Host": "localhost:8283@evil.example.com"}, 403),
            ({"Host": "localhost:8283"}, 200),
            ({"Host": "box.example.com"}, 200),
            ({"Host": "rebound.example.com:8283"}, 403),
        ],
    )
    def test_lets_in_this_machine_and_who_is_listed(self, address: str, headers: dict[str, str], status: int) -> None:
        assert httpx.get(f"{address}/v1/agents", headers=headers).status_code == status

    def test_says_what_to_do(self, address: str) -> None:
        answer = httpx.get(f"{address}/v1/agents", headers={"Origin": "https://evil.example.com"})

        assert "AGENTKEEP_CORS_ORIGINS=https://evil.example.com" in answer.json()["detail"]


def test_answers_on_a_kept_connection_are_sent_at_once(client: httpx.Client) -> None:
    seconds = []
    for _ in range(21):
        begin = time.perf_counter()
        client.post("/v1/agents", content=b"{}")
        seconds.append(time.perf_counter() - begin)

    assert sorted(seconds)[10] < 0.02, "packets wait for each other: is TCP_NODELAY set on accepted sockets?"


def test_preflight_needs_no_key_on_any_path(client: httpx.Client) -> None:
    asked = {"Authorization": "", "Origin": "https://page.example.com", "Access-Control-Request-Method": "POST"}

    functions = [client.options(path, headers=asked).json()["function"] for path in ("/v1/agents/", "/v1/nope", "/")]

    assert functions == ["dispatcher"] * 3


def test_own_answers_can_be_read_by_pages(client: httpx.Client) -> None:
    answer = client.get("/v1/agents", headers={"Authorization": "", "Origin": "https://page.example.com"})

    assert answer.headers["access-control-allow-origin"] == "*"


def test_no_answer_crosses_between_tenants(client: httpx.Client, functions: Functions) -> None:
    def probe(event: Any, context: Any) -> Any:
        tenant = event["requestContext"]["authorizer"]["tenant"]
        assert seen.get(None) is None
        seen.set(tenant)
        time.sleep(0.001)
        return {
            "statusCode": 200,
            "body": f"{tenant} {seen.get()} {event['body']} {event['pathParameters']['agent_id']}",
        }

    functions.own["agents"] = probe

    def ask(number: int) -> bool:
        tenant = f"tenant{number % 5}"
        answer = client.patch(
            f"/v1/agents/{number}", content=f"body{number}", headers={"Authorization": f"Bearer {tenant}"}
        )
        return answer.text == f"{tenant} {tenant} body{number} {number}"

    with ThreadPoolExecutor(16) as pool:
        right = Counter(pool.map(ask, range(2000)))

    assert right == {True: 2000}
