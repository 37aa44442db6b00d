"""Many entities at once, written through the store: what lists are tried on."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from agentkeep import ids
from agentkeep.store import agents, blocks, conversations, database, messages, runs
from agentkeep.store.agents import Activity
from agentkeep.store.content import Message, TextPart
from agentkeep.store.conversations import State
from agentkeep.store.database import Write
from agentkeep.store.entities import Agent, Block, Conversation, Run, Segment, Step, Window

START = datetime(2026, 1, 1, tzinfo=UTC)
Fields = Callable[[int], dict[str, Any]]


def minute(number: int) -> datetime:
    """A moment, later for a greater number."""
    return START + timedelta(minutes=number)


def store(writes: Iterable[Write]) -> None:
    """Writes everything, a hundred at a time."""
    database.transact_all(writes, "last")


def many_agents(count: int, fields: Fields = lambda number: {}) -> list[Agent]:
    """Agents with empty default conversations, oldest first. `fields` gives what is special about each."""
    made = [
        Agent.model_validate(
            {
                "id": ids.new("agent"),
                "name": f"agent {number}",
                "system": "",
                "model": "demo/memory",
                "created_at": minute(number),
                "updated_at": minute(number),
            }
            | fields(number)
        )
        for number in range(count)
    ]
    store(write for agent in made for write in _agent_writes(agent))
    return made


def _agent_writes(agent: Agent) -> Iterator[Write]:
    yield from _default_conversation(agent)
    yield from agents.edge_writes(agent.id, agent.block_ids)
    yield from agents.create_writes(agent)


def _default_conversation(agent: Agent) -> Iterator[Write]:
    conversation = Conversation(
        id=agent.id,
        agent_id=agent.id,
        system_message_id=ids.new("message"),
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )
    return conversations.create_writes(State(conversation))


def finish_runs(made: Iterable[tuple[Agent, Activity]]) -> None:
    """Notes the last run of agents."""
    for agent, activity in made:
        agents.record_activity(agent.id, activity)


def many_blocks(count: int, fields: Fields = lambda number: {}) -> list[Block]:
    """Blocks, oldest first."""
    stamp = {"created_at": START, "updated_at": START}
    made = [
        Block.model_validate(
            {"id": ids.new("block"), "label": f"label {number}", "value": "", **stamp} | fields(number)
        )
        for number in range(count)
    ]
    store(write for block in made for write in blocks.create_writes(block, "somebody"))
    return made


def many_conversations(agent_id: str, count: int, fields: Fields = lambda number: {}) -> list[Conversation]:
    """Named conversations without messages, oldest first."""
    made = [
        Conversation.model_validate(
            {
                "id": ids.new("conv"),
                "agent_id": agent_id,
                "system_message_id": ids.new("message"),
                "created_at": START,
                "updated_at": START,
            }
            | fields(number)
        )
        for number in range(count)
    ]
    store(write for conversation in made for write in conversations.create_writes(State(conversation)))
    return made


def many_messages(agent_id: str, conversation: str, count: int, fields: Fields = lambda number: {}) -> list[Message]:
    """Messages of an agent, user and assistant by turns, in the conversation's window."""
    with_state = conversations.get(conversation)
    first = with_state.next_seq
    made = [
        Message.model_validate(
            {
                "id": ids.new("message"),
                "agent_id": agent_id,
                "conversation": conversation,
                "role": "assistant" if number % 2 else "user",
                "seq": first + number,
                "content": [TextPart(text=f"message {number}")],
                "created_at": minute(number),
            }
            | fields(number)
        )
        for number in range(count)
    ]
    store(write for message in made for write in messages.put_writes(message))
    window = Window(segments=[Segment(conversation=conversation, first=1)])
    database.write(conversations.reset_write(with_state, window, first + count))
    return made


def many_runs(agent_id: str, count: int, fields: Fields = lambda number: {}) -> list[Run]:
    """Finished runs of an agent's default conversation, oldest first."""
    made = [
        Run.model_validate(
            {
                "id": ids.new("run"),
                "agent_id": agent_id,
                "conversation": agent_id,
                "status": "completed",
                "stop_reason": "end_turn",
                "created_at": minute(number),
            }
            | fields(number)
        )
        for number in range(count)
    ]
    store(runs.create_write(run) for run in made)
    store(runs.update_write(run) for run in made if run.status == "completed")
    return made


def many_steps(run: Run, count: int, fields: Fields = lambda number: {}) -> list[Step]:
    """Steps of a run, oldest first."""
    made = [
        Step.model_validate(
            {
                "id": ids.new("step"),
                "run_id": run.id,
                "agent_id": run.agent_id,
                "conversation": run.conversation,
                "number": number + 1,
                "model": "demo/memory",
                "created_at": minute(number),
            }
            | fields(number)
        )
        for number in range(count)
    ]
    store(runs.step_write(step) for step in made)
    return made
