"""A model request as the body and headers of an Anthropic message. Pure.

Thinking differs by generation ("Troubleshooting thinking"): a token budget up to Claude 4.5, adaptive from 4.6, always
on for some. From Claude 5.5 (Fable and Mythos 5.1) a thinking block is refused when the system prompt before it has
changed, which every memory edit does, so these requests ask to have such blocks dropped instead ("Preserved
thinking"). API version 2026-10-21 has no temperature: where a model still takes one, the request uses 2023-06-01.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentkeep.models import anthropic_history, catalog
from agentkeep.models.catalog import Claude
from agentkeep.models.interface import ModelRequest
from agentkeep.store.content import ToolSchema

Body = dict[str, Any]
SMALLEST_BUDGET: Final = 1_024
VERSION_WITH_TEMPERATURE: Final = "2023-06-01"
BINDING_CONTROLS: Final = "thinking-binding-controls-2026-08-01"


@dataclass(frozen=True)
class AnthropicCall:
    """The keyword arguments of the SDK's `messages.create`, and headers on top of the SDK's own."""

    body: Body
    headers: dict[str, str] = field(default_factory=dict)


def build(request: ModelRequest) -> AnthropicCall:
    """What to send for `POST /v1/messages`."""
    model = catalog.claude(request.model)
    thinking = _thinking(model, request)
    system, messages = anthropic_history.system_and_messages(request.messages, _keeps_thinking(model, thinking))
    if model.thinks_by_budget and thinking and not anthropic_history.opens_with_thinking(messages):
        thinking = None
    body: Body = {
        "model": request.model,
        "max_tokens": _max_tokens(request, thinking),
        "messages": messages,
        **({"system": system} if system else {}),
        **_tools(model, request),
        **({"thinking": thinking} if thinking else {}),
        **_output_config(request.settings),
    }
    headers = {"anthropic-beta": BINDING_CONTROLS} if thinking and "block_binding" in thinking else {}
    return _with_temperature(model, request.settings.get("temperature"), AnthropicCall(body, headers))


def _thinking(model: Claude, request: ModelRequest) -> Body | None:
    wanted = request.settings.get("thinking") or {}
    forced = request.tools and request.tool_choice not in (None, "auto", "none")
    enabled = wanted.get("type") in ("enabled", "adaptive") and not forced
    if not model.thinks:
        return None
    if model.thinks_by_budget:
        budget = max(SMALLEST_BUDGET, int(wanted.get("budget_tokens") or SMALLEST_BUDGET))
        return {"type": "enabled", "budget_tokens": budget} if enabled else None
    if wanted.get("type") == "disabled" and model.thinking_off:
        return {"type": model.thinking_off}
    if model.binds_thinking:
        return {
            "type": "adaptive",
            "display": "summarized",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        }
    return {"type": "adaptive", "display": "summarized"} if enabled else None


def _keeps_thinking(model: Claude, thinking: Body | None) -> bool:
    return not model.binds_thinking or (thinking or {}).get("type") == "adaptive"


def _max_tokens(request: ModelRequest, thinking: Body | None) -> int:
    known = catalog.limits(request.handle).max_output_tokens
    limit = int(request.settings.get("max_output_tokens") or min(known, catalog.DEFAULT_OUTPUT_TOKENS))
    budget = int((thinking or {}).get("budget_tokens") or 0)
    return limit if limit > budget else budget + limit


def _tools(model: Claude, request: ModelRequest) -> Body:
    if not request.tools:
        return {}
    return {"tools": list(map(_tool, request.tools)), "tool_choice": _choice(model, request)}


def _tool(schema: ToolSchema) -> Body:
    tool: Body = {"name": schema.name, "input_schema": schema.parameters}
    if schema.description:
        tool["description"] = schema.description
    return {**tool, "strict": True} if schema.strict else tool


def _choice(model: Claude, request: ModelRequest) -> Body:
    choice = request.tool_choice or "auto"
    if choice == "none":
        return {"type": "none"}
    one_at_a_time = {"disable_parallel_tool_use": not request.settings.get("parallel_tool_calls")}
    if choice == "auto" or not model.takes_forced_tools:
        return {"type": "auto", **one_at_a_time}
    if any(tool.name == choice for tool in request.tools):
        return {"type": "tool", "name": choice, **one_at_a_time}
    return {"type": "any", **one_at_a_time}


def _output_config(settings: Mapping[str, Any]) -> Body:
    config: Body = {}
    if settings.get("effort"):
        config["effort"] = settings["effort"]
    wanted = settings.get("response_format") or {}
    schema = (wanted.get("json_schema") or {}).get("schema")
    if wanted.get("type") == "json_schema" and schema:
        config["format"] = {"type": "json_schema", "schema": schema}
    return {"output_config": config} if config else {}


def _with_temperature(model: Claude, temperature: Any, call: AnthropicCall) -> AnthropicCall:
    if temperature is None or "thinking" in call.body or not model.takes_temperature:
        return call
    body = {**call.body, "extra_body": {"temperature": min(1.0, max(0.0, float(temperature)))}}
    return AnthropicCall(body, {**call.headers, "anthropic-version": VERSION_WITH_TEMPERATURE})
