"""A turn runs once, however often it is asked for: two at once, sent again, answers lost, clients out of patience."""

import threading
import time
from typing import Any
from uuid import uuid4

import httpx
import pytest
from letta_client import ConflictError, Letta
from letta_client.types import AgentState

from tests.doubles.provider import ScriptedProvider
from tests.doubles.provider_replies import fail, say
from tests.local.clients import TLS, CountedRequests, client_of, history, in_threads, kinds, said, unpaired_calls
from tests.local.servers import LocalServer

MODEL = "openai/gpt-4o-mini"
INSERT = '@call memory_insert {"label": "human", "new_string": "once"}\n@then\n@say Noted.'


@pytest.fixture
def agent(client: Letta) -> AgentState:
    return client.agents.create(model=MODEL, memory_blocks=[{"label": "human", "value": "start"}])


def asked(provider: ScriptedProvider, text: str) -> int:
    """How many model calls had the text in their newest message of the user."""
    newest = ([m for m in seen.body["messages"] if m["role"] == "user"][-1] for seen in provider.calls)
    return sum(1 for message in newest if text in str(message["content"]))


class LosesAnswers(httpx.HTTPTransport):
    """Lets requests through and loses the answers to the first `count` of those that send a message."""

    def __init__(self, count: int) -> None:
        super().__init__(verify=TLS)
        self._count = count

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if self._count and request.method == "POST" and request.url.path.endswith("/messages"):
            self._count -= 1
            response.read()
            raise httpx.ReadError("the connection was lost", request=request)
        return response


class TestTwoAtOnce:
    def test_one_runs_and_the_other_is_told_so_at_once(
        self, shared_server: LocalServer, agent: AgentState, provider: ScriptedProvider
    ) -> None:
        provider.script(say("Slowly.", wait=2))
        counted = CountedRequests()
        client = counted.client_of(shared_server.base_url)
        first = threading.Thread(target=client.agents.messages.create, args=(agent.id,), kwargs={"input": "one"})
        first.start()
        _until_running(client, agent.id)
        counted.sent.clear()

        for streaming in (False, True):
            with pytest.raises(ConflictError, match="is currently being processed") as caught:
                list(client.agents.messages.create(agent.id, input="two", streaming=streaming))
            assert f"run_id={_newest_run(client, agent.id)}" in str(caught.value)

        assert counted.sent.count(f"POST /v1/agents/{agent.id}/messages") == 2
        first.join()
        assert kinds(history(client, agent.id)) == ["system_message", "user_message", "assistant_message"]

    def test_of_ten_at_once_those_that_ran_stand_in_the_history_and_no_other(
        self, client: Letta, agent: AgentState
    ) -> None:
        def send(number: int) -> str | None:
            try:
                return said(client.agents.messages.create(agent.id, input=f"@say answer {number}").messages)
            except ConflictError:
                return None

        answers = [answer for answer in in_threads(10, send) if answer]

        assert answers
        assert sorted(said(history(client, agent.id)).splitlines()) == sorted(answers)


class TestSentAgain:
    @pytest.mark.parametrize("by", ["otid", "key"])
    def test_the_same_request_has_the_same_answer(
        self, client: Letta, agent: AgentState, provider: ScriptedProvider, by: str
    ) -> None:
        name = uuid4().hex

        def send(text: str) -> Any:
            message: Any = {"role": "user", "content": text} | ({"otid": name} if by == "otid" else {})
            headers = {"Idempotency-Key": name} if by == "key" else {}
            return client.agents.messages.create(agent.id, messages=[message], extra_headers=headers)

        first, again = send(f"{INSERT}\n{name}"), send(f"{INSERT}\n{name}")

        assert [message.id for message in again.messages] == [message.id for message in first.messages]
        assert asked(provider, name) == 2
        assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "start\nonce"
        with pytest.raises(ConflictError):
            send("something else")

    def test_the_same_otid_while_it_runs_reads_along(
        self, client: Letta, agent: AgentState, provider: ScriptedProvider
    ) -> None:
        otid = uuid4().hex
        provider.script(say("Slowly.", wait=1))
        message: Any = {"role": "user", "content": f"hello {otid}", "otid": otid}

        answers = in_threads(2, lambda _: client.agents.messages.create(agent.id, messages=[message]).messages)

        assert said(answers[0]) == said(answers[1]) == "Slowly."
        assert asked(provider, otid) == 1

    def test_the_same_text_without_a_name_is_a_new_turn(self, client: Letta, agent: AgentState) -> None:
        for _ in range(2):
            client.agents.messages.create(agent.id, input="@say Hello.")

        assert said(history(client, agent.id)) == "Hello.\nHello."


class TestRetriesOfTheClient:
    """letta-client sends neither otid nor key; it marks what it sends again."""

    @pytest.mark.parametrize("lost", [1, 2])
    def test_a_lost_answer(
        self, shared_server: LocalServer, agent: AgentState, provider: ScriptedProvider, lost: int
    ) -> None:
        name = uuid4().hex
        client = client_of(shared_server.base_url, transport=LosesAnswers(lost), max_retries=2)

        answer = client.agents.messages.create(agent.id, input=f"{INSERT}\n{name}")

        assert said(answer.messages) == "Noted."
        assert asked(provider, name) == 2
        assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "start\nonce"
        assert len([m for m in history(client, agent.id) if m.message_type == "user_message"]) == 1

    def test_a_client_that_loses_patience(
        self, shared_server: LocalServer, agent: AgentState, provider: ScriptedProvider
    ) -> None:
        name = uuid4().hex
        provider.script(say("Slowly.", wait=2.5))
        client = client_of(shared_server.base_url, max_retries=2, timeout=1)

        answer = client.agents.messages.create(agent.id, input=f"hello {name}")

        assert said(answer.messages) == "Slowly."
        assert asked(provider, name) == 1
        assert unpaired_calls(history(client, agent.id)) == set()

    def test_a_lost_refusal_of_the_provider_is_tried_again(
        self, shared_server: LocalServer, agent: AgentState, provider: ScriptedProvider
    ) -> None:
        """Nothing of a turn that failed is kept, so the next try is the turn."""
        client = client_of(shared_server.base_url, transport=LosesAnswers(1), max_retries=2)
        provider.script(fail(400))

        answer = client.agents.messages.create(agent.id, input="@say Hello.")

        assert said(answer.messages) == "Hello."
        assert kinds(history(client, agent.id)) == ["system_message", "user_message", "assistant_message"]


def _until_running(client: Letta, agent_id: str) -> None:
    deadline = time.monotonic() + 10
    while not list(client.runs.list(agent_id=agent_id, active=True)):
        assert time.monotonic() < deadline


def _newest_run(client: Letta, agent_id: str) -> str:
    return next(iter(client.runs.list(agent_id=agent_id))).id
