"""Running builtin tools. Pure: memory edits go to a workspace, searching is handed in, nothing is stored here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentkeep.errors import BadRequestError
from agentkeep.memory.recall import ConversationQuery, Hit
from agentkeep.memory.workspace import BlockWorkspace
from agentkeep.store.content import ToolCall, ToolReturn
from agentkeep.tools.arguments import ToolArgumentsError, parse
from agentkeep.tools.definition import BuiltinTool
from agentkeep.tools.memory_calls import MEMORY_CALLS
from agentkeep.tools.registry import BUILTIN
from agentkeep.tools.returns import failure, not_callable, success
from agentkeep.tools.search_call import search_conversations


@dataclass(frozen=True)
class ToolContext:
    """What a builtin tool works with in one step of one agent.

    `search` answers from the agent's recall memory, best without the running turn, whose question would only find
    itself. `tool_names` are the tools the agent may call, custom ones included; a call to any other is refused.
    """

    workspace: BlockWorkspace
    search: Callable[[ConversationQuery], Sequence[Hit]]
    now: datetime
    timezone: str = "UTC"
    tool_names: Sequence[str] = tuple(BUILTIN)


def run_builtin(call: ToolCall, context: ToolContext) -> ToolReturn:
    """Run one call of a builtin tool. Whatever is wrong with the call becomes a return with status error.

    A call that fails has changed nothing. A memory tool that succeeds has made exactly one edit on the workspace and
    returns the block's new value, or a sentence where no value changed.
    """
    tool = BUILTIN.get(call.name)
    if tool is None or call.name not in context.tool_names:
        return not_callable(call, context.tool_names)
    if not tool.available:
        return failure(call, f"{call.name} is not available in this version of AgentKeep. Go on without it.")
    try:
        text = _run(tool, parse(tool.name, call.arguments, tool.parameters), context)
    except ToolArgumentsError as refusal:
        return failure(call, refusal.message, "arguments")
    except BadRequestError as refusal:
        return failure(call, refusal.message)
    return success(call, text, tool.return_char_limit)


def _run(tool: BuiltinTool, arguments: dict[str, Any], context: ToolContext) -> str:
    if tool.effects == "memory":
        return MEMORY_CALLS[tool.name](context.workspace, arguments)
    if tool.effects == "recall":
        return search_conversations(arguments, context.search, context.now, context.timezone)
    return "The message was sent." if tool.effects == "reply" else "Noted: the memory blocks are up to date."
