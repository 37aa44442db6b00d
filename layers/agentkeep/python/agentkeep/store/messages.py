"""Messages in DynamoDB: one partition per conversation, ordered by sequence number.

Item shapes (messages table):
- `messages#{conversation}` / seq: the message; seq 0 is the compiled system message. gsi1: all of the tenant by id
  (sharded), gsi2: all of an agent by id
- `message#{id}` / 0: pointer to conversation and seq, written with the message
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from agentkeep.errors import NotFoundError
from agentkeep.store import database, keys
from agentkeep.store.bodies import pack, unpack
from agentkeep.store.content import Message
from agentkeep.store.database import Item, Write
from agentkeep.store.entities import Segment
from agentkeep.store.pages import PageRequest, chunks, merged, take

END = 10**15


def put_writes(message: Message) -> Iterator[Write]:
    """The writes of a message: its pointer and itself."""
    pointer = {"conversation": message.conversation, "seq": message.seq, "agent_id": message.agent_id}
    yield database.put("messages", keys.message_pointer(message.id), pointer)
    yield database.put("messages", keys.message(message.conversation, message.seq), _item(message))


def replace_write(message: Message) -> Write:
    """The write that puts a message again under the id and place it has (a recompiled system message)."""
    return database.put("messages", keys.message(message.conversation, message.seq), _item(message))


def _item(message: Message) -> Item:
    return {
        "gsi1pk": _timeline(keys.shard(message.conversation)),
        "gsi1sk": message.id,
        "gsi2pk": _of_agent(message.agent_id),
        "gsi2sk": message.id,
        **pack(message),
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


def window(segments: Sequence[Segment]) -> list[Message]:
    """The messages of a context window, one query per segment, whatever the length of the history."""
    return [message for segment in segments for message in between(segment.conversation, segment.first, segment.last)]


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
        if start is not None and not bounds[0] <= int(start) <= bounds[1]:
            return
        size = min(request.limit + 1, 1000)
        found = database.query("messages", pk, forward=forward, start=start, between=bounds, page_size=size)
        yield from (unpack(item, Message) for item in found)

    def place(cursor: str) -> int:
        owner, seq = locate(cursor)
        if owner != conversation:
            raise NotFoundError("Message", cursor)
        return seq

    return take(request, scan, place, lambda message: message.seq, lambda found: filter(keep, found))


def page_of_agent(agent_id: str, request: PageRequest, keep: Callable[[Message], bool]) -> list[Message]:
    """One page of all conversations of an agent, by id; served by an index that may lag."""
    return _page_of_index(["gsi2"], [_of_agent(agent_id)], request, keep)


def page_of_tenant(request: PageRequest, keep: Callable[[Message], bool]) -> list[Message]:
    """One page of all messages of the tenant, by id; served by an index that may lag."""
    shards = [_timeline(str(number)) for number in range(keys.SHARDS)]
    return _page_of_index(["gsi1"] * len(shards), shards, request, keep)


def _page_of_index(
    indexes: Sequence[str], partitions: Sequence[str], request: PageRequest, keep: Callable[[Message], bool]
) -> list[Message]:
    scans = [_index_scan(index, pk) for index, pk in zip(indexes, partitions, strict=True)]

    def scan(*, forward: bool, start: str | int | None) -> Iterator[Message]:
        first = None if start is None else str(start)
        return _load(merged(scans, _message_id, forward=forward, start=first), min(request.limit + 1, 100))

    def place(cursor: str) -> str:
        locate(cursor)
        return cursor

    return take(request, scan, place, lambda message: message.id, lambda found: filter(keep, found))


def _index_scan(index: str, pk: str) -> Callable[..., Iterator[Item]]:
    def read(*, forward: bool, start: str | int | None) -> Iterator[Item]:
        for item in database.query("messages", pk, index=index, forward=forward, start=start, page_size=100):
            yield {"id": item[f"{index}sk"], "pk": item["pk"], "sk": item["sk"]}

    return read


def _message_id(item: Item) -> str:
    return str(item["id"])


def _load(entries: Iterable[Item], size: int) -> Iterator[Message]:
    for chunk in chunks(entries, size):
        wanted = [keys.Key(entry["pk"], entry["sk"]) for entry in chunk]
        found = database.batch_get(("messages", key) for key in wanted)
        for key in wanted:
            if ("messages", key) in found:
                yield unpack(found["messages", key], Message)


def newest(conversation: str) -> Iterator[Message]:
    """The messages of a conversation, newest first, read on demand."""
    pk = keys.partition("messages", conversation)
    for item in database.query("messages", pk, forward=False, page_size=200):
        yield unpack(item, Message)
