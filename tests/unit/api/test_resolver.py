"""The resolver: which handler a request reaches, in whose name, and what becomes of its errors."""

import logging
from typing import Any

import pytest

from agentkeep.api.answers import Answer
from agentkeep.api.resolver import Resolver
from agentkeep.api.stream import StreamedResponse
from agentkeep.errors import (
    BadRequestError,
    ConflictError,
    ConversationBusyError,
    InvalidRequestError,
    NotFoundError,
    UnauthorizedError,
)
from agentkeep.models.errors import ModelRateLimitError
from agentkeep.tenancy.context import current_caller, current_tenant
from tests.unit.api.proxy import call, proxy_event

AGENT = "agent-019a1b2c-3d4e-4f60-8a7b-0123456789ab"
BLOCK = "block-019a1b2c-3d4e-4f60-8a7b-0123456789ab"

app = Resolver()


@app.get("/v1/agents", permission="agent:read")
def list_agents() -> dict[str, str]:
    return {"called": "list"}


@app.post("/v1/agents", permission="agent:write")
def create_agent() -> Answer:
    return Answer(201, {"called": "create"}, {"x-made": "yes"})


@app.get("/v1/agents/count", permission="agent:read")
def count_agents() -> int:
    return 7


@app.get("/v1/agents/<agent_id>", permission="agent:read")
def retrieve_agent(agent_id: str) -> dict[str, str]:
    return {"agent": agent_id}


@app.get("/v1/agents/<agent_id>/blocks/<label+>", permission="agent:read")
def retrieve_label(agent_id: str, label: str) -> str:
    return label


@app.get("/v1/agents/<agent_id>/blocks/attach/<block_id>", permission="agent:read")
def attach(agent_id: str, block_id: str) -> dict[str, str]:
    return {"attached": block_id}


@app.get("/v1/caller", permission="agent:read")
def who() -> list[str]:
    return [current_tenant.get(), current_caller.get().principal]


@app.get("/v1/nothing", permission=None)
def nothing() -> None:
    return None


@pytest.mark.parametrize(
    "path",
    ["/v1/agents", "/v1/agents/", "/tenant-a/v1/agents", "/a/b/v1/agents/", "/v1/%61gents", "/prod/v1/agents//"],
)
def test_prefix_trailing_slash_and_needless_encoding_do_not_matter(path: str) -> None:
    assert call(app, "GET", path).json == {"called": "list"}


def test_a_fixed_path_goes_before_a_parameter() -> None:
    assert call(app, "GET", "/v1/agents/count").json == 7


@pytest.mark.parametrize(
    ("encoded", "label"),
    [("human", "human"), ("my%20notes", "my notes"), ("a%2Fb", "a/b"), ("a/b", "a/b"), ("100%25", "100%"),
     ("caf%C3%A9", "café"), ("x%00y", "xy"), ("v1", "v1")],
)  # fmt: skip
def test_path_parameters_arrive_decoded(encoded: str, label: str) -> None:
    assert call(app, "GET", f"/v1/agents/{AGENT}/blocks/{encoded}").json == label


def test_a_parameter_that_takes_slashes_comes_last() -> None:
    assert call(app, "GET", f"/v1/agents/{AGENT}/blocks/attach/{BLOCK}").json == {"attached": BLOCK}


def test_a_handler_knows_its_caller_and_nobody_does_afterwards() -> None:
    assert call(app, "GET", "/v1/caller", tenant="acme0001").json == ["acme0001", "of-acme0001"]
    assert current_tenant.get(None) is None


def test_a_handler_chooses_status_and_headers() -> None:
    answer = call(app, "POST", "/v1/agents", {})

    assert (answer.status, answer.json, answer.headers["x-made"]) == (201, {"called": "create"}, "yes")


def test_null_is_an_answer() -> None:
    assert call(app, "GET", "/v1/nothing", tenant=None).text == "null"


def test_without_a_caller_it_is_401() -> None:
    answer = call(app, "GET", "/v1/agents", tenant=None)

    assert answer.status == 401
    assert answer.json == {"detail": "Send an API key as 'Authorization: Bearer ak_...'."}


def test_without_the_permission_it_is_403_and_the_handler_is_not_called() -> None:
    answer = call(app, "POST", "/v1/agents", {}, role="user")

    assert answer.status == 403
    assert answer.json == {"detail": "This key has the role 'user', which does not include 'agent:write'."}


@pytest.mark.parametrize("identifier", ["not-an-id", BLOCK, AGENT.upper(), f"{AGENT}0", "%00", "😀" * 2000])
def test_an_id_of_another_kind_is_422(identifier: str) -> None:
    answer = call(app, "GET", f"/v1/agents/{identifier}")

    assert answer.status == 422
    assert answer.json["trace_id"] == "request-1"
    assert answer.json["detail"].startswith(
        "agent_id: should look like 'agent-123e4567-e89b-42d3-8456-426614174000', not "
    )


@pytest.mark.parametrize("path", ["/v1/nope", "/", "", "/v1", "/v1/agents//blocks/x", "/docs", "/v2/agents"])
def test_an_unknown_path_is_404(path: str) -> None:
    answer = call(app, "GET", path)

    assert (answer.status, answer.json) == (404, {"detail": "Not Found"})
    assert answer.headers["Content-Type"] == "application/json"


def test_a_known_path_with_another_method_is_405() -> None:
    answer = call(app, "PUT", "/v1/agents")

    assert (answer.status, answer.headers["Allow"]) == (405, "GET, POST")


def test_a_route_that_is_coming_is_501_and_not_worth_a_retry() -> None:
    answer = call(app, "POST", f"/v1/agents/{AGENT}/messages/stream", {})

    assert answer.status == 501
    assert answer.headers["x-should-retry"] == "false"
    assert f"POST /v1/agents/{AGENT}/messages/stream" in answer.json["detail"]


FAILURES: list[tuple[Exception, int, dict[str, Any], str | None]] = [
    (BadRequestError("No."), 400, {"detail": "No."}, None),
    (UnauthorizedError("Who?"), 401, {"detail": "Who?"}, None),
    (NotFoundError("Agent", "x"), 404, {"detail": "Agent not found with id='x'"}, None),
    (
        ConflictError("Taken.", by="run-1"),
        409,
        {"detail": {"code": "CONFLICT", "message": "Taken.", "by": "run-1"}},
        "false",
    ),
    (InvalidRequestError("name", "is odd."), 422, {"trace_id": "request-1", "detail": "name: is odd."}, None),
    (
        ModelRateLimitError("Slow down.", "429 of the provider", 2.5),
        429,
        {"error": {"type": "llm_rate_limit", "message": "Slow down.", "detail": "429 of the provider"}},
        "false",
    ),
]


@pytest.mark.parametrize(("error", "status", "body", "retry"), FAILURES, ids=lambda value: type(value).__name__)
def test_errors_become_the_shapes_that_clients_know(
    error: Exception, status: int, body: dict[str, Any], retry: str | None
) -> None:
    failing = Resolver()

    @failing.get("/v1/x", permission=None)
    def fail() -> None:
        raise error

    answer = call(failing, "GET", "/v1/x")

    assert (answer.status, answer.json, answer.headers.get("x-should-retry")) == (status, body, retry)


def test_a_busy_conversation_names_the_run() -> None:
    failing = Resolver()

    @failing.get("/v1/x", permission=None)
    def fail() -> None:
        raise ConversationBusyError("run-7")

    detail = call(failing, "GET", "/v1/x").json["detail"]

    assert detail["code"] == "CONVERSATION_BUSY"
    assert "is currently being processed" in detail["message"]
    assert "run_id=run-7" in detail["message"]


def test_the_wait_that_a_provider_asked_for_is_passed_on() -> None:
    failing = Resolver()

    @failing.get("/v1/x", permission=None)
    def fail() -> None:
        raise ModelRateLimitError("Slow down.", retry_after=2.5)

    assert call(failing, "GET", "/v1/x").headers["Retry-After"] == "3"


def test_an_unforeseen_error_is_500_and_its_text_stays_out_of_answer_and_log(caplog: pytest.LogCaptureFixture) -> None:
    failing, text = Resolver(), "my secret message"

    @failing.get("/v1/x", permission=None)
    def fail() -> None:
        raise KeyError(text)

    with caplog.at_level(logging.ERROR):
        answer = call(failing, "GET", "/v1/x")

    assert answer.status == 500
    assert "request-1" in answer.json["detail"]
    assert "KeyError" in caplog.text
    assert "in fail" in caplog.text
    assert text not in answer.text + caplog.text


def test_a_preflight_is_answered_without_a_caller() -> None:
    asked = {"origin": "https://app.example", "Access-Control-Request-Headers": "authorization,x-stainless-os"}

    answer = call(app, "OPTIONS", "/v1/agents", tenant=None, headers=asked)

    assert (answer.status, answer.text) == (204, "")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Allow-Headers"] == "authorization,x-stainless-os"
    assert "PATCH" in answer.headers["Access-Control-Allow-Methods"]


def test_only_listed_origins_may_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKEEP_CORS_ORIGINS", "https://one.example, https://two.example")

    allowed = call(app, "GET", "/v1/agents", headers={"Origin": "https://two.example"})
    refused = call(app, "GET", "/v1/agents", headers={"Origin": "https://three.example"})

    assert allowed.headers["Access-Control-Allow-Origin"] == "https://two.example"
    assert allowed.headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Origin" not in refused.headers


def test_errors_can_be_read_by_browsers_too() -> None:
    assert call(app, "GET", "/v1/nope", headers={"Origin": "https://a.example"}).headers[
        "Access-Control-Allow-Origin"
    ] == "*"  # fmt: skip


def test_a_streaming_route_streams_its_refusals() -> None:
    streaming = Resolver()

    @streaming.post("/v1/x", permission="message:send", streaming=True)
    def send() -> None:
        raise BadRequestError("No.")

    reply = streaming.resolve(proxy_event("POST", "/v1/x"), None)

    assert isinstance(reply, StreamedResponse)
    assert (reply.status_code, b"".join(reply.body)) == (400, b'{"detail":"No."}')


def test_an_answer_too_large_for_lambda_is_413_with_the_way_out() -> None:
    large = Resolver()

    @large.get("/v1/x", permission=None)
    def blocks() -> list[str]:
        return ['"' * 1_600_000, "é" * 1_500_000]

    answer = call(large, "GET", "/v1/x")

    assert answer.status == 413
    assert "limit" in answer.json["detail"]


def test_a_lone_surrogate_in_an_answer_does_not_break_it() -> None:
    odd = Resolver()

    @odd.get("/v1/x", permission=None)
    def text() -> list[str]:
        return ["half \ud83d", "whole 😀"]

    assert call(odd, "GET", "/v1/x").json == ["half ?", "whole 😀"]
