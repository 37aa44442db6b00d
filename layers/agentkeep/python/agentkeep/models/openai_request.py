"""A model request as the body of an OpenAI chat completion. Pure.

Chat completions serve every `openai/...` handle, whatever server `OPENAI_BASE_URL` names, since compatible servers
speak them. Reasoning models take `max_completion_tokens` and `reasoning_effort`, and neither temperature nor
`parallel_tool_calls`; GPT-5.4 and later take tools here only with their reasoning off (API reference, reasoning guide).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentkeep.models import catalog
from agentkeep.models.interface import ModelRequest
from agentkeep.models.openai_history import chat_messages
from agentkeep.store.content import ToolSchema

Body = dict[str, Any]
_PLAIN_CHOICES: Final = ("auto", "none", "required")


def build(request: ModelRequest) -> Body:
    """The JSON body of `POST /chat/completions`."""
    return {
        "model": request.model,
        "messages": chat_messages(request.messages),
        **_tools(request),
        **(_reasoning(request) if catalog.openai_reasons(request.model) else _sampling(request.settings)),
        **_response_format(request.settings),
    }


def _tools(request: ModelRequest) -> Body:
    if not request.tools:
        return {}
    body: Body = {"tools": list(map(_tool, request.tools))}
    if request.tool_choice:
        body["tool_choice"] = _choice(request.tool_choice, request.tools)
    if not catalog.openai_reasons(request.model):
        body["parallel_tool_calls"] = bool(request.settings.get("parallel_tool_calls"))
    return body


def _tool(schema: ToolSchema) -> Body:
    function: Body = {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
    return {"type": "function", "function": {**function, "strict": True} if schema.strict else function}


def _choice(choice: str, tools: Sequence[ToolSchema]) -> str | Body:
    if any(tool.name == choice for tool in tools):
        return {"type": "function", "function": {"name": choice}}
    return choice if choice in _PLAIN_CHOICES else "required"


def _reasoning(request: ModelRequest) -> Body:
    settings = request.settings
    effort = (settings.get("reasoning") or {}).get("reasoning_effort")
    if request.tools and catalog.openai_tools_stop_reasoning(request.model):
        effort = "none"
    return _given(
        max_completion_tokens=settings.get("max_output_tokens"),
        reasoning_effort=effort,
        verbosity=settings.get("verbosity"),
    )


def _sampling(settings: Mapping[str, Any]) -> Body:
    return _given(max_tokens=settings.get("max_output_tokens"), temperature=settings.get("temperature"))


def _response_format(settings: Mapping[str, Any]) -> Body:
    wanted = settings.get("response_format") or {}
    return {"response_format": wanted} if wanted.get("type") in ("json_object", "json_schema") else {}


def _given(**values: Any) -> Body:
    return {name: value for name, value in values.items() if value is not None}
