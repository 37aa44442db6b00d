"""Stopping and starting again, politely and by kill -9 under load: what was answered is there, and nothing twice."""

import json
import random
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from letta_client import APIConnectionError, APIStatusError, ConflictError, Letta

from tests.doubles.provider import ScriptedProvider
from tests.local.clients import client_of, history, said, unpaired_calls
from tests.local.servers import LocalServer

MODEL: Final = "openai/gpt-4o-mini"
AGENTS: Final = 4
CLIENTS: Final = 8
SETTLED_SECONDS: Final = 20
CUT_OFF: Final = (APIConnectionError, APIStatusError, httpx.HTTPError)


def free_port() -> int:
    """A port that a server can come back to: below those that systems give to outgoing connections."""
    while True:
        port = random.randint(20_000, 30_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


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
    """One client in one conversation: turns of text and of memory in turn, until it is told to stop or cut off.

    In an agent's default conversation it waits for whole answers and leaves repeating to letta-client. In another one
    it reads streams, which letta-client does not repeat, and repeats a turn itself, under the same otid.
    """

    def __init__(self, client: Letta, agent_id: str, conversation_id: str | None, name: str, *, patient: bool) -> None:
        self.client, self.agent_id, self.conversation_id, self.name = client, agent_id, conversation_id, name
        self.sent: list[str] = []
        self.answered: list[str] = []
        self.stop = threading.Event()
        self.cut_off: Exception | None = None
        self._patient = patient

    def talk(self) -> None:
        """Notes what was sent before it is, and what was answered after it was."""
        while not self.stop.is_set():
            turn = f"{self.name}-{len(self.sent)}"
            self.sent.append(turn)
            try:
                self.say(turn, remembering=len(self.sent) % 2 == 0)
            except CUT_OFF as error:
                self.cut_off = error
                return
            self.answered.append(turn)

    def say(self, turn: str, *, remembering: bool = False) -> None:
        """One turn, whose text and effects name it."""
        call = f'@call memory_insert {{"label": "notes", "new_string": "{turn}"}}\n@then\n' if remembering else ""
        text = f"{call}@say heard {turn}."
        if self.conversation_id is None:
            heard = said(self.client.agents.messages.create(self.agent_id, input=text).messages)
        else:
            heard = self._stream(self.conversation_id, text, turn)
        assert heard == f"heard {turn}."

    def _stream(self, conversation_id: str, text: str, otid: str) -> str:
        message: Any = {"role": "user", "content": text, "otid": otid}
        deadline = time.monotonic() + SETTLED_SECONDS
        while True:
            try:
                return said(self.client.conversations.messages.create(conversation_id, messages=[message]))
            except CUT_OFF:
                if not self._patient or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)


def talkers(server: LocalServer, *, max_retries: int) -> list[Talker]:
    """Two clients for each agent: one in its default conversation, one in a conversation of its own."""
    client = client_of(server.base_url, max_retries=max_retries)
    patient = max_retries > 0
    made = []
    for number in range(AGENTS):
        agent = client.agents.create(model=MODEL, memory_blocks=[{"label": "notes", "value": "start"}])
        own = client.conversations.create(agent_id=agent.id).id
        made.append(Talker(client, agent.id, None, f"home{number}", patient=patient))
        made.append(Talker(client, agent.id, own, f"own{number}", patient=patient))
    return made


def started(crowd: list[Talker]) -> list[threading.Thread]:
    """The clients at work, after the first turns have been answered."""
    threads = [threading.Thread(target=talker.talk) for talker in crowd]
    for thread in threads:
        thread.start()
    until_answered(crowd, CLIENTS)
    return threads


def until_answered(crowd: list[Talker], more: int) -> None:
    """Waits until so many more turns have been answered."""
    before = sum(len(talker.answered) for talker in crowd)
    deadline = time.monotonic() + 3 * SETTLED_SECONDS
    while sum(len(talker.answered) for talker in crowd) < before + more:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until_each_is_answered(crowd: list[Talker]) -> None:
    """Waits for a turn of each, so that none is interrupted three times, after which its run would fail."""
    before = [len(talker.answered) for talker in crowd]
    deadline = time.monotonic() + 3 * SETTLED_SECONDS
    while any(len(talker.answered) <= count for talker, count in zip(crowd, before, strict=True)):
        assert time.monotonic() < deadline, [talker.cut_off for talker in crowd]
        time.sleep(0.01)


def finish(crowd: list[Talker], threads: list[threading.Thread]) -> None:
    """Lets each client end its turn."""
    for talker in crowd:
        talker.stop.set()
    for thread in threads:
        thread.join()


def until_settled(attempt: Callable[[], Any]) -> Any:
    """Makes a turn although the server may still go on with the one that was interrupted."""
    deadline = time.monotonic() + SETTLED_SECONDS
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

    def test_turns_at_work_are_not_lost_nor_doubled(
        self, own_server: LocalServer, own_provider: ScriptedProvider
    ) -> None:
        crowd = talkers(own_server, max_retries=0)
        threads = started(crowd)

        own_server.restart()
        finish(crowd, threads)

        assert_all_there(crowd)
        assert {seen.status for seen in own_provider.calls} == {200}


class TestKill:
    def test_all_that_was_answered_is_there_and_everything_answers_again(
        self, own_server: LocalServer, own_provider: ScriptedProvider
    ) -> None:
        crowd = talkers(own_server, max_retries=0)
        threads = started(crowd)

        own_server.kill9()
        finish(crowd, threads)
        own_server.start()

        assert_all_there(crowd)
        assert {seen.status for seen in own_provider.calls} == {200}

    def test_clients_that_try_again_across_it_lose_and_double_nothing(
        self, own_server: LocalServer, own_provider: ScriptedProvider
    ) -> None:
        crowd = talkers(own_server, max_retries=8)
        threads = started(crowd)

        own_server.kill9()
        own_server.start()
        until_answered(crowd, 2 * CLIENTS)
        finish(crowd, threads)

        assert [talker.cut_off for talker in crowd] == [None] * CLIENTS
        assert_all_there(crowd)
        again = {turn: count - 1 for turn, count in _last_steps_asked(own_provider).items() if count > 1}
        assert len(again) <= CLIENTS
        assert set(again.values()) <= {1}

    @pytest.mark.long
    @pytest.mark.timeout(900)
    def test_many_kills_in_a_row(self, own_server: LocalServer, own_provider: ScriptedProvider) -> None:
        crowd = talkers(own_server, max_retries=12)
        threads = started(crowd)

        for number in range(20):
            until_each_is_answered(crowd)
            until_answered(crowd, number)
            own_server.kill9()
            own_server.start()
        finish(crowd, threads)

        assert [talker.cut_off for talker in crowd] == [None] * CLIENTS
        assert_all_there(crowd)
        assert {seen.status for seen in own_provider.calls} == {200}


def assert_all_there(crowd: list[Talker]) -> None:
    """Every conversation answers again and tells each turn once and in order; its agent's block has every note once.

    A turn that nobody repeats is closed by the next one: then it was asked, and may not have been answered.
    """
    for talker in crowd:
        last = f"{talker.name}-last"
        until_settled(partial(talker.say, last))
        messages = history(talker.client, talker.agent_id, talker.conversation_id)
        asked, told = turns_asked(messages), turns_told(messages)
        assert unpaired_calls(messages) == set()
        assert asked == [turn for turn in [*talker.sent, last] if turn in asked]
        assert told in (asked, [turn for turn in asked if turn != talker.sent[-1]])
        assert set(talker.answered) <= set(told)
    for agent_id, theirs in _by_agent(crowd).items():
        _assert_notes(theirs[0].client, agent_id, theirs)


def _assert_notes(client: Letta, agent_id: str, theirs: list[Talker]) -> None:
    """The block has what calls with a successful return wrote, each in a version of its own."""
    block = client.agents.blocks.retrieve("notes", agent_id=agent_id)
    notes = block.value.splitlines()
    histories = [history(client, agent_id, talker.conversation_id) for talker in theirs]
    versions: Any = client.get(f"/v1/blocks/{block.id}/history?limit=1000", cast_to=object)
    assert sorted(notes) == sorted(["start", *(note for messages in histories for note in _written(messages))])
    assert [version["version"] for version in versions] == list(range(len(notes), 0, -1))


def _written(messages: list[Any]) -> Iterator[str]:
    done = {m.tool_call_id for m in messages if m.message_type == "tool_return_message" and m.status == "success"}
    calls = [message.tool_call for message in messages if message.message_type == "tool_call_message"]
    return (json.loads(call.arguments)["new_string"] for call in calls if call.tool_call_id in done)


def _by_agent(crowd: list[Talker]) -> dict[str, list[Talker]]:
    found = defaultdict(list)
    for talker in crowd:
        found[talker.agent_id].append(talker)
    return found


def _last_steps_asked(provider: ScriptedProvider) -> dict[str, int]:
    """How often the last step of each turn was asked of the model."""
    counts: dict[str, int] = defaultdict(int)
    for seen in provider.calls:
        newest = [message for message in seen.body["messages"] if message["role"] == "user"][-1]["content"]
        counts[newest.rpartition("@say heard ")[2]] += (
            "@then" not in newest or seen.body["messages"][-1]["role"] == "tool"
        )
    return counts
