"""Blocks and tools by the official client: standing alone, attached, shared, versioned; read-only ones obeyed."""

from typing import Any
from uuid import uuid4

import pytest
from letta_client import BadRequestError, ConflictError, Letta, NotFoundError
from letta_client.types import AgentState

from tests.local.clients import in_threads

MODEL = "openai/gpt-4o-mini"


@pytest.fixture
def label() -> str:
    """A label that no other test uses."""
    return f"label_{uuid4().hex[:8]}"


@pytest.fixture
def agent(client: Letta) -> AgentState:
    """An agent with one block, `human`."""
    return client.agents.create(model=MODEL, memory_blocks=[{"label": "human", "value": "Ada"}])


def versions(client: Letta, block_id: str) -> list[dict[str, Any]]:
    """A block's history, newest first."""
    found: Any = client.get(f"/v1/blocks/{block_id}/history", cast_to=object)
    return list(found)


class TestBlocks:
    def test_are_created_read_changed_and_deleted(self, client: Letta, label: str) -> None:
        block = client.blocks.create(
            label=label, value="one", description="Of this test.", limit=50, metadata={"n": 1}, tags=["kept"]
        )
        changed = client.blocks.update(block.id, value="two", metadata={"n": 2})
        read = client.blocks.retrieve(block.id)
        client.blocks.delete(block.id)

        assert (block.label, block.value, block.limit, block.read_only) == (label, "one", 50, False)
        assert (changed.value, changed.description, changed.metadata) == ("two", "Of this test.", {"n": 2})
        assert read == changed
        with pytest.raises(NotFoundError):
            client.blocks.retrieve(block.id)

    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_are_walked_once_each_in_order(self, client: Letta, label: str, order: Any) -> None:
        values = [f"value {number}" for number in range(11)]
        for value in values:
            client.blocks.create(label=label, value=value)

        walked = [block.value for block in client.blocks.list(label=label, limit=4, order=order)]

        assert walked == (values if order == "asc" else values[::-1])

    @pytest.mark.parametrize(
        "filters",
        [
            {"value_search": "needle"},
            {"description_search": "pointed"},
            {"tags": ["sharp"]},
            {"tags": ["sharp", "steel"], "match_all_tags": True},
            {"connected_to_agents_count_eq": [1]},
            {"connected_to_agents_count_gt": 0},
        ],
    )
    def test_are_found_by_any_filter(self, client: Letta, label: str, filters: Any) -> None:
        needle = client.blocks.create(
            label=label, value="a needle", description="Something pointed.", tags=["sharp", "steel"]
        )
        client.blocks.create(label=label, value="hay", tags=["soft"])
        client.agents.create(model=MODEL, block_ids=[needle.id])

        found = client.blocks.list(label=label, **filters)

        assert [block.value for block in found] == ["a needle"]

    def test_values_are_kept_to_the_letter(self, client: Letta, label: str) -> None:
        odd = 'a"b\\c\n\t</label> {{x}} 漢字 🙂‍↔️ \u2028 é'

        block = client.blocks.create(label=label, value=odd)

        assert client.blocks.retrieve(block.id).value == odd

    def test_a_nul_is_taken_out(self, client: Letta, label: str) -> None:
        block = client.blocks.create(label=label, value="a\x00b")

        assert block.value == "ab"


class TestBlocksOfAgents:
    def test_are_read_and_changed_by_label(self, client: Letta, agent: AgentState) -> None:
        client.agents.blocks.update("human", agent_id=agent.id, value="Grace", description="Who I talk to.")

        block = client.agents.blocks.retrieve("human", agent_id=agent.id)

        assert (block.value, block.description) == ("Grace", "Who I talk to.")
        with pytest.raises(NotFoundError):
            client.agents.blocks.retrieve("persona", agent_id=agent.id)

    def test_attach_and_detach(self, client: Letta, agent: AgentState, label: str) -> None:
        block = client.blocks.create(label=label, value="shared")

        attached = client.agents.blocks.attach(block.id, agent_id=agent.id)
        again = client.agents.blocks.attach(block.id, agent_id=agent.id)
        listed = [found.label for found in client.agents.blocks.list(agent.id, limit=1)]
        detached = client.agents.blocks.detach(block.id, agent_id=agent.id)

        assert {found.label for found in attached.blocks} == {"human", label}
        assert len(again.blocks) == 2
        assert sorted(listed) == sorted(["human", label])
        assert [found.label for found in detached.blocks] == ["human"]
        assert client.blocks.retrieve(block.id).value == "shared"

    def test_five_attachments_at_once_are_one(self, client: Letta, agent: AgentState, label: str) -> None:
        block = client.blocks.create(label=label, value="shared")

        in_threads(5, lambda _: client.agents.blocks.attach(block.id, agent_id=agent.id))

        assert len(list(client.agents.blocks.list(agent.id))) == 2

    def test_a_second_block_of_a_label_is_refused(self, client: Letta, agent: AgentState) -> None:
        rival = client.blocks.create(label="human", value="somebody else")

        with pytest.raises((BadRequestError, ConflictError), match="human"):
            client.agents.blocks.attach(rival.id, agent_id=agent.id)

    def test_a_shared_block_names_its_agents_page_by_page(self, client: Letta, label: str) -> None:
        block = client.blocks.create(label=label, value="shared")
        names = [f"{label} {number}" for number in range(5)]
        for name in names:
            client.agents.create(name=name, model=MODEL, block_ids=[block.id])

        walked = [found.name for found in client.blocks.agents.list(block.id, limit=2, order="asc")]

        assert walked == names


class TestMemoryOfTurns:
    def test_what_one_agent_writes_another_reads(self, client: Letta, label: str) -> None:
        block = client.blocks.create(label=label, value="start")
        writer, reader = (client.agents.create(model=MODEL, block_ids=[block.id]) for _ in range(2))

        client.agents.messages.create(
            writer.id, input=f'@call memory_insert {{"label": "{label}", "new_string": "from the writer"}}'
        )

        assert client.blocks.retrieve(block.id).value == "start\nfrom the writer"
        assert "from the writer" in client.agents.recompile(reader.id)

    def test_a_read_only_block_stays_as_it_is(self, client: Letta, label: str) -> None:
        block = client.blocks.create(label=label, value="No pushes to main.", read_only=True)
        agent = client.agents.create(model=MODEL, block_ids=[block.id])

        answer = client.agents.messages.create(
            agent.id, input=f'@call memory_insert {{"label": "{label}", "new_string": "Except on Fridays."}}'
        )

        returned = next(each for each in answer.messages if each.message_type == "tool_return_message")
        assert returned.status == "error"
        assert client.blocks.retrieve(block.id).value == "No pushes to main."

    def test_every_write_is_a_version_that_can_be_undone(self, client: Letta, agent: AgentState) -> None:
        block = client.agents.blocks.retrieve("human", agent_id=agent.id)
        client.blocks.update(block.id, value="Ada Lovelace")
        client.agents.messages.create(
            agent.id, input='@call memory_replace {"label": "human", "old_string": "Ada", "new_string": "Countess"}'
        )
        before = [version["value"] for version in versions(client, block.id)]

        client.post(f"/v1/blocks/{block.id}/undo", body={}, cast_to=object)

        assert before == ["Countess Lovelace", "Ada Lovelace", "Ada"]
        assert client.blocks.retrieve(block.id).value == "Ada Lovelace"
        assert versions(client, block.id)[0]["value"] == "Ada Lovelace"

    def test_writers_at_the_same_time_lose_nothing(self, client: Letta, label: str) -> None:
        block = client.blocks.create(label=label, value="start")
        agents = [client.agents.create(model=MODEL, block_ids=[block.id]) for _ in range(6)]

        in_threads(
            6,
            lambda number: client.agents.messages.create(
                agents[number].id, input=f'@call memory_insert {{"label": "{label}", "new_string": "line {number}"}}'
            ),
        )

        lines = client.blocks.retrieve(block.id).value.splitlines()
        assert sorted(lines) == sorted(["start", *(f"line {number}" for number in range(6))])
        assert len(versions(client, block.id)) == 7


class TestTools:
    def test_are_walked_once_each(self, client: Letta) -> None:
        names = [tool.name for tool in client.tools.list(limit=5)]

        assert len(names) == len(set(names))
        assert {"memory_insert", "memory_replace", "memory_rethink", "memory", "core_memory_append"} <= set(names)
        assert {"core_memory_replace", "conversation_search", "send_message"} <= set(names)

    def test_are_found_by_name_and_read_by_id(self, client: Letta) -> None:
        (tool,) = client.tools.list(name="memory_insert")

        read = client.tools.retrieve(tool.id)

        assert (read.id, read.name, read.json_schema) == (tool.id, tool.name, tool.json_schema)
        assert tool.json_schema is not None
        assert tool.json_schema["name"] == "memory_insert"

    def test_attach_and_detach(self, client: Letta, agent: AgentState) -> None:
        (tool,) = client.tools.list(name="core_memory_append")

        client.agents.tools.attach(tool.id, agent_id=agent.id)
        client.agents.tools.attach(tool.id, agent_id=agent.id)
        during = [found.name for found in client.agents.tools.list(agent.id, limit=2)]
        client.agents.tools.detach(tool.id, agent_id=agent.id)
        after = [found.name for found in client.agents.tools.list(agent.id)]

        assert sorted(during) == ["conversation_search", "core_memory_append", "memory_insert", "memory_replace"]
        assert sorted(after) == ["conversation_search", "memory_insert", "memory_replace"]

    def test_base_tools_are_always_there(self, client: Letta) -> None:
        added: Any = client.post("/v1/tools/add-base-tools", cast_to=object)

        assert {tool["name"] for tool in added} >= {"memory_insert", "conversation_search"}
