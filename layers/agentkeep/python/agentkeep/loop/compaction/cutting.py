"""Where a context window is cut: what goes into a summary and what stays. Pure.

A cut is a position: the messages before it go. It never separates a tool call from its return, and never takes what the
model has not answered yet.
"""

from collections.abc import Sequence
from itertools import accumulate

from agentkeep.models.tokens import estimate_tokens
from agentkeep.store.content import Message

UNLIMITED = 10**12


def choose(messages: Sequence[Message], *, keep_tokens: int, running: bool) -> int:
    """The earliest cut that leaves at most `keep_tokens` (estimated), or the latest there is when none does.

    0 when everything may stay. `running`: the messages end with what the model is about to answer, which stays.
    """
    end = unanswered(messages) if running else len(messages)
    allowed = [position for position in boundaries(messages) if position <= end]
    weights = [estimate_tokens([message]) for message in messages]
    left = list(accumulate(reversed(weights), initial=0))[::-1]
    return next((position for position in allowed if left[position] <= keep_tokens), allowed[-1])


def boundaries(messages: Sequence[Message]) -> list[int]:
    """The positions at which no call is on one side and its return on the other, in order; 0 is always one.

    After a call that still waits for its return there is none.
    """
    called: dict[str, int] = {}
    inside: set[int] = {len(messages)} if messages and messages[-1].tool_calls else set()
    for position, message in enumerate(messages):
        called |= {call.id: position for call in message.tool_calls}
        for returned in message.tool_returns:
            inside.update(range(called.get(returned.tool_call_id, position) + 1, position + 1))
    return [position for position in range(len(messages) + 1) if position not in inside or position == 0]


def unanswered(messages: Sequence[Message]) -> int:
    """Where what the model has not answered begins: new input, or the returns of its newest calls with these calls."""
    position = len(messages)
    while position and messages[position - 1].role != "assistant":
        position -= 1
    return position - 1 if position and messages[position - 1].tool_calls else position
