"""What the store holds of an agent, read past the operations: for comparing two histories, and for finding damage."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agentkeep.memory.render import core_memory, fingerprint
from agentkeep.store.bodies import unpack
from agentkeep.store.content import Message, Record, Usage
from agentkeep.store.entities import Agent, Block, BlockVersion, Run, Step
from agentkeep.store.messages import END
from infra.local.environment import table_name
from tests.doubles.system import System

Item = dict[str, Any]
R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Contents:
    """An agent's default conversation and memory as a reader would tell them: no ids, no times."""

    history: Sequence[str]
    blocks: dict[str, list[str]]
    runs: Sequence[str]
    steps: Sequence[str]
    usage: Sequence[int]


class Ledger:
    """All items of a tenant at one moment."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.entities = _scan(system, "entities")
        self.messages = _scan(system, "messages")

    def _of_kind(self, kind: str, model: type[R]) -> list[R]:
        lead = f"{self._system.tenant}#{kind}#"
        items = [each for each in self.entities if each["pk"].startswith(lead) and each["sk"] == "state"]
        with self._system.acting():
            return [unpack(item, model) for item in items if not item.get("deleted")]

    @property
    def runs(self) -> list[Run]:
        """All runs, oldest first."""
        return sorted(self._of_kind("run", Run), key=lambda run: run.id)

    @property
    def steps(self) -> list[Step]:
        """All steps, oldest first."""
        return sorted(self._of_kind("step", Step), key=lambda step: step.id)

    @property
    def blocks(self) -> list[Block]:
        """All blocks that were not deleted."""
        return self._of_kind("block", Block)

    @property
    def agents(self) -> list[Agent]:
        """All agents that were not deleted."""
        return self._of_kind("agent", Agent)

    @property
    def usage(self) -> list[tuple[str, Usage]]:
        """The usage items, with the run they belong to."""
        items = [each for each in self.entities if each["pk"].startswith(f"{self._system.tenant}#usage#")]
        with self._system.acting():
            return [(item["run_id"], unpack(item, Usage)) for item in items]

    @property
    def conversations(self) -> dict[str, Item]:
        """The raw items of conversations by id, tombstones left out."""
        lead = f"{self._system.tenant}#conversation#"
        return {
            each["pk"].removeprefix(lead): each
            for each in self.entities
            if each["pk"].startswith(lead) and not each.get("deleted")
        }

    def history(self, conversation: str) -> list[Message]:
        """The messages of a conversation behind its system message, by sequence number."""
        return self._messages(conversation, 1, END)

    def _messages(self, conversation: str, first: int, last: int) -> list[Message]:
        pk = f"{self._system.tenant}#messages#{conversation}"
        items = [each for each in self.messages if each["pk"] == pk and first <= each["sk"] <= last]
        with self._system.acting():
            return [unpack(item, Message) for item in sorted(items, key=lambda item: item["sk"])]

    def versions(self, block_id: str) -> list[BlockVersion]:
        """The history of a block, oldest first."""
        pk = f"{self._system.tenant}#block#{block_id}"
        items = [each for each in self.entities if each["pk"] == pk and str(each["sk"]).startswith("version#")]
        with self._system.acting():
            return [unpack(item, BlockVersion) for item in sorted(items, key=lambda item: item["sk"])]

    def pointers(self, conversation: str) -> dict[str, int]:
        """Where message ids of a conversation lead."""
        lead = f"{self._system.tenant}#message#"
        return {
            each["pk"].removeprefix(lead): each["seq"]
            for each in self.messages
            if each["pk"].startswith(lead) and each["conversation"] == conversation
        }

    def contents(self, agent_id: str) -> Contents:
        """What an agent's turns came to. Runs that failed without a trace in the history are left out."""
        block_ids = next(agent.block_ids for agent in self.agents if agent.id == agent_id)
        labels = {block.id: block.label for block in self.blocks if block.id in block_ids}
        runs = [run for run in self.runs if run.agent_id == agent_id and run.first_seq is not None]
        own = {run.id for run in runs}
        return Contents(
            history=[line for message in self.history(agent_id) for line in told(message)],
            blocks={labels[each]: [version.value for version in self.versions(each)] for each in block_ids},
            runs=[f"{run.status} {run.stop_reason} {run.steps} steps {run.usage.total_tokens} tokens" for run in runs],
            steps=[f"{step.number} {step.status} {step.stop_reason}" for step in self.steps if step.run_id in own],
            usage=[usage.total_tokens for run_id, usage in self.usage if run_id in own],
        )

    def damage(self) -> list[str]:
        """What is wrong with what the store holds; nothing, whatever happened, once every turn has ended."""
        found: list[str] = []
        for identifier, item in self.conversations.items():
            found += self._damage_of_conversation(identifier, item)
        for run in self.runs:
            found += self._damage_of_run(run)
        for block in self.blocks:
            found += self._damage_of_block(block)
        return found + list(self._damage_of_edges())

    def _damage_of_conversation(self, identifier: str, item: Item) -> Iterator[str]:
        history = self.history(identifier)
        if [message.seq for message in history] != list(range(1, item["next_seq"])):
            yield f"{identifier}: sequence {[message.seq for message in history]}, next {item['next_seq']}"
        placed = {message.id: message.seq for message in history}
        if self.pointers(identifier) != placed | {_system_id(self, identifier): 0}:
            yield f"{identifier}: pointers and messages differ"
        if item["lease_until"] or "run_id" in item or "lease_owner" in item:
            yield f"{identifier}: not free"
        yield from unpaired(history)
        yield from self._damage_of_memory(identifier, item)

    def _damage_of_memory(self, identifier: str, item: Item) -> Iterator[str]:
        """The window says that the system message shows memory as it is now, and it does not."""
        (system,) = self._messages(identifier, 0, 0)
        for agent in (agent for agent in self.agents if agent.id == system.agent_id):
            known = {block.id: block for block in self.blocks}
            blocks = [known[block_id] for block_id in agent.block_ids if block_id in known]
            current = json.loads(item["window"])["compiled_from"] == fingerprint(agent, blocks)
            if current and core_memory(blocks) not in system.text:
                yield f"{identifier}: its system message is older than its window says"

    def _damage_of_run(self, run: Run) -> Iterator[str]:
        if run.conversation not in self.conversations:
            return
        if run.status not in ("completed", "failed", "cancelled") or run.completed_at is None:
            yield f"{run.id}: {run.status}"
        item = next(each for each in self.entities if each["pk"].endswith(f"#run#{run.id}"))
        if "gsi4pk" in item:
            yield f"{run.id}: still among the active runs"
        own = [message.seq for message in self.history(run.conversation) if message.run_id == run.id]
        if own != ([] if run.first_seq is None else list(range(run.first_seq, (run.last_seq or 0) + 1))):
            yield f"{run.id}: messages {own}, says {run.first_seq} to {run.last_seq}"
        steps = [step for step in self.steps if step.run_id == run.id]
        if [step.number for step in steps] != list(range(1, run.steps + 1)):
            yield f"{run.id}: steps {[step.number for step in steps]}, says {run.steps}"
        spent = [usage.total_tokens for owner, usage in self.usage if owner == run.id]
        if len(spent) != run.steps or sum(spent) != run.usage.total_tokens:
            yield f"{run.id}: usage items {spent}, says {run.usage.total_tokens}"

    def _damage_of_block(self, block: Block) -> Iterator[str]:
        versions = self.versions(block.id)
        if [version.version for version in versions] != list(range(1, block.version + 1)):
            yield f"{block.id}: versions {[version.version for version in versions]}, says {block.version}"
        if versions and versions[-1].value != block.value:
            yield f"{block.id}: its newest version is not its value"

    def _damage_of_edges(self) -> Iterator[str]:
        lead = f"{self._system.tenant}#block#"
        edges = Counter(
            (each["sk"].removeprefix("agent#"), each["pk"].removeprefix(lead))
            for each in self.entities
            if each["pk"].startswith(lead) and str(each["sk"]).startswith("agent#")
        )
        carried = Counter((agent.id, block_id) for agent in self.agents for block_id in agent.block_ids)
        if edges != carried:
            yield f"edges without a carrier {edges - carried}, carriers without an edge {carried - edges}"


def told(message: Message) -> Iterator[str]:
    """A message as a line, or one for each of its calls and returns."""
    if message.text:
        yield f"{message.role}: {message.text}"
    for call in message.tool_calls:
        yield f"call: {call.name} {call.arguments}"
    for returned in message.tool_returns:
        yield f"{returned.status}: {returned.content}"


def unpaired(history: Sequence[Message]) -> Iterator[str]:
    """Calls that are not followed by exactly their returns, and returns without a call."""
    for position, message in enumerate(history):
        calls = [call.id for call in message.tool_calls]
        following = history[position + 1 : position + 2]
        returns = [each.tool_call_id for answer in following for each in answer.tool_returns]
        if calls != returns:
            yield f"seq {message.seq}: calls {calls}, returns {returns}"


def _system_id(ledger: Ledger, conversation: str) -> str:
    return next(identifier for identifier, seq in ledger.pointers(conversation).items() if seq == 0)


def _scan(system: System, table: str) -> list[Item]:
    request: dict[str, Any] = {"TableName": table_name(table)}
    found: list[Item] = []
    while True:
        answer = system.engine.call("Scan", request)
        found += [_plain(item) for item in answer["Items"] if item["pk"]["S"].startswith(f"{system.tenant}#")]
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _plain(item: dict[str, dict[str, Any]]) -> Item:
    return {name: int(value["N"]) if "N" in value else next(iter(value.values())) for name, value in item.items()}
