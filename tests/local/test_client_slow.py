"""A model that takes its time: answers stay alive, refusals keep their status, and a client may leave."""

import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, APITimeoutError, ConflictError, Letta, NotFoundError
from letta_client.types import AgentState

from tests.doubles.provider import ScriptedProvider
from tests.doubles.provider_replies import call, fail, say
from tests.local.clients import client_of, history, in_threads, kinds, said
from tests.local.servers import LocalServer

MODEL = "openai/gpt-4o-mini"
INSERT = call("memory_insert", {"label": "human", "new_string": "Likes tea."})


@pytest.fixture(scope="module")
def slow_provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture(scope="module")
def hasty_server(tmp_path_factory: pytest.TempPathFactory, slow_provider: ScriptedProvider) -> Iterator[LocalServer]:
    """A server that shows signs of life after a second instead of twenty."""
    environment = slow_provider.environment | {"AGENTKEEP_HEARTBEAT_AFTER_SECONDS": "1"}
    local = LocalServer(tmp_path_factory.mktemp("slow") / "data", environment).start()
    warm = client_of(local.base_url)
    warm.agents.messages.create(warm.agents.create(model=MODEL).id, input="hello")
    yield local
    local.stop()


@pytest.fixture
def client(hasty_server: LocalServer) -> Letta:
    return client_of(hasty_server.base_url)


@pytest.fixture
def agent(client: Letta) -> AgentState:
    return client.agents.create(model=MODEL, memory_blocks=[{"label": "human", "value": "Ada"}])


def test_a_blocking_answer_shows_that_it_lives_and_is_read_by_the_client(
    client: Letta, agent: AgentState, slow_provider: ScriptedProvider
) -> None:
    slow_provider.script(INSERT, say("At last.", wait=2))

    answer = client.agents.messages.create(agent.id, input="Take your time.")

    assert kinds(answer.messages) == ["tool_call_message", "tool_return_message", "assistant_message"]
    assert said(answer.messages) == "At last."


def test_the_signs_of_life_are_spaces(
    hasty_server: LocalServer, agent: AgentState, slow_provider: ScriptedProvider
) -> None:
    slow_provider.script(say("At last.", wait=2))

    url, begin = f"{hasty_server.base_url}/v1/agents/{agent.id}/messages", time.monotonic()
    with httpx.stream("POST", url, json={"input": "Take your time."}, timeout=1.9) as answer:
        first_after = time.monotonic() - begin
        chunks = list(answer.iter_raw())

    assert answer.status_code == 200
    assert 0.9 < first_after < 1.9
    assert chunks[0].strip() == b""
    assert json.loads(b"".join(chunks))["messages"][0]["content"] == "At last."


@pytest.mark.parametrize("status", [400, 401])
def test_an_early_refusal_of_the_provider_keeps_its_status(
    client: Letta, agent: AgentState, slow_provider: ScriptedProvider, status: int
) -> None:
    with pytest.raises(APIStatusError) as caught:
        client.agents.messages.create(agent.id, input=f"@fail {status}")

    assert caught.value.status_code == status


def test_refusals_beside_a_slow_turn_come_at_once_with_their_status(
    client: Letta, agent: AgentState, slow_provider: ScriptedProvider
) -> None:
    slow_provider.script(say("At last.", wait=3))

    def send(number: int) -> tuple[str, float]:
        time.sleep(number * 0.7)
        begin = time.monotonic()
        try:
            text = said(client.agents.messages.create(agent.id, input="hello").messages)
        except ConflictError as error:
            text = str(error.status_code)
        return text, time.monotonic() - begin

    (first, _), (second, seconds) = in_threads(2, send)

    assert (first, second) == ("At last.", "409")
    assert seconds < 1.5
    with pytest.raises(NotFoundError):
        client.agents.messages.create(agent.id[:-1] + ("0" if agent.id[-1] != "0" else "1"), input="hello")


def test_a_late_failure_is_told_with_what_was_committed(
    client: Letta, agent: AgentState, slow_provider: ScriptedProvider
) -> None:
    slow_provider.script(INSERT, fail(400, wait=2))

    answer = client.agents.messages.create(agent.id, input="Take your time.")

    error: Any = (answer.model_extra or {})["error"]
    assert kinds(answer.messages) == ["tool_call_message", "tool_return_message"]
    assert answer.stop_reason.stop_reason == "llm_api_error"
    assert error["type"] == "llm_bad_request"
    assert client.runs.retrieve(error["run_id"]).status == "failed"


@pytest.mark.parametrize("streaming", [False, True])
def test_a_turn_goes_on_when_its_client_leaves(
    hasty_server: LocalServer, client: Letta, agent: AgentState, slow_provider: ScriptedProvider, streaming: bool
) -> None:
    slow_provider.script(INSERT, say("Nobody there?", wait=1.5))
    impatient = client_of(hasty_server.base_url, timeout=httpx.Timeout(5, read=0.3))

    with pytest.raises((APITimeoutError, httpx.ReadTimeout)):
        list(impatient.agents.messages.create(agent.id, input="Bye.", streaming=streaming))

    deadline = time.monotonic() + 10
    while "Nobody there?" not in said(history(client, agent.id)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.timeout(300)
class TestMinutes:
    def test_a_minute_and_more_without_a_word_is_no_reason_to_give_up(
        self, tmp_path: Path, slow_provider: ScriptedProvider
    ) -> None:
        """With the server's and the client's own settings: the client reads for 60 seconds."""
        server = LocalServer(tmp_path / "data", slow_provider.environment).start()
        client = Letta(base_url=server.base_url, api_key="any")
        agent = client.agents.create(model=MODEL)
        slow_provider.script(say("After all.", wait=75))
        before = len(slow_provider.calls)

        answer = client.agents.messages.create(agent.id, input="Take a minute.")
        server.stop()

        assert said(answer.messages) == "After all."
        assert len(slow_provider.calls) == before + 1

    def test_a_silent_stream_pings(self, client: Letta, agent: AgentState, slow_provider: ScriptedProvider) -> None:
        slow_provider.script(say("After all.", wait=25))
        times = []

        for event in client.agents.messages.create(agent.id, input="Take your time.", streaming=True):
            times.append((event.message_type, time.monotonic()))

        assert [kind for kind, _ in times[:4]] == ["ping", "ping", "ping", "assistant_message"]
        gaps = [later - earlier for (_, earlier), (_, later) in pairwise(times)]
        assert max(gaps) < 12
