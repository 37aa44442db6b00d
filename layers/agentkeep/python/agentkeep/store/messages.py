"""Messages in DynamoDB: one partition per conversation, ordered by sequence number.

Item shapes (messages table):
- `messages#{conversation}` / seq: the message; seq 0 is the compiled system message. gsi1: all of the tenant by id
  (sharded), gsi2: all of an agent by id
- `message#{id}` / 0: pointer to conversation and seq, written with the message
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from agentkeep.errors import NotFoundError
from agentkeep.store import database, keys
from agentkeep.store.bodies import INLINE_BYTES, pack, unpack
from agentkeep.store.content import Message
from agentkeep.store.database import Item, Write
from agentkeep.store.entities import Segment, Window
from agentkeep.store.keys import Key
from agentkeep.store.pages import PageRequest, chunks, merged, take

END = 10**15
T = TypeVar("T")
_SHARED_BYTES: Final = 2_000_000
"""What all messages of one transaction may take of its 4 MB, in their items."""


def put_writes(message: Message, together: int = 1) -> Iterator[Write]:
    """The writes of a message: its pointer and itself. `together` is how many messages their transaction writes."""
    pointer = {"conversation": message.conversation, "seq": message.seq, "agent_id": message.agent_id}
    yield database.put("messages", keys.message_pointer(message.id), pointer)
    inline = min(INLINE_BYTES, _SHARED_BYTES // together)
    yield database.put("messages", keys.message(message.conversation, message.seq), _item(message, inline))


def replace_write(message: Message) -> Write:
    """The write that puts a message again under the id and place it has (a recompiled system message)."""
    return database.put("messages", keys.message(message.conversation, message.seq), _item(message))


def _item(message: Message, inline: int = INLINE_BYTES) -> Item:
    return {
        "gsi1pk": _timeline(keys.shard(message.conversation)),
        "gsi1sk": message.id,
        "gsi2pk": _of_agent(message.agent_id),
        "gsi2sk": message.id,
        **pack(message, inline),
    }


def _timeline(shard: str) -> str:
    return keys.partition("timeline", shard)


def _of_agent(agent_id: str) -> str:
    return keys.partition("agent-messages", agent_id)


def get(message_id: str) -> Message:
    """The message an id leads to. Raises NotFoundError."""
    item = database.get("messages", keys.message(*locate(message_id)))
    if item is None:
        raise NotFoundError("Message", message_id)
    return unpack(item, Message)


def locate(message_id: str) -> tuple[str, int]:
    """The conversation and sequence number of a message id. Raises NotFoundError."""
    pointer = database.get("messages", keys.message_pointer(message_id))
    if pointer is None:
        raise NotFoundError("Message", message_id)
    return pointer["conversation"], pointer["seq"]


def exists(message_id: str) -> bool:
    """Whether a message was written: what settles whether an unanswered commit happened."""
    return database.get("messages", keys.message_pointer(message_id)) is not None


def locate_many(message_ids: Iterable[str], agent_id: str) -> list[tuple[str, int]]:
    """Where the ids of an agent's messages lead, in their order. Raises NotFoundError for another agent's."""
    wanted = {keys.message_pointer(message_id): message_id for message_id in message_ids}
    found = _get(("messages", wanted))
    for key, message_id in wanted.items():
        if key not in found or found[key]["agent_id"] != agent_id:
            raise NotFoundError("Message", message_id)
    return [(found[key]["conversation"], found[key]["seq"]) for key in wanted]


def window(view: Window) -> list[Message]:
    """The messages of a context window, the summary first: one query per segment, however long the history is."""
    found = [each for segment in view.segments for each in between(segment.conversation, segment.first, segment.last)]
    newest = view.segments[-1].conversation if view.segments else ""
    return _summary_first(found, lambda message: (message.conversation, message.seq) == (newest, view.summary))


def ids_in_window(view: Window) -> list[str]:
    """The ids of the messages of a context window, without the messages."""
    found = [item for segment in view.segments for item in _ids_between(segment)]
    pk = keys.partition("messages", view.segments[-1].conversation) if view.segments else ""
    ordered = _summary_first(found, lambda item: (item["pk"], item["sk"]) == (pk, view.summary))
    return [item["gsi1sk"] for item in ordered]


def _summary_first(found: list[T], is_summary: Callable[[T], bool]) -> list[T]:
    return sorted(found, key=lambda each: not is_summary(each))


def _ids_between(segment: Segment) -> Iterator[Item]:
    last = END if segment.last is None else segment.last
    if segment.first <= last:
        pk = keys.partition("messages", segment.conversation)
        yield from database.query("messages", pk, between=(segment.first, last), only=("gsi1sk", "pk", "sk"))


def between(conversation: str, first: int, last: int | None) -> Iterator[Message]:
    """The messages of a stretch of a conversation, oldest first; both ends included."""
    if last is not None and last < first:
        return
    pk = keys.partition("messages", conversation)
    for item in database.query("messages", pk, between=(first, END if last is None else last)):
        yield unpack(item, Message)


def page_of_conversation(
    conversation: str,
    request: PageRequest,
    keep: Callable[[Message], bool],
    bounds: tuple[int, int] = (0, END),
) -> list[Message]:
    """One page of a conversation (or of the stretch `bounds`), read strongly."""
    pk = keys.partition("messages", conversation)

    def scan(*, forward: bool, start: str | int | None) -> Iterator[Message]:
        low, high = bounds
        if start is not None and forward:
            low = max(low, int(start) + 1)
        elif start is not None:
            high = min(high, int(start) - 1)
        if low <= high:
            found = database.query("messages", pk, forward=forward, between=(low, high), page_size=request.limit)
            yield from (unpack(item, Message) for item in found)

    def place(cursor: str) -> int:
        owner, seq = locate(cursor)
        if owner != conversation:
            raise NotFoundError("Message", cursor)
        return seq

    return take(request, scan, place, lambda message: message.seq, lambda found: filter(keep, found))


def page_of_agent(agent_id: str, request: PageRequest, keep: Callable[[Message], bool]) -> list[Message]:
    """One page of all conversations of an agent, by id; served by an index that may lag."""
    return _page_of_index([("gsi2", _of_agent(agent_id))], request, keep)


def page_of_tenant(request: PageRequest, keep: Callable[[Message], bool]) -> list[Message]:
    """One page of all messages of the tenant, by id; served by an index that may lag."""
    return _page_of_index([("gsi1", _timeline(str(shard))) for shard in range(keys.SHARDS)], request, keep)


def _page_of_index(
    partitions: Sequence[tuple[str, str]], request: PageRequest, keep: Callable[[Message], bool]
) -> list[Message]:
    scans = [_index_scan(index, pk, request.limit + 1) for index, pk in partitions]

    def scan(*, forward: bool, start: str | int | None) -> Iterator[Message]:
        first = None if start is None else str(start)
        return _load(merged(scans, _message_id, forward=forward, start=first), request.limit)

    def place(cursor: str) -> str:
        locate(cursor)
        return cursor

    return take(request, scan, place, lambda message: message.id, lambda found: filter(keep, found))


def _index_scan(index: str, pk: str, size: int) -> Callable[..., Iterator[Item]]:
    def read(*, forward: bool, start: str | int | None) -> Iterator[Item]:
        for item in database.query("messages", pk, index=index, forward=forward, start=start, page_size=size):
            yield {"id": item[f"{index}sk"], "pk": item["pk"], "sk": item["sk"]}

    return read


def _message_id(item: Item) -> str:
    return str(item["id"])


def _load(entries: Iterable[Item], size: int) -> Iterator[Message]:
    """The messages of index entries, without those that went with their conversation or agent."""
    alive: dict[Key, bool] = {}
    for chunk in chunks(entries, size):
        wanted = [Key(entry["pk"], entry["sk"]) for entry in chunk]
        homes = {keys.entity("conversation", key.pk.rpartition("#")[2]) for key in wanted} - alive.keys()
        found = _get(("messages", wanted), ("entities", homes))
        alive |= {key: _is_alive(found.get(key)) for key in homes}
        loaded = [unpack(found[key], Message) for key in wanted if key in found]
        agents = {keys.entity("conversation", message.agent_id) for message in loaded} - alive.keys()
        found = _get(("entities", agents))
        alive |= {key: _is_alive(found.get(key)) for key in agents}
        for message in loaded:
            homes = {keys.entity("conversation", home) for home in (message.conversation, message.agent_id)}
            if all(alive[home] for home in homes):
                yield message


def _get(*wanted: tuple[database.TableName, Iterable[Key]]) -> dict[Key, Item]:
    found = database.batch_get((table, key) for table, several in wanted for key in several)
    return {key: item for (_, key), item in found.items()}


def _is_alive(conversation: Item | None) -> bool:
    """An agent's default conversation is deleted with the agent."""
    return conversation is not None and not conversation.get("deleted")


def newest(conversation: str) -> Iterator[Message]:
    """The messages of a conversation, newest first, read on demand."""
    pk = keys.partition("messages", conversation)
    for item in database.query("messages", pk, forward=False, page_size=200):
        yield unpack(item, Message)
