"""The rules of a turn in progress, where the messages that it has committed have brought them.

Nothing else is kept: a turn that another process goes on with stands under the same rules as before.
"""

from collections.abc import Sequence

from agentkeep.loop.rules.enforcing import called
from agentkeep.loop.rules.kinds import stored
from agentkeep.loop.rules.solver import Solver
from agentkeep.loop.turn import Turn
from agentkeep.store import messages
from agentkeep.store.content import Message, ToolSchema


def rules_of(turn: Turn) -> Solver:
    """The rules that hold for the next call."""
    if not turn.agent.tool_rules:
        return Solver()
    rules = stored(turn.agent.tool_rules)
    names = [tool.name for tool in turn.tools]
    return Solver(rules, names, [each for message in _of_run(turn) for each in called(message.tool_returns)])


def unheeded(turn: Turn) -> int:
    """How many answers without a call the turn ends with so far."""
    words = 0
    for message in reversed(_of_run(turn)):
        if message.role == "tool":
            break
        words += message.role == "assistant"
    return words


def offered(turn: Turn, rules: Solver) -> Sequence[ToolSchema]:
    """The tools of the next request. Where none may be called all are shown, since providers want to see the tools
    that the history mentions; `tool_choice` then forbids calls."""
    if not rules.orders or not rules.valid:
        return turn.tools
    return [tool for tool in turn.tools if tool.name in rules.valid]


def _of_run(turn: Turn) -> Sequence[Message]:
    """What the run has committed; read from the store if the window does not reach back to its beginning."""
    committed, first = turn.committed, turn.run.first_seq
    if first is None or (committed and committed[0].seq <= first):
        return committed
    stretch = messages.between(turn.state.conversation.id, first, None)
    return [message for message in stretch if message.run_id == turn.run.id]
