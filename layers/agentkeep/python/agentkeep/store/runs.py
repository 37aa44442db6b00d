"""Runs, steps and usage in DynamoDB, and the idempotency items that lead a repeated request to its run.

Item shapes (entities table):
- `run#{id}` / `state`: the run. gsi1: all of the tenant (sharded), gsi2: of the agent, gsi3: of the conversation, by
  id; gsi4: those not finished yet
- `step#{id}` / `state`: a step. gsi1: all of the tenant (sharded), gsi2: of the agent, gsi3: of its run, by id
- `usage#{day}` / step id, or id of a summary: the tokens of one model call, never changed
- `idempotency#{conversation}#{digest}` / `state`: the run a key started; expires after 24 hours
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from pydantic import Field

from agentkeep import clock
from agentkeep.errors import NotFoundError
from agentkeep.store import database, keys
from agentkeep.store.bodies import pack, unpack
from agentkeep.store.content import Message, Record, Usage
from agentkeep.store.database import Item, Write
from agentkeep.store.entities import Run, Step
from agentkeep.store.pages import PageRequest, chunks, merged, take

IDEMPOTENCY_SECONDS: Final = 24 * 3600

R = TypeVar("R", Run, Step)


def get(run_id: str) -> Run:
    """The run. Raises NotFoundError."""
    return _get("run", run_id, Run)


def get_step(step_id: str) -> Step:
    """The step. Raises NotFoundError."""
    return _get("step", step_id, Step)


def find_step(step_id: str) -> Step | None:
    """The step, if it was committed: what settles whether an unanswered commit happened."""
    item = database.get("entities", keys.entity("step", step_id))
    return unpack(item, Step) if item else None


def _get(kind: Literal["run", "step"], identifier: str, model: type[R]) -> R:
    item = database.get("entities", keys.entity(kind, identifier))
    if item is None:
        raise NotFoundError(kind.capitalize(), identifier)
    return unpack(item, model)


def create_write(run: Run) -> Write:
    """The write that accepts a run."""
    item = {
        **_index("runs", run.id, run.agent_id),
        "gsi3pk": keys.partition("conversation-runs", run.conversation),
        "gsi3sk": run.id,
        "gsi4pk": keys.partition("runs-active"),
        "gsi4sk": run.id,
        **pack(run),
    }
    return database.put("entities", keys.entity("run", run.id), item, "attribute_not_exists(pk)")


def update_write(run: Run) -> Write:
    """The write of a run's progress or end; only the holder of the conversation's fence makes it."""
    ended = " REMOVE gsi4pk, gsi4sk" if run.status in ("completed", "failed", "cancelled") else ""
    ((name, body),) = ((name, value) for name, value in pack(run).items() if name != "v")
    other = "claim" if name == "data" else "data"
    remove = f"{ended}, #{other}" if ended else f" REMOVE #{other}"
    return database.update("entities", keys.entity("run", run.id), f"SET #{name} = :body{remove}", body=body)


def step_write(step: Step) -> Write:
    """The write of a step; put again when its tools have returned."""
    return database.put("entities", keys.entity("step", step.id), _step_item(step))


def step_change(step_id: str, change: Callable[[Step], Step]) -> tuple[Step, Write]:
    """A step as `change` makes it, and the write of that, conditional on what was read. Raises NotFoundError."""
    item = database.get("entities", keys.entity("step", step_id))
    if item is None:
        raise NotFoundError("Step", step_id)
    body = "data" if "data" in item else "claim"
    new = change(unpack(item, Step))
    key = keys.entity("step", step_id)
    return new, database.put("entities", key, _step_item(new), f"#{body} = :seen", seen=item[body])


def _step_item(step: Step) -> Item:
    return {
        **_index("steps", step.id, step.agent_id),
        "gsi3pk": keys.partition("run-steps", step.run_id),
        "gsi3sk": step.id,
        **pack(step),
    }


def _index(kind: str, identifier: str, agent_id: str) -> Item:
    return {
        "gsi1pk": keys.partition(kind, keys.shard(identifier)),
        "gsi1sk": identifier,
        "gsi2pk": keys.partition(f"agent-{kind}", agent_id),
        "gsi2sk": identifier,
    }


def usage_write(step: Step) -> Write:
    """The immutable usage item of a step; totals are sums over them."""
    item = {"agent_id": step.agent_id, "run_id": step.run_id, "model": step.model or "", **pack(step.usage)}
    return database.put("entities", keys.usage(step.created_at.date().isoformat(), step.id), item)


def compaction_usage_write(summary: Message, usage: Usage) -> Write:
    """The immutable usage item of a summary's model call, which belongs to no step."""
    item = {"agent_id": summary.agent_id, "run_id": "", "model": summary.model or "", **pack(usage)}
    return database.put("entities", keys.usage(summary.created_at.date().isoformat(), summary.id), item)


@dataclass(frozen=True)
class Claimed:
    """What an idempotency key stands for: the run it started and the digest of the request that did."""

    run_id: str
    digest: str


def claimed(item: Item | None) -> Claimed | None:
    """The claim of an item read elsewhere, unless it has expired."""
    if item is None or item["expires_at"] * 1000 <= clock.epoch_ms():
        return None
    return Claimed(item["run_id"], item["digest"])


def claim_write(conversation: str, key: str, run: Run) -> Write:
    """The write that binds a key to a run; fails if it is bound."""
    now = clock.epoch_ms() // 1000
    item = {"run_id": run.id, "digest": run.digest, "expires_at": now + IDEMPOTENCY_SECONDS}
    free = "attribute_not_exists(pk) OR expires_at <= :now"
    return database.put("entities", keys.idempotency(conversation, key), item, free, now=now)


def unclaim_write(conversation: str, key: str) -> Write:
    """The write that frees the key of a run that committed nothing."""
    return database.delete("entities", keys.idempotency(conversation, key))


class Scope(Record):
    """Whose runs or steps a list holds; the narrowest that is given is read."""

    agent_ids: list[str] = Field(default_factory=list)
    conversation: str | None = None
    run_id: str | None = None
    active: bool = False


def page(scope: Scope, request: PageRequest, keep: Callable[[Run], bool]) -> list[Run]:
    """One page of runs by creation. Served by indexes that may lag."""
    return _page("run", Run, _run_partitions(scope), request, keep)


def page_of_steps(scope: Scope, request: PageRequest, keep: Callable[[Step], bool]) -> list[Step]:
    """One page of steps by creation. Served by indexes that may lag."""
    return _page("step", Step, _step_partitions(scope), request, keep)


def active_run_ids() -> list[str]:
    """The runs of the tenant that have not finished."""
    found = database.query("entities", keys.partition("runs-active"), index="gsi4")
    return [item["gsi4sk"] for item in found]


def _run_partitions(scope: Scope) -> list[tuple[str, str]]:
    if scope.conversation:
        return [("gsi3", keys.partition("conversation-runs", scope.conversation))]
    if scope.active:
        return [("gsi4", keys.partition("runs-active"))]
    return _partitions("runs", scope.agent_ids)


def _step_partitions(scope: Scope) -> list[tuple[str, str]]:
    if scope.run_id:
        return [("gsi3", keys.partition("run-steps", scope.run_id))]
    return _partitions("steps", scope.agent_ids)


def _partitions(kind: str, agent_ids: Sequence[str]) -> list[tuple[str, str]]:
    if agent_ids:
        return [("gsi2", keys.partition(f"agent-{kind}", agent_id)) for agent_id in dict.fromkeys(agent_ids)]
    return [("gsi1", keys.partition(kind, str(shard))) for shard in range(keys.SHARDS)]


def _page(
    kind: Literal["run", "step"],
    model: type[R],
    partitions: Sequence[tuple[str, str]],
    request: PageRequest,
    keep: Callable[[R], bool],
) -> list[R]:
    scans = [_ids(index, pk, request.limit + 1) for index, pk in partitions]

    def scan(*, forward: bool, start: str | int | None) -> Iterator[R]:
        first = None if start is None else str(start)
        return _load(kind, model, merged(scans, str, forward=forward, start=first), request.limit)

    def place(cursor: str) -> str:
        _get(kind, cursor, model)
        return cursor

    return take(request, scan, place, lambda entity: entity.id, lambda found: filter(keep, found))


def _ids(index: str, pk: str, size: int) -> Callable[..., Iterator[str]]:
    def read(*, forward: bool, start: str | int | None) -> Iterator[str]:
        found = database.query("entities", pk, index=index, forward=forward, start=start, page_size=size)
        return (item[f"{index}sk"] for item in found)

    return read


def _load(kind: str, model: type[R], identifiers: Iterable[str], size: int) -> Iterator[R]:
    for chunk in chunks(identifiers, size):
        wanted = [keys.entity(kind, identifier) for identifier in chunk]
        found = database.batch_get(("entities", key) for key in wanted)
        yield from (unpack(found["entities", key], model) for key in wanted if ("entities", key) in found)
