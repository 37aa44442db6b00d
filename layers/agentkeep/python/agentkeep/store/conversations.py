"""Conversations in DynamoDB: what their user set, and beside it what turns write: lease, window, sequence.

Item shapes (entities table):
- `conversation#{id}` / `state`: `data` and `version` belong to the user's updates; `fence`, `lease_until`,
  `lease_owner`, `run_id`, `next_seq`, `window`, `newest` and the two moments belong to turns, which write them under
  the fence. gsi1 / gsi2: of the agent / of the tenant by last message; gsi3 / gsi4: by last run
- `agent-conversations#{agent}` / id and `conversations` / id: list items of named conversations
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from agentkeep.errors import NotFoundError
from agentkeep.store import database, keys
from agentkeep.store.bodies import pack, unpack
from agentkeep.store.content import Record
from agentkeep.store.database import Item, Write
from agentkeep.store.entities import Conversation, Window
from agentkeep.store.pages import PageRequest, chunks, take

Order = Literal["created_at", "last_message_at", "last_run_completion"]


class NewestRun(Record):
    """The run a conversation started last, and the digest of its request: what a client's blind retry attaches to."""

    run_id: str
    digest: str
    started_ms: int


@dataclass(frozen=True)
class State:
    """A conversation as its item holds it. `lease_until` is in epoch milliseconds, 0 when nobody runs."""

    conversation: Conversation
    version: int = 1
    fence: int = 0
    lease_until: int = 0
    lease_owner: str | None = None
    run_id: str | None = None
    next_seq: int = 1
    window: Window = field(default_factory=Window)
    newest: NewestRun | None = None
    last_message_at: datetime | None = None
    last_run_completion: datetime | None = None


def get(conversation_id: str) -> State:
    """The conversation. Raises NotFoundError when it does not exist or was deleted."""
    return from_item(database.get("entities", keys.entity("conversation", conversation_id)), conversation_id)


def from_item(item: Item | None, conversation_id: str) -> State:
    """The state of an item read elsewhere; a missing item or a tombstone is NotFoundError."""
    if item is None or item.get("deleted"):
        raise NotFoundError("Conversation", conversation_id)
    newest = item.get("newest")
    return State(
        conversation=unpack(item, Conversation),
        version=item["version"],
        fence=item["fence"],
        lease_until=item["lease_until"],
        lease_owner=item.get("lease_owner"),
        run_id=item.get("run_id"),
        next_seq=item["next_seq"],
        window=Window.model_validate_json(item["window"]),
        newest=NewestRun.model_validate_json(newest) if newest else None,
        last_message_at=_moment(item.get("last_message_at")),
        last_run_completion=_moment(item.get("last_run_completion")),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def get_many(conversation_ids: Iterable[str]) -> dict[str, State]:
    """The conversations that exist among the ids."""
    wanted = {keys.entity("conversation", identifier): identifier for identifier in conversation_ids}
    found = database.batch_get(("entities", key) for key in wanted)
    return {wanted[key]: from_item(item, wanted[key]) for (_, key), item in found.items() if not item.get("deleted")}


def is_default(conversation: Conversation) -> bool:
    """Whether this is the agent's default conversation, which bears the agent's id and is never listed."""
    return conversation.id == conversation.agent_id


def create_writes(state: State) -> Iterator[Write]:
    """The writes that make a conversation; a named one is listed."""
    conversation = state.conversation
    item: Item = {
        "version": state.version,
        "fence": state.fence,
        "lease_until": 0,
        "next_seq": state.next_seq,
        "window": state.window.model_dump_json(),
        **pack(conversation),
    }
    if not is_default(conversation):
        yield from (database.put("entities", key, {"id": conversation.id}) for key in _list_keys(conversation))
        item |= _index_partitions(conversation) | _index_places(state)
    yield database.put("entities", keys.entity("conversation", conversation.id), item, "attribute_not_exists(pk)")


def _list_keys(conversation: Conversation) -> list[keys.Key]:
    return [
        keys.Key(keys.partition("agent-conversations", conversation.agent_id), conversation.id),
        keys.Key(keys.partition("conversations"), conversation.id),
    ]


def _index_partitions(conversation: Conversation) -> Item:
    of_agent, of_tenant = (key.pk for key in _list_keys(conversation))
    return {"gsi1pk": of_agent, "gsi2pk": of_tenant, "gsi3pk": of_agent, "gsi4pk": of_tenant}


def _index_places(state: State) -> Item:
    message = _place(state.last_message_at or state.conversation.last_message_at, state.conversation.id)
    run = _place(state.last_run_completion, state.conversation.id)
    return {"gsi1sk": message, "gsi2sk": message, "gsi3sk": run, "gsi4sk": run}


def _place(moment: datetime | None, conversation_id: str) -> str:
    return f"{moment.isoformat(timespec='microseconds') if moment else ''}#{conversation_id}"


def update_write(old: State, new: Conversation) -> Write:
    """The write of a user's update; it touches nothing that turns write."""
    body, other = ("data", "claim") if "data" in (packed := pack(new)) else ("claim", "data")
    expression = f"SET #{body} = :body, version = :next"
    values: Item = {"body": packed[body], "next": old.version + 1, "version": old.version}
    if not is_default(new) and new.last_message_at != old.conversation.last_message_at:
        places = _index_places(replace(old, conversation=new, last_message_at=new.last_message_at))
        expression += ", gsi1sk = :place, gsi2sk = :place"
        values["place"] = places["gsi1sk"]
    expression += f" REMOVE #{other}"
    condition = "version = :version AND attribute_not_exists(deleted)"
    return database.update("entities", keys.entity("conversation", new.id), expression, condition, **values)


def delete_writes(state: State) -> Iterator[Write]:
    """The writes that leave a tombstone; the fence moves on, so a running turn commits nothing more."""
    conversation = state.conversation
    if not is_default(conversation):
        yield from (database.delete("entities", key) for key in _list_keys(conversation))
    yield database.update(
        "entities",
        keys.entity("conversation", conversation.id),
        "SET deleted = :true, fence = fence + :one REMOVE gsi1pk, gsi2pk, gsi3pk, gsi4pk",
        "attribute_not_exists(deleted)",
        true=True,
        one=1,
    )


def reset_write(state: State, window: Window, next_seq: int) -> Write:
    """The write that sets the context window from outside a turn; conditional on the lease that `state` showed."""
    return database.update(
        "entities",
        keys.entity("conversation", state.conversation.id),
        "SET #window = :window, next_seq = :seq, fence = :next",
        "fence = :fence AND lease_until = :until AND attribute_not_exists(deleted)",
        window=window.model_dump_json(),
        seq=next_seq,
        next=state.fence + 1,
        fence=state.fence,
        until=state.lease_until,
    )


def lease_write(state: State, *, owner: str, until: int, run_id: str, newest: NewestRun) -> Write:
    """The write that takes the lease that `state` showed free or expired; the fence moves on by one."""
    return database.update(
        "entities",
        keys.entity("conversation", state.conversation.id),
        "SET fence = :next, lease_owner = :owner, lease_until = :until, run_id = :run, newest = :newest",
        "fence = :fence AND lease_until = :seen AND attribute_not_exists(deleted)",
        next=state.fence + 1,
        owner=owner,
        until=until,
        run=run_id,
        newest=newest.model_dump_json(),
        fence=state.fence,
        seen=state.lease_until,
    )


def hold_write(state: State, *, owner: str, until: int) -> Write:
    """The write that takes the free lease without a run: its holder only changes the window."""
    return database.update(
        "entities",
        keys.entity("conversation", state.conversation.id),
        "SET fence = :next, lease_owner = :owner, lease_until = :until",
        "fence = :fence AND lease_until = :seen AND attribute_not_exists(run_id) AND attribute_not_exists(deleted)",
        next=state.fence + 1,
        owner=owner,
        until=until,
        fence=state.fence,
        seen=state.lease_until,
    )


def taken(state: State, *, owner: str, until: int, run_id: str, newest: NewestRun) -> State:
    """The conversation as `lease_write` leaves it."""
    return replace(state, fence=state.fence + 1, lease_owner=owner, lease_until=until, run_id=run_id, newest=newest)


def renew(conversation_id: str, fence: int, until: int) -> None:
    """Prolongs the lease. Raises ConditionFailedError when another holder has it."""
    key = keys.entity("conversation", conversation_id)
    condition = "fence = :fence AND lease_until > :free"
    database.write(
        database.update("entities", key, "SET lease_until = :until", condition, until=until, fence=fence, free=0)
    )


def turn_write(before: State, state: State, *, until: int, taking_over: bool = False) -> Write:
    """The write of a turn's commit, which leads from `before` to `state`. `until` 0 releases the lease.

    Conditional on the fence and on the sequence: a holder that never learned of its own commit writes over none of it.
    `taking_over`: the commit is made in place of a holder whose lease ran out, as `before` shows it.
    """
    values: Item = {
        "next": state.next_seq,
        "window": state.window.model_dump_json(),
        "until": until,
        "fence": before.fence,
        "seq": before.next_seq,
    }
    expression = "SET next_seq = :next, #window = :window, lease_until = :until"
    moments = {"last_message_at": state.last_message_at, "last_run_completion": state.last_run_completion}
    for name, moment in moments.items():
        if moment is not None:
            expression += f", {name} = :{name}"
            values[name] = moment.isoformat()
    if not is_default(state.conversation):
        places = _index_places(state)
        expression += ", gsi1sk = :message, gsi2sk = :message, gsi3sk = :ran, gsi4sk = :ran"
        values |= {"message": places["gsi1sk"], "ran": places["gsi3sk"]}
    if until == 0:
        expression += " REMOVE lease_owner, run_id"
    condition = "fence = :fence AND next_seq = :seq AND attribute_not_exists(deleted)"
    if taking_over:
        expression = expression.replace("SET ", "SET fence = :taken, ", 1)
        condition += " AND lease_until = :seen"
        values |= {"taken": before.fence + 1, "seen": before.lease_until}
    key = keys.entity("conversation", state.conversation.id)
    return database.update("entities", key, expression, condition, **values)


def has_named(agent_id: str) -> bool:
    """Whether an agent has conversations beside its default one."""
    pk = keys.partition("agent-conversations", agent_id)
    return next(database.query("entities", pk, page_size=1), None) is not None


def page(
    agent_id: str | None, request: PageRequest, order: Order, keep: Callable[[Sequence[State]], Sequence[State]]
) -> list[State]:
    """One page of the named conversations of an agent, or of the tenant. `keep` sees them in groups."""
    pk = keys.partition("agent-conversations", agent_id) if agent_id else keys.partition("conversations")
    index = _index(order, agent_id is not None)

    def scan(*, forward: bool, start: str | int | None) -> Iterator[tuple[str, State]]:
        found = database.query("entities", pk, index=index, forward=forward, start=start, page_size=request.limit + 1)
        yield from _load((str(item[f"{index}sk" if index else "sk"]) for item in found), request.limit, keep)

    def place(cursor: str) -> str:
        item = database.get("entities", keys.entity("conversation", cursor))
        if item is None or "gsi1sk" not in item:
            raise NotFoundError("Conversation", cursor)
        return str(item[f"{index}sk"]) if index else cursor

    return [state for _, state in take(request, scan, place, lambda entry: entry[0])]


def _index(order: Order, of_agent: bool) -> str | None:
    if order == "created_at":
        return None
    return {("last_message_at", True): "gsi1", ("last_message_at", False): "gsi2",
            ("last_run_completion", True): "gsi3", ("last_run_completion", False): "gsi4"}[order, of_agent]  # fmt: skip


def _load(
    places: Iterable[str], size: int, keep: Callable[[Sequence[State]], Sequence[State]]
) -> Iterator[tuple[str, State]]:
    for chunk in chunks(places, size):
        found = get_many(place.rpartition("#")[2] for place in chunk)
        kept = {state.conversation.id: state for state in keep(list(found.values()))}
        for place in chunk:
            if state := kept.get(place.rpartition("#")[2]):
                yield place, state
