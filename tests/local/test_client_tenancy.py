"""Tenants by their keys, with the official client: each sees its own and nothing else, and may do what its role may."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from letta_client import APIStatusError, AuthenticationError, Letta, NotFoundError, PermissionDeniedError

from tests.local.clients import client_of, in_threads, said
from tests.local.servers import LocalServer

MODEL = "demo/memory"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server that asks for keys and remembers them for a second, instead of a minute."""
    environment = {"AGENTKEEP_AUTHORIZER_CACHE_SECONDS": "1"}
    local = LocalServer(tmp_path_factory.mktemp("guarded") / "data", environment, "--require-keys").start()
    yield local
    local.stop()


def new_key(server: LocalServer, tenant: str, role: str = "admin") -> str:
    """A key, made as an operator makes it."""
    arguments = ("--tenant", tenant, "--role", role, "--name", f"{role} of {tenant}", "--data", str(server.data))
    made = server.agentkeep("keys", "create", *arguments)
    assert made.returncode == 0, made.stderr
    return made.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def acme(guarded: LocalServer) -> Letta:
    return client_of(guarded.base_url, new_key(guarded, "acme00001"))


@pytest.fixture(scope="module")
def globex(guarded: LocalServer) -> Letta:
    return client_of(guarded.base_url, new_key(guarded, "globex0001"))


@dataclass(frozen=True)
class Belongings:
    """Ids of one tenant."""

    agent: str
    block: str
    conversation: str
    message: str
    run: str
    step: str


@pytest.fixture(scope="module")
def belongings(acme: Letta) -> Belongings:
    """An agent of acme that has talked."""
    agent = acme.agents.create(
        name="secret", model=MODEL, tags=["secret"], memory_blocks=[{"label": "human", "value": "Secret."}]
    )
    conversation = acme.conversations.create(agent_id=agent.id)
    answer = acme.agents.messages.create(agent.id, input="hello")
    run = next(iter(acme.runs.list(agent_id=agent.id)))
    step = next(iter(acme.steps.list(agent_id=agent.id)))
    return Belongings(agent.id, agent.blocks[0].id or "", conversation.id, answer.messages[-1].id, run.id, step.id)


REACHES: dict[str, Callable[[Letta, Belongings], object]] = {
    "read an agent": lambda c, theirs: c.agents.retrieve(theirs.agent),
    "change an agent": lambda c, theirs: c.agents.update(theirs.agent, name="mine"),
    "delete an agent": lambda c, theirs: c.agents.delete(theirs.agent),
    "talk to an agent": lambda c, theirs: c.agents.messages.create(theirs.agent, input="hello"),
    "read its history": lambda c, theirs: c.agents.messages.list(theirs.agent),
    "read its memory": lambda c, theirs: c.agents.blocks.retrieve("human", agent_id=theirs.agent),
    "read a block": lambda c, theirs: c.blocks.retrieve(theirs.block),
    "change a block": lambda c, theirs: c.blocks.update(theirs.block, value="mine"),
    "take a block": lambda c, theirs: c.agents.create(model=MODEL, block_ids=[theirs.block]),
    "see who has a block": lambda c, theirs: c.blocks.agents.list(theirs.block),
    "read a conversation": lambda c, theirs: c.conversations.retrieve(theirs.conversation),
    "open a conversation": lambda c, theirs: c.conversations.create(agent_id=theirs.agent),
    "talk in a conversation": lambda c, theirs: list(c.conversations.messages.create(theirs.conversation, input="hi")),
    "read a message": lambda c, theirs: c.messages.retrieve(theirs.message),
    "read a run": lambda c, theirs: c.runs.retrieve(theirs.run),
    "read a step": lambda c, theirs: c.steps.retrieve(theirs.step),
    "go on from its cursor": lambda c, theirs: c.agents.list(after=theirs.agent),
}


@pytest.mark.parametrize("reach", REACHES)
def test_what_belongs_to_another_tenant_is_not_found(
    acme: Letta, globex: Letta, belongings: Belongings, reach: str
) -> None:
    with pytest.raises(NotFoundError):
        REACHES[reach](globex, belongings)

    assert acme.agents.retrieve(belongings.agent).name == "secret"
    assert acme.blocks.retrieve(belongings.block).value == "Secret."


def test_lists_have_nothing_of_others(guarded: LocalServer, belongings: Belongings) -> None:
    client = client_of(guarded.base_url, new_key(guarded, "initech001"))

    assert list(client.agents.list()) == list(client.blocks.list()) == []
    assert list(client.runs.list()) == list(client.steps.list()) == []
    assert client.tags.list() == client.messages.list() == []
    assert list(client.runs.list(agent_id=belongings.agent)) == []
    assert client.get("/v1/agents/count", cast_to=int) == 0


class TestKeys:
    @pytest.mark.parametrize("key", ["any", "ak_acme00001_0123456789abcdef.wrong"])
    def test_an_unknown_one_is_refused(self, guarded: LocalServer, key: str) -> None:
        with pytest.raises(AuthenticationError) as caught:
            client_of(guarded.base_url, key).agents.list()

        assert isinstance(caught.value.body, dict)
        assert "detail" in caught.value.body

    def test_a_revoked_one_is_refused_when_the_door_has_forgotten_it(self, guarded: LocalServer) -> None:
        key = new_key(guarded, "initech001")
        client = client_of(guarded.base_url, key)
        client.agents.list()

        revoked = guarded.agentkeep("keys", "revoke", key, "--data", str(guarded.data))

        assert revoked.returncode == 0, revoked.stderr
        time.sleep(1)
        with pytest.raises(AuthenticationError):
            client.agents.list()

    def test_health_needs_none(self, guarded: LocalServer) -> None:
        assert client_of(guarded.base_url, "none").health().status == "ok"

    def test_the_role_decides_what_a_key_may_do(self, guarded: LocalServer, acme: Letta) -> None:
        agent = acme.agents.create(model=MODEL)
        user = client_of(guarded.base_url, new_key(guarded, "acme00001", "user"))
        creator = client_of(guarded.base_url, new_key(guarded, "acme00001", "agent_creator"))

        assert said(user.agents.messages.create(agent.id, input="hello").messages)
        assert creator.agents.create(model=MODEL).id
        for refused in (
            lambda: user.agents.create(model=MODEL),
            lambda: user.agents.delete(agent.id),
            lambda: user.blocks.create(label="x", value="y"),
            lambda: user.agents.blocks.update("human", agent_id=agent.id, value="x"),
        ):
            with pytest.raises(PermissionDeniedError):
                refused()


class TestCrowd:
    """Sixteen threads of four tenants, each of which looks whether anything it is answered is another's."""

    @pytest.fixture(scope="class")
    @staticmethod
    def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
        local = LocalServer(tmp_path_factory.mktemp("crowd") / "data", None, "--require-keys", "--fast").start()
        yield local
        local.stop()

    def test_no_answer_crosses(self, server: LocalServer) -> None:
        assert _crossings(server, rounds=2) == []

    @pytest.mark.long
    @pytest.mark.timeout(600)
    def test_no_answer_of_two_thousand_crosses(self, server: LocalServer) -> None:
        assert _crossings(server, rounds=21) == []


def _crossings(server: LocalServer, rounds: int) -> list[str]:
    """Every round of a thread is six requests."""
    tenants = [f"tenant{number:04}" for number in range(4)]
    keys = [new_key(server, tenant) for tenant in tenants]
    found: list[str] = []

    def live(number: int) -> None:
        tenant = tenants[number % 4]
        client = client_of(server.base_url, keys[number % 4])
        for turn in range(rounds):
            found.extend(_strange(client, tenant, f"{tenant}-{number}-{turn}"))

    in_threads(16, live)
    return found


def _strange(client: Letta, tenant: str, name: str) -> list[str]:
    blocks: Any = [{"label": "human", "value": f"Name: {name}"}]
    agent = client.agents.create(name=name, model=MODEL, memory_blocks=blocks, tags=[tenant])
    answer = said(client.agents.messages.create(agent.id, input="What is my name?").messages)
    listed = client.agents.list(limit=50).items
    tags = client.tags.list()
    value = client.agents.blocks.retrieve("human", agent_id=agent.id).value
    told = [
        message.content for message in client.messages.list(limit=20) if message.message_type == "assistant_message"
    ]
    looked = [answer, value, *(each.name for each in listed), *tags, *map(str, told), agent.name]
    return [text for text in looked if tenant not in text]


def test_errors_of_the_door_have_the_shape_of_all_others(guarded: LocalServer) -> None:
    with pytest.raises(APIStatusError) as caught:
        client_of(guarded.base_url, "any").post("/v1/agents", body={}, cast_to=object)

    assert caught.value.status_code == 401
    assert set(caught.value.body or {}) == {"detail"}  # type: ignore[call-overload]
