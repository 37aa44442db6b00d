"""Stopping and starting again, politely and by kill -9 under load: what was answered is there, and nothing twice."""

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from letta_client import APIConnectionError, APIStatusError, ConflictError, Letta

from tests.doubles.provider import ScriptedProvider
from tests.local.clients import client_of, history, said, unpaired_calls
from tests.local.servers import LocalServer

MODEL: Final = "openai/gpt-4o-mini"
AGENTS: Final = 4
CLIENTS: Final = 8


def free_port() -> int:
    """A port that nobody has at the moment, so that a server can come back to it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def own_provider() -> Iterator[ScriptedProvider]:
    """A provider whose records are this test's alone."""
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture
def own_server(tmp_path: Path, own_provider: ScriptedProvider) -> Iterator[LocalServer]:
    """A server that has the same address after a restart."""
    local = LocalServer(tmp_path / "data", own_provider.environment, "--port", str(free_port())).start()
    yield local
    local.stop()


class Talker:
    """One client in one conversation: turns of text and of memory in turn, until it is stopped or cut off."""

    def __init__(self, client: Letta, agent_id: str, conversation_id: str | None, name: str) -> None:
        self.agent_id, self.conversation_id, self.name = agent_id, conversation_id, name
        self._client = client
        self.sent: list[str] = []
        self.answered: list[str] = []
        self.stop = threading.Event()

    def talk(self) -> None:
        """Notes what was sent before it is, and what was answered after it was."""
        while not self.stop.is_set():
            turn = f"{self.name}-{len(self.sent)}"
            self.sent.append(turn)
            try:
                self.say(turn, remembering=len(self.sent) % 2 == 0)
            except (APIConnectionError, APIStatusError):
                return
            self.answered.append(turn)

    def say(self, turn: str, *, remembering: bool) -> None:
        """One turn, whose text and effects name it."""
        call = f'@call memory_insert {{"label": "notes", "new_string": "{turn}"}}\n@then\n' if remembering else ""
        text = f"{call}@say heard {turn}."
        if self.conversation_id is None:
            answer = self._client.agents.messages.create(self.agent_id, input=text)
            assert said(answer.messages) == f"heard {turn}."
        else:
            events = list(self._client.conversations.messages.create(self.conversation_id, input=text))
            assert said(events) == f"heard {turn}."


def talkers(server: LocalServer, max_retries: int) -> list[Talker]:
    """Two clients for each agent: one in its default conversation, one in a conversation of its own."""
    client = client_of(server.base_url, max_retries=max_retries)
    made = []
    for number in range(AGENTS):
        agent = client.agents.create(model=MODEL, memory_blocks=[{"label": "notes", "value": "start"}])
        own = client.conversations.create(agent_id=agent.id).id
        made += [Talker(client, agent.id, None, f"home{number}"), Talker(client, agent.id, own, f"own{number}")]
    return made


def run_and_kill(server: LocalServer, crowd: list[Talker], seconds: float) -> list[threading.Thread]:
    """Starts the clients and kills the server in the middle of their turns."""
    threads = [threading.Thread(target=talker.talk) for talker in crowd]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    server.kill9()
    return threads


def until_settled(attempt: Callable[[], Any]) -> Any:
    """Makes a turn although the server may still go on with the one that was interrupted."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return attempt()
        except ConflictError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def turns_told(messages: list[Any]) -> list[str]:
    """The turns that a history tells, by what the assistant said at their ends."""
    return [text.removeprefix("heard ").removesuffix(".") for text in said(messages).splitlines()]


def turns_asked(messages: list[Any]) -> list[str]:
    """The turns that a history tells, by what the user asked."""
    asked = [message.content for message in messages if message.message_type == "user_message"]
    return [text.rpartition("@say heard ")[2].removesuffix(".") for text in asked]


class TestStop:
    def test_an_agent_still_knows_after_a_restart(self, server: LocalServer) -> None:
        client = client_of(server.base_url)
        agent = client.agents.create(
            name="keeper", model="demo/memory", memory_blocks=[{"label": "human", "value": "Unknown so far."}]
        )
        client.agents.messages.create(agent.id, input="Hi, my name is Priya and I live in Lisbon.")
        before = history(client, agent.id)

        server.restart()

        client = client_of(server.base_url)
        assert [found.name for found in client.agents.list()] == ["keeper"]
        assert "Priya" in client.agents.blocks.retrieve("human", agent_id=agent.id).value
        assert [message.id for message in history(client, agent.id)] == [message.id for message in before]
        assert "Priya" in said(client.agents.messages.create(agent.id, input="What is my name?").messages)

    def test_a_turn_that_is_stopped_is_not_lost_nor_doubled(
        self, own_server: LocalServer, own_provider: ScriptedProvider
    ) -> None:
        crowd = talkers(own_server, max_retries=0)
        threads = [threading.Thread(target=talker.talk) for talker in crowd]
        for thread in threads:
            thread.start()
        time.sleep(1)

        own_server.restart()
        for thread in threads:
            thread.join()

        _assert_all_there(crowd)
        assert {seen.status for seen in own_provider.calls} == {200}


class TestKill:
    def test_all_that_was_answered_is_there_and_everything_answers_again(
        self, own_server: LocalServer, own_provider: ScriptedProvider
    ) -> None:
        crowd = talkers(own_server, max_retries=0)

        threads = run_and_kill(own_server, crowd, seconds=1.5)
        for thread in threads:
            thread.join()
        own_server.start()

        assert sum(len(talker.answered) for talker in crowd) >= CLIENTS
        _assert_all_there(crowd)
        assert {seen.status for seen in own_provider.calls} == {200}

    def test_clients_that_try_again_across_it_lose_and_double_nothing(
        self, own_server: LocalServer, own_provider: ScriptedProvider
    ) -> None:
        crowd = talkers(own_server, max_retries=8)

        threads = run_and_kill(own_server, crowd, seconds=1.5)
        own_server.start()
        time.sleep(3)
        for talker in crowd:
            talker.stop.set()
        for thread in threads:
            thread.join()

        assert all(talker.sent == talker.answered for talker in crowd)
        _assert_all_there(crowd)
        again = {turn: count - 1 for turn, count in _model_calls(own_provider, crowd).items() if count > 1}
        assert len(again) <= CLIENTS
        assert set(again.values()) <= {1}

    @pytest.mark.long
    @pytest.mark.timeout(900)
    def test_many_kills_in_a_row(self, own_server: LocalServer, own_provider: ScriptedProvider) -> None:
        crowd = talkers(own_server, max_retries=12)
        threads = [threading.Thread(target=talker.talk) for talker in crowd]
        for thread in threads:
            thread.start()

        for number in range(12):
            time.sleep(0.7 + number * 0.17)
            own_server.kill9()
            own_server.start()
        for talker in crowd:
            talker.stop.set()
        for thread in threads:
            thread.join()

        assert all(talker.sent == talker.answered for talker in crowd)
        _assert_all_there(crowd)
        assert {seen.status for seen in own_provider.calls} == {200}


def _assert_all_there(crowd: list[Talker]) -> None:
    """Every conversation answers again, tells each turn once and in order, and its agent's block has every note."""
    for talker in crowd:
        until_settled(lambda talker=talker: talker.say(f"{talker.name}-last", remembering=False))  # type: ignore[misc]
        messages = history(talker._client, talker.agent_id, talker.conversation_id)
        told = turns_told(messages)
        assert unpaired_calls(messages) == set()
        assert told == [turn for turn in [*talker.sent, f"{talker.name}-last"] if turn in told]
        assert set(talker.answered) <= set(told)
        assert turns_asked(messages) == [turn for turn in [*talker.sent, f"{talker.name}-last"] if turn in told]
    for agent_id, theirs in _by_agent(crowd).items():
        _assert_notes(theirs[0]._client, agent_id, theirs)


def _assert_notes(client: Letta, agent_id: str, theirs: list[Talker]) -> None:
    block = client.agents.blocks.retrieve("notes", agent_id=agent_id)
    notes = block.value.splitlines()
    told = {turn for talker in theirs for turn in turns_told(history(client, agent_id, talker.conversation_id))}
    remembered = {turn for talker in theirs for turn in talker.sent[1::2]} & told
    versions: Any = client.get(f"/v1/blocks/{block.id}/history?limit=1000", cast_to=object)
    assert sorted(notes) == sorted(["start", *remembered])
    assert [version["version"] for version in versions] == list(range(len(notes), 0, -1))


def _by_agent(crowd: list[Talker]) -> dict[str, list[Talker]]:
    found = defaultdict(list)
    for talker in crowd:
        found[talker.agent_id].append(talker)
    return found


def _model_calls(provider: ScriptedProvider, crowd: list[Talker]) -> dict[str, int]:
    """How often each last step of a turn was asked of the model."""
    counts: dict[str, int] = defaultdict(int)
    for seen in provider.calls:
        newest = [message for message in seen.body["messages"] if message["role"] == "user"][-1]["content"]
        last = seen.body["messages"][-1]["role"] == "tool" or "@then" not in newest
        counts[newest.rpartition("@say heard ")[2]] += last
    return counts
