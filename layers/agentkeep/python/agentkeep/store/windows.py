"""Context windows as stretches of history. Pure."""

from collections.abc import Iterator, Sequence

from agentkeep.store.entities import Segment

Place = tuple[str, int]
"""A conversation and a sequence number in it."""


def stretches(places: Sequence[Place]) -> Iterator[Segment]:
    """Places in the given order, those that follow each other in one segment."""
    segment: Segment | None = None
    for conversation, seq in places:
        if segment and segment.conversation == conversation and segment.last == seq - 1:
            segment = segment.model_copy(update={"last": seq})
            continue
        if segment:
            yield segment
        segment = Segment(conversation=conversation, first=seq, last=seq)
    if segment:
        yield segment


def growing(places: Sequence[Place], conversation: str, next_seq: int) -> list[Segment]:
    """The places and everything that the conversation gets from `next_seq` on, in as few segments as hold it."""
    found = list(stretches(places))
    if found and found[-1].conversation == conversation and found[-1].last == next_seq - 1:
        return [*found[:-1], found[-1].model_copy(update={"last": None})]
    return [*found, Segment(conversation=conversation, first=next_seq)]
