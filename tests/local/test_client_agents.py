"""Agents by the official client: create, read, list in pages, change, delete; tags, context and the compiled prompt."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from letta_client import AsyncLetta, BadRequestError, Letta, NotFoundError, UnprocessableEntityError
from letta_client.types import AgentState

from tests.local.clients import client_of
from tests.local.servers import LocalServer

MODEL = "openai/gpt-4o-mini"


@pytest.fixture
def tag() -> str:
    """A tag that no other test uses: the agents of this one."""
    return f"tag-{uuid4().hex[:8]}"


def make_agent(client: Letta, **fields: Any) -> AgentState:
    return client.agents.create(model=MODEL, include_base_tools=False, **fields)


@pytest.fixture(scope="module")
def crowd(shared_server: LocalServer) -> tuple[str, list[str]]:
    """A tag, and the names of the 23 agents that carry it, oldest first; every third carries `third` as well."""
    client, tag = client_of(shared_server.base_url), f"crowd-{uuid4().hex[:8]}"
    names = [f"{tag}-{number:02}" for number in range(23)]
    for number, name in enumerate(names):
        make_agent(client, name=name, tags=[tag, "third"] if number % 3 == 0 else [tag])
    return tag, names


class TestCreate:
    def test_answers_with_all_that_was_asked_for(self, client: Letta, tag: str) -> None:
        agent = client.agents.create(
            name="keeper",
            model=MODEL,
            description="Keeps notes.",
            tags=[tag, "kept"],
            metadata={"team": "halo", "depth": {"a": [1, None]}},
            system="You keep notes.",
            timezone="Europe/Paris",
            memory_blocks=[
                {"label": "human", "value": "Ada", "limit": 300, "description": "Who I talk to."},
                {"label": "rules", "value": "Be brief.", "read_only": True},
            ],
            tools=["core_memory_append"],
        )

        assert agent.id.startswith("agent-")
        assert (agent.name, agent.agent_type, agent.model) == ("keeper", "letta_v1_agent", MODEL)
        assert (agent.description, agent.system, agent.timezone) == (
            "Keeps notes.",
            "You keep notes.",
            "Europe/Paris",
        )
        assert sorted(agent.tags) == sorted([tag, "kept"])
        assert agent.metadata == {"team": "halo", "depth": {"a": [1, None]}}
        assert {block.label: (block.value, block.limit, block.read_only) for block in agent.blocks} == {
            "human": ("Ada", 300, False),
            "rules": ("Be brief.", 100_000, True),
        }
        assert {tool.name for tool in agent.tools} == {
            "conversation_search",
            "core_memory_append",
            "memory_insert",
            "memory_replace",
        }

    def test_an_agent_without_a_model_gets_one_of_the_server(self, client: Letta) -> None:
        agent = client.agents.create(name="bare")

        assert agent.model in {model.handle for model in client.models.list()}

    def test_a_legacy_agent_speaks_by_a_tool(self, client: Letta) -> None:
        agent = client.agents.create(name="legacy", agent_type="memgpt_v2_agent", model=MODEL)

        assert "send_message" in {tool.name for tool in agent.tools}

    def test_unknown_tools_are_refused_in_the_words_that_letta_code_looks_for(self, client: Letta) -> None:
        with pytest.raises(BadRequestError, match="tools not found by name"):
            client.agents.create(model=MODEL, tools=["web_search_of_tomorrow"])

    def test_an_unlisted_model_is_refused_with_those_that_are(self, client: Letta) -> None:
        with pytest.raises(NotFoundError, match="openai/gpt-4o-mini"):
            client.agents.create(model="openai/gpt-nonsense")

    def test_two_blocks_of_one_label_are_refused(self, client: Letta) -> None:
        twice: list[Any] = [{"label": "human", "value": "a"}, {"label": "human", "value": "b"}]

        with pytest.raises(BadRequestError, match="human"):
            client.agents.create(model=MODEL, memory_blocks=twice)

    def test_a_wrong_type_is_refused_with_its_field(self, client: Letta) -> None:
        wrong: Any = {"not": "a list"}

        with pytest.raises(UnprocessableEntityError, match="tags"):
            client.agents.create(model=MODEL, tags=wrong)


class TestRetrieve:
    def test_relationships_come_when_they_are_included(self, client: Letta, tag: str) -> None:
        agent = client.agents.create(model=MODEL, tags=[tag], memory_blocks=[{"label": "human", "value": "Ada"}])

        plain = client.agents.retrieve(agent.id)
        tags = client.agents.retrieve(agent.id, include=["agent.tags"])
        full = client.agents.retrieve(agent.id, include=["agent.blocks", "agent.tools", "agent.tags"])

        assert (plain.blocks, plain.tools, plain.tags) == ([], [], [])
        assert (tags.blocks, tags.tools, tags.tags) == ([], [], [tag])
        assert [block.label for block in full.blocks] == ["human"]
        assert len(full.tools) == 3

    def test_an_unknown_or_malformed_id_is_not_found_or_refused(self, client: Letta) -> None:
        with pytest.raises(NotFoundError):
            client.agents.retrieve(f"agent-{uuid4()}")
        with pytest.raises((NotFoundError, UnprocessableEntityError)):
            client.agents.retrieve("no-id-at-all")


class TestPages:
    """The client's own walk: it asks for the page after the last item until a page is empty."""

    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_visits_each_agent_once_in_order(self, client: Letta, crowd: tuple[str, list[str]], order: Any) -> None:
        tag, names = crowd

        walked = [agent.name for agent in client.agents.list(tags=[tag], limit=7, order=order)]

        assert walked == (names if order == "asc" else names[::-1])

    def test_walks_all_agents_of_a_tenant(self, client: Letta, crowd: tuple[str, list[str]]) -> None:
        walked = [agent.name for agent in client.agents.list(limit=7, order="asc") if agent.name in crowd[1]]

        assert walked == crowd[1]

    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_walks_backwards_from_a_cursor(self, client: Letta, crowd: tuple[str, list[str]], order: Any) -> None:
        tag, names = crowd
        expected = names if order == "asc" else names[::-1]
        last = list(client.agents.list(tags=[tag], order=order, limit=50))[-1]

        pages = client.agents.list(tags=[tag], limit=5, order=order, before=last.id).iter_pages()

        walked = [agent.name for page in list(pages)[::-1] for agent in page.items]
        assert walked == expected[:-1]

    def test_a_text_finds_all_names_with_it(self, client: Letta, crowd: tuple[str, list[str]]) -> None:
        tag, names = crowd

        found = client.agents.list(query_text=f"{tag}-1", limit=3, order="asc")

        assert [agent.name for agent in found] == names[10:20]

    def test_all_tags_or_any_of_them(self, client: Letta, crowd: tuple[str, list[str]]) -> None:
        tag, names = crowd

        both = client.agents.list(tags=[tag, "third"], match_all_tags=True, limit=3, order="asc")
        either = client.agents.list(tags=[tag, "third"], limit=3, order="asc")

        assert [agent.name for agent in both] == names[::3]
        assert [agent.name for agent in either] == names

    def test_one_name_is_found_among_many(self, client: Letta, crowd: tuple[str, list[str]]) -> None:
        found = list(client.agents.list(name=crowd[1][11], limit=1))

        assert [agent.name for agent in found] == [crowd[1][11]]

    def test_goes_on_when_agents_are_deleted_on_the_way(self, client: Letta, tag: str) -> None:
        agents = [make_agent(client, name=f"agent {number}", tags=[tag]) for number in range(9)]
        walked = []

        for agent in client.agents.list(tags=[tag], limit=3, order="asc"):
            walked.append(agent.name)
            if len(walked) in (3, 6):
                client.agents.delete(agent.id)

        assert walked == [agent.name for agent in agents]

    def test_a_cursor_that_never_was_is_not_found(self, client: Letta) -> None:
        with pytest.raises(NotFoundError):
            client.agents.list(after=f"agent-{uuid4()}")

    def test_the_async_client_walks_the_same(self, shared_server: LocalServer, crowd: tuple[str, list[str]]) -> None:
        async def walk() -> list[str]:
            async with AsyncLetta(base_url=shared_server.base_url, api_key="any") as client:
                return [agent.name async for agent in client.agents.list(tags=[crowd[0]], limit=4, order="asc")]

        assert asyncio.run(walk()) == crowd[1]

    def test_the_count_is_that_of_the_list(self, client: Letta, crowd: tuple[str, list[str]]) -> None:
        count = client.get("/v1/agents/count", cast_to=int)

        assert count == len(list(client.agents.list(limit=100)))


class TestChange:
    def test_update_changes_what_is_named_and_nothing_else(self, client: Letta, tag: str) -> None:
        agent = client.agents.create(
            model=MODEL,
            name="before",
            description="stays",
            tags=[tag],
            memory_blocks=[{"label": "human", "value": "A"}],
        )

        updated = client.agents.update(agent.id, name="after", metadata={"n": 1}, tags=[tag, "new"])
        read = client.agents.retrieve(agent.id, include=["agent.blocks", "agent.tags"])

        assert (updated.name, read.name, read.description) == ("after", "after", "stays")
        assert read.metadata == {"n": 1}
        assert sorted(read.tags) == sorted([tag, "new"])
        assert [block.value for block in read.blocks] == ["A"]

    def test_tags_are_listed_while_agents_carry_them(self, client: Letta, tag: str) -> None:
        agent = make_agent(client, tags=[tag])

        during = client.tags.list(query_text=tag)
        client.agents.delete(agent.id)

        assert during == [tag]
        assert client.tags.list(query_text=tag) == []

    def test_a_deleted_agent_is_gone_from_everywhere(self, client: Letta, tag: str) -> None:
        agent = make_agent(client, tags=[tag], memory_blocks=[{"label": "human", "value": "A"}])

        client.agents.delete(agent.id)

        assert list(client.agents.list(tags=[tag])) == []
        for read in (client.agents.retrieve, client.agents.delete, client.agents.messages.list):
            with pytest.raises(NotFoundError):
                read(agent.id)
        with pytest.raises(NotFoundError):
            client.agents.messages.create(agent.id, input="Are you there?")

    def test_recompile_renders_the_memory_as_it_is_now(self, client: Letta) -> None:
        agent = client.agents.create(model=MODEL, memory_blocks=[{"label": "human", "value": "Ada"}])
        client.agents.blocks.update("human", agent_id=agent.id, value="Grace <b>& co</b>")

        prompt = client.agents.recompile(agent.id)

        assert "Grace <b>& co</b>" in prompt
        assert "Ada" not in prompt

    def test_the_context_is_counted_by_its_parts(self, client: Letta) -> None:
        agent = client.agents.create(model=MODEL, memory_blocks=[{"label": "human", "value": "Ada"}])
        client.agents.messages.create(agent.id, input="@say Hello.")

        context: Any = client.get(f"/v1/agents/{agent.id}/context", cast_to=object)

        assert context["num_messages"] == 3
        assert "Ada" in context["core_memory"]
        assert 0 < context["context_window_size_current"] < context["context_window_size_max"] == 128_000
