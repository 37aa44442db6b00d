"""What lies around the operations: those to come, errors and their classes, headers, shapes of older clients."""

import json
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest
from letta_client import (
    APIStatusError,
    BadRequestError,
    InternalServerError,
    Letta,
    NotFoundError,
    UnprocessableEntityError,
)
from letta_client.types import AgentState, BlockResponse, Conversation, Step, Tool
from letta_client.types.agents import LettaResponse, Message, Run

from tests.local.clients import CountedRequests, client_of
from tests.local.servers import LocalServer

MODEL = "openai/gpt-4o-mini"
AGENT, BLOCK, RUN = (f"{kind}-{uuid4()}" for kind in ("agent", "block", "run"))
SOURCE = 'def f(x: str) -> str:\n    """Echo.\n\n    Args:\n        x (str): text\n    """\n    return x\n'
SAID: Any = [{"role": "user", "content": "hi"}]

COMING: dict[str, Callable[[Letta], object]] = {
    "agents.messages.stream": lambda c: c.agents.messages.stream(AGENT, messages=SAID),
    "agents.messages.create_async": lambda c: c.agents.messages.create_async(AGENT, messages=SAID),
    "agents.messages.cancel": lambda c: c.agents.messages.cancel(AGENT),
    "agents.export_file": lambda c: c.agents.export_file(AGENT),
    "agents.import_file": lambda c: c.agents.import_file(file=b"{}"),
    "agents.passages.create": lambda c: c.agents.passages.create(AGENT, text="t"),
    "agents.passages.list": lambda c: c.agents.passages.list(AGENT),
    "agents.passages.search": lambda c: c.agents.passages.search(AGENT, query="q"),
    "agents.passages.delete": lambda c: c.agents.passages.delete("passage-1", agent_id=AGENT),
    "agents.files.list": lambda c: c.agents.files.list(AGENT),
    "agents.folders.list": lambda c: c.agents.folders.list(AGENT),
    "agents.schedule.list": lambda c: c.agents.schedule.list(AGENT),
    "agents.tools.run": lambda c: c.agents.tools.run("f", agent_id=AGENT),
    "agents.tools.update_approval": lambda c: c.agents.tools.update_approval(
        "f", agent_id=AGENT, body_requires_approval=True
    ),
    "archives.create": lambda c: c.archives.create(name="a"),
    "archives.list": lambda c: c.archives.list(),
    "archives.passages.create": lambda c: c.archives.passages.create("archive-1", text="t"),
    "conversations.cancel": lambda c: c.conversations.cancel("conv-1"),
    "conversations.fork": lambda c: c.conversations.fork("conv-1"),
    "conversations.messages.stream": lambda c: c.conversations.messages.stream("conv-1"),
    "folders.create": lambda c: c.folders.create(name="f"),
    "folders.list": lambda c: c.folders.list(),
    "mcp_servers.list": lambda c: c.mcp_servers.list(),
    "messages.search": lambda c: c.messages.search(query="q"),
    "passages.search": lambda c: c.passages.search(query="q"),
    "runs.messages.stream": lambda c: c.runs.messages.stream(RUN),
    "runs.trace": lambda c: c.runs.trace.retrieve(RUN),
    "steps.trace": lambda c: c.steps.trace.retrieve("step-1"),
    "templates.create": lambda c: c.templates.create(type="agent", agent_id=AGENT),
    "tools.create": lambda c: c.tools.create(source_code=SOURCE),
    "tools.delete": lambda c: c.tools.delete("tool-1"),
    "tools.search": lambda c: c.tools.search(query="q"),
    "tools.update": lambda c: c.tools.update("tool-1", description="d"),
    "tools.upsert": lambda c: c.tools.upsert(source_code=SOURCE),
}


@pytest.fixture
def agent(client: Letta) -> AgentState:
    return client.agents.create(model=MODEL, memory_blocks=[{"label": "human", "value": "Ada"}])


class TestWhatIsNotServed:
    @pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")  # letta-client's own, of messages.stream
    @pytest.mark.parametrize("operation", COMING)
    def test_what_is_to_come_says_so_once(self, shared_server: LocalServer, operation: str) -> None:
        counted = CountedRequests()
        client = counted.client_of(shared_server.base_url)

        with pytest.raises(InternalServerError) as caught:
            COMING[operation](client)

        assert caught.value.status_code == 501
        assert isinstance(caught.value.body, dict)
        assert "detail" in caught.value.body
        assert len(counted.sent) == 1

    def test_what_only_the_hosted_service_has_is_not_found_at_once(self, shared_server: LocalServer) -> None:
        counted, begin = CountedRequests(), time.monotonic()
        client = counted.client_of(shared_server.base_url)

        for path in ("/v1/environments", "/v1/client-side-access-tokens", "/v1/metadata/balance", "/v1/nothing/here"):
            with pytest.raises(NotFoundError) as caught:
                client.get(path, cast_to=object)
            assert isinstance(caught.value.body, dict)

        assert len(counted.sent) == 4
        assert time.monotonic() - begin < 2


class TestErrors:
    """Each provider failure has the class and the body that clients tell apart, and none is tried again by them."""

    @pytest.mark.parametrize(
        ("provider_status", "status", "kind"),
        [
            (400, 400, "llm_bad_request"),
            (401, 401, "llm_authentication"),
            (403, 403, "llm_permission_denied"),
            (429, 429, "llm_rate_limit"),
            (500, 500, "llm_error"),
        ],
    )
    def test_of_a_provider(
        self, shared_server: LocalServer, agent: AgentState, provider_status: int, status: int, kind: str
    ) -> None:
        counted = CountedRequests()
        client = counted.client_of(shared_server.base_url)

        with pytest.raises(APIStatusError) as caught:
            client.agents.messages.create(agent.id, input=f"@fail {provider_status}")

        body: Any = caught.value.body
        assert (caught.value.status_code, body["error"]["type"]) == (status, kind)
        assert len(counted.sent) == 1
        assert [message.message_type for message in client.agents.messages.list(agent.id)] == ["system_message"]

    def test_an_invalid_body_names_its_field(self, client: Letta, agent: AgentState) -> None:
        with pytest.raises(UnprocessableEntityError) as caught:
            client.post(f"/v1/agents/{agent.id}/messages", body={"messages": "hello"}, cast_to=object)

        body: Any = caught.value.body
        assert set(body) == {"trace_id", "detail"}
        assert "messages" in body["detail"]

    def test_a_body_that_is_no_json(self, shared_server: LocalServer) -> None:
        answer = httpx.post(f"{shared_server.base_url}/v1/agents/", content=b"{", headers={"content-type": "text/json"})

        assert answer.status_code == 422
        assert set(answer.json()) == {"trace_id", "detail"}

    def test_a_block_id_where_an_agent_is_wanted(self, client: Letta) -> None:
        with pytest.raises((NotFoundError, UnprocessableEntityError, BadRequestError)):
            client.agents.retrieve(BLOCK)


class TestAnswers:
    def test_headers_come_with_every_answer(self, client: Letta, agent: AgentState) -> None:
        raw = client.agents.with_raw_response.retrieve(agent.id)

        assert raw.headers["content-type"] == "application/json"
        assert raw.headers["x-amzn-requestid"]
        assert raw.parse().id == agent.id

    def test_a_stream_is_not_cached_whatever_is_accepted(self, shared_server: LocalServer, agent: AgentState) -> None:
        answer = httpx.post(
            f"{shared_server.base_url}/v1/agents/{agent.id}/messages",
            json={"input": "@say Hello.", "streaming": True},
            headers={"accept": "application/json"},
        )

        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.text.endswith("data: [DONE]\n\n")
        frames = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        assert [frame["seq_id"] for frame in frames] == [1, 2, 3, 4]
        assert len({frame["run_id"] for frame in frames}) == 1

    def test_the_entries_of_every_list_fit_the_clients_models(self, client: Letta, agent: AgentState) -> None:
        """The client itself looks at pages less closely than at single answers."""
        client.agents.messages.create(agent.id, input='@call memory_insert {"label": "human", "new_string": "x"}')
        client.conversations.create(agent_id=agent.id)
        kinds: dict[str, Any] = {
            "/v1/agents/?include=agent.blocks&include=agent.tools&include=agent.tags": AgentState,
            f"/v1/agents/{agent.id}/core-memory/blocks": BlockResponse,
            f"/v1/agents/{agent.id}/messages": Message,
            f"/v1/agents/{agent.id}/tools": Tool,
            "/v1/blocks/": BlockResponse,
            f"/v1/conversations/?agent_id={agent.id}": Conversation,
            "/v1/runs/": Run,
            "/v1/steps/": Step,
            "/v1/tools/": Tool,
        }

        for path, kind in kinds.items():
            assert client.get(path, cast_to=list[kind]), path


class TestOlderShapes:
    def test_an_agent_by_llm_config_and_relationships(self, client: Letta) -> None:
        config = {"model": "gpt-4o-mini", "model_endpoint_type": "openai", "context_window": 32_000}
        body = {"name": "old", "llm_config": {**config, "handle": MODEL}, "embedding": "openai/text-embedding-3-small"}

        agent = client.post("/v1/agents/", body=body, cast_to=AgentState)
        listed = client.get("/v1/agents?name=old&include_relationships=tools&ascending=true", cast_to=list[AgentState])

        assert (agent.model, agent.llm_config.context_window) == (MODEL, 32_000)
        assert {tool.name for tool in listed[-1].tools} == {tool.name for tool in agent.tools}

    @pytest.mark.parametrize(
        "body",
        [
            {"messages": [{"role": "user", "content": "@say Hello."}]},
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "@say Hello."}]}]},
            {"messages": [{"type": "message", "role": "user", "content": "@say Hello."}], "stream_steps": True},
            {"input": "@say Hello.", "unknown_field": {"a": 1}},
        ],
    )
    def test_messages_in_every_shape(self, client: Letta, agent: AgentState, body: dict[str, Any]) -> None:
        answer = client.post(f"/v1/agents/{agent.id}/messages", body=body, cast_to=LettaResponse)

        (message,) = answer.messages
        assert message.message_type == "assistant_message"
        assert message.content == "Hello."

    def test_a_legacy_agent_speaks_by_send_message(self, client: Letta) -> None:
        agent = client.agents.create(model=MODEL, agent_type="memgpt_agent")

        answer = client.agents.messages.create(agent.id, input='@call send_message {"message": "Hello."}')

        assert [m.content for m in answer.messages if m.message_type == "assistant_message"] == ["Hello."]
        assert answer.usage.step_count == 1

    @pytest.mark.parametrize("prefix", ["", "/", "/tenant-a", "/tenant-a/"])
    def test_a_path_prefix(self, shared_server: LocalServer, prefix: str) -> None:
        client = client_of(shared_server.base_url + prefix, api_key="sk-whatever")

        assert client.health().status == "ok"
        assert client.models.list()
