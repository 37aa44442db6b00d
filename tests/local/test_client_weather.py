"""The whole system in the weather of the cloud: lagging indexes, conflicts, throttling, lost answers of the tables.

What a client sees must be the same as on a calm day; only lists that are allowed to lag may need a moment.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from letta_client import APIStatusError, Letta, NotFoundError

from tests.doubles.provider import ScriptedProvider
from tests.local.clients import client_of, history, in_threads, said, unpaired_calls
from tests.local.servers import LocalServer

MODEL = "openai/gpt-4o-mini"
TURNS = 4


SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 15))]


@pytest.fixture(params=SEEDS)
def stormy(request: pytest.FixtureRequest, tmp_path: Path, provider: ScriptedProvider) -> Iterator[Letta]:
    """The official client, with its usual retries, on a server in weather."""
    environment = provider.environment | {"AGENTKEEP_WEATHER": str(request.param)}
    local = LocalServer(tmp_path / "data", environment).start()
    yield client_of(local.base_url, max_retries=2)
    local.stop()


def soon(look: Callable[[], bool]) -> bool:
    """Whether it becomes true within the time that an index may lag."""
    deadline = time.monotonic() + 5
    while not look():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def aside(client: Letta, conversation_id: str, name: str) -> None:
    """A streamed turn. What fails in a stream, the client does not try again, so it is sent again by its otid."""
    message: Any = {"role": "user", "content": f"@say aside {name}", "otid": name}
    for _ in range(5):
        with suppress(APIStatusError):
            assert said(client.conversations.messages.create(conversation_id, messages=[message])) == f"aside {name}"
            return
    raise AssertionError(f"{name} was refused again and again")


def test_nothing_is_lost_doubled_or_out_of_order(stormy: Letta) -> None:
    shared = stormy.blocks.create(label="shared", value="start")
    agents = [
        stormy.agents.create(
            name=f"agent {number}",
            model=MODEL,
            tags=["stormy"],
            block_ids=[shared.id],
            memory_blocks=[{"label": "human", "value": "start"}],
        )
        for number in range(4)
    ]
    conversations = [stormy.conversations.create(agent_id=agent.id) for agent in agents]

    def talk(number: int) -> list[str]:
        heard = []
        for turn in range(TURNS):
            name = f"{number}-{turn}"
            calls = "\n@then\n".join(
                f'@call memory_insert {{"label": "{label}", "new_string": "{name}"}}' for label in ("shared", "human")
            )
            text = f"{calls}\n@then\n@say heard {name}"
            heard.append(said(stormy.agents.messages.create(agents[number].id, input=text).messages))
            aside(stormy, conversations[number].id, name)
        return heard

    answers = in_threads(4, talk)

    for number, agent in enumerate(agents):
        expected = [f"heard {number}-{turn}" for turn in range(TURNS)]
        messages = history(stormy, agent.id)
        beside = history(stormy, agent.id, conversations[number].id)
        assert answers[number] == said(messages).splitlines() == expected
        assert unpaired_calls(messages) == set()
        assert said(beside).splitlines() == [f"aside {number}-{turn}" for turn in range(TURNS)]
        own = stormy.agents.blocks.retrieve("human", agent_id=agent.id).value.splitlines()
        assert own == ["start", *(f"{number}-{turn}" for turn in range(TURNS))]
        assert soon(lambda agent=agent: len(list(stormy.runs.list(agent_id=agent.id, limit=3))) == 2 * TURNS)  # type: ignore[misc]
    together = stormy.blocks.retrieve(shared.id).value.splitlines()
    assert sorted(together) == sorted(["start", *(f"{n}-{turn}" for n in range(4) for turn in range(TURNS))])


def test_lists_that_must_not_lag_show_what_was_just_made(stormy: Letta) -> None:
    """Where the client tried a creation again after its answer got lost, there are two agents of that name."""

    def listed() -> list[str]:
        return list(dict.fromkeys(agent.name for agent in stormy.agents.list(tags=["fresh"], limit=5, order="asc")))

    names: list[str] = []
    for number in range(12):
        names.append(stormy.agents.create(name=f"agent {number:02}", model=MODEL, tags=["fresh"]).name)
        assert listed() == names
        assert stormy.tags.list() == ["fresh"]

    for name in names.copy():
        for agent in stormy.agents.list(name=name):
            with suppress(NotFoundError):  # the client's second try, after a first whose answer got lost
                stormy.agents.delete(agent.id)
        names.remove(name)
        assert listed() == names
