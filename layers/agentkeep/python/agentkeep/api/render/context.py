"""What fills an agent's context window, part by part."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentkeep.api.render.messages import part_content
from agentkeep.api.render.times import moment
from agentkeep.models.tokens import estimate_tokens
from agentkeep.store.content import ImagePart, Message, Part, ReasoningPart, TextPart, ToolReturn, ToolSchema

Json = dict[str, Any]


@dataclass(frozen=True)
class ContextParts:
    """A context window taken apart. `messages` has the system message first, as the model gets them.

    `system` is the agent's own instructions, `core_memory` and `metadata` what is compiled into the system message.
    `recall` and `archival` count what lies outside: messages of the history and passages. `counted`: the tokens of the
    whole, as the provider said.
    """

    size: int
    system: str
    core_memory: str
    metadata: str
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    recall: int = 0
    archival: int = 0
    counted: int | None = None


def context_window(parts: ContextParts) -> Json:
    """The overview of a context window. Tokens of its parts are estimates, see `agentkeep.models.tokens`."""
    summaries = [message for message in parts.messages if message.compaction]
    functions = [_function(tool) for tool in parts.tools]
    tokens = {
        "num_tokens_system": estimate_tokens(parts.system),
        "num_tokens_core_memory": estimate_tokens(parts.core_memory),
        "num_tokens_external_memory_summary": estimate_tokens(parts.metadata),
        "num_tokens_summary_memory": estimate_tokens(summaries),
        "num_tokens_functions_definitions": estimate_tokens(json.dumps(functions)) if functions else 0,
        "num_tokens_messages": estimate_tokens([each for each in parts.messages[1:] if not each.compaction]),
        "num_tokens_memory_filesystem": 0,
        "num_tokens_tool_usage_rules": 0,
        "num_tokens_directories": 0,
    }
    return {
        "context_window_size_max": parts.size,
        "context_window_size_current": parts.counted or sum(tokens.values()),
        "num_messages": len(parts.messages),
        "num_archival_memory": parts.archival,
        "num_recall_memory": parts.recall,
        **tokens,
        "system_prompt": parts.system,
        "core_memory": parts.core_memory,
        "external_memory_summary": parts.metadata,
        "summary_memory": summaries[0].text if summaries else None,
        "memory_filesystem": None,
        "tool_usage_rules": None,
        "directories": None,
        "functions_definitions": functions,
        "messages": [stored_message(message) for message in parts.messages],
    }


def _function(tool: ToolSchema) -> Json:
    schema = {"name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": None}
    return {"function": schema, "type": "function"}


def stored_message(message: Message) -> Json:
    """A message as it is kept, in one piece: the form of the context window and of agent files."""
    return {
        "created_by_id": None,
        "last_updated_by_id": None,
        "created_at": moment(message.created_at),
        "updated_at": None,
        "id": message.id,
        "agent_id": message.agent_id,
        "model": message.model,
        "role": message.role,
        "content": [_part(part) for part in message.content],
        "name": message.name,
        "tool_calls": _tool_calls(message) or None,
        "tool_call_id": message.tool_returns[0].tool_call_id if message.tool_returns else None,
        "step_id": message.step_id,
        "run_id": message.run_id,
        "otid": message.otid,
        "tool_returns": [_tool_return(each) for each in message.tool_returns],
        "group_id": None,
        "sender_id": message.sender_id,
        "batch_item_id": None,
        "conversation_id": None if message.conversation == message.agent_id else message.conversation,
        "is_err": None,
        "approval_request_id": None,
        "approve": None,
        "denial_reason": None,
        "approvals": None,
    }


def _tool_calls(message: Message) -> list[Json]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]


def _tool_return(answer: ToolReturn) -> Json:
    return {
        "tool_call_id": answer.tool_call_id,
        "status": answer.status,
        "stdout": answer.stdout,
        "stderr": answer.stderr,
        "func_response": answer.content
        if isinstance(answer.content, str)
        else [_part(part) for part in answer.content],
    }


def _part(part: Part) -> Json:
    if isinstance(part, TextPart | ImagePart):
        return part_content(part)
    if isinstance(part, ReasoningPart):
        fields = {"reasoning": part.reasoning, "is_native": part.is_native, "signature": part.signature}
        return {"type": "reasoning", **fields}
    return {"type": "redacted_reasoning", "data": part.data}
