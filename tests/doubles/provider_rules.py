"""What OpenAI and Anthropic refuse, written down from their documentation: the strict reader of our requests.

OpenAI: chat completions reference, function calling and reasoning guides. Anthropic: Messages reference, "Handle tool
calls", "Thinking in tool and multi-turn workflows", "Preserved thinking", API version 2026-10-21. Stricter than they
are where we promise more: system text only first, ids unique, nothing blank.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

Body = Mapping[str, Any]
TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
ANTHROPIC_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
OPENAI_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
NEWEST_VERSION: Final = "2026-10-21"
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"


class RefusedError(Exception):
    """A request that the provider answers with an error."""

    def __init__(
        self, message: str, status: int = 400, code: str | None = None, retry_after_ms: int | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.code, self.retry_after_ms = message, status, code, retry_after_ms


def require(condition: object, message: str) -> None:
    """Raises RefusedError unless the condition holds."""
    if not condition:
        raise RefusedError(message)


def tokens(body: Body) -> int:
    """The size of a request as these doubles count it: four characters to a token."""
    counted = {name: body.get(name) for name in ("messages", "system", "tools")}
    return len(json.dumps(counted, ensure_ascii=False)) // 4


def refuse_openai(body: Body) -> None:
    """Raises RefusedError for a chat completion that OpenAI would not take."""
    require(body.get("messages"), "messages: empty array")
    json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    _openai_tools(body)
    _openai_parameters(body)
    open_calls: list[str] = []
    seen: set[str] = set()
    for position, message in enumerate(body["messages"]):
        role = message["role"]
        if role == "tool":
            require(message["tool_call_id"] in open_calls, f"messages[{position}]: no call before this tool message")
            open_calls.remove(message["tool_call_id"])
            require(isinstance(message["content"], str) and message["content"], f"messages[{position}]: no content")
            continue
        require(not open_calls, f"messages[{position}]: tool_call_ids without response messages: {open_calls}")
        require(role != "system" or position == 0, f"messages[{position}]: system message is not the first")
        if role == "assistant":
            open_calls = list(_openai_assistant(message, position, seen))
        else:
            require(role in ("system", "user"), f"messages[{position}]: role {role}")
            _openai_content(message["content"], role, position)
    require(not open_calls, f"tool_call_ids without response messages: {open_calls}")


def _openai_tools(body: Body) -> None:
    if "tools" not in body:
        require("parallel_tool_calls" not in body, "parallel_tool_calls is only allowed when tools are given")
        require("tool_choice" not in body, "tool_choice is only allowed when tools are given")
        return
    names = [tool["function"]["name"] for tool in body["tools"]]
    require(names, "tools: empty array")
    require(len(set(names)) == len(names), "tools: names must be unique")
    require(all(TOOL_NAME.match(name) for name in names), "tools: a name does not match the pattern")
    require(all(tool["function"]["parameters"].get("type") == "object" for tool in body["tools"]), "tools: no object")
    choice = body.get("tool_choice", "auto")
    named = choice["function"]["name"] if isinstance(choice, dict) else None
    require(named in names if named else choice in ("auto", "none", "required"), f"tool_choice: {choice}")


def _openai_parameters(body: Body) -> None:
    reasons = re.match(r"^(o\d|gpt-[5-9])", body["model"]) and "-chat" not in body["model"]
    if not reasons:
        require("reasoning_effort" not in body, "Unrecognized request argument supplied: reasoning_effort")
        return
    for name in ("max_tokens", "temperature", "parallel_tool_calls"):
        require(name not in body, f"Unsupported parameter: '{name}' is not supported with this model.")
    effort = body.get("reasoning_effort")
    require(effort is None or effort in OPENAI_EFFORTS, f"reasoning_effort: {effort}")
    newest = re.match(r"^gpt-(5\.[4-9]|[6-9])", body["model"])
    require(not newest or "tools" not in body or effort == "none", "Function tools with reasoning are not supported")


def _openai_assistant(message: Body, position: int, seen: set[str]) -> Iterator[str]:
    calls = message.get("tool_calls")
    require(calls is None or calls, f"messages[{position}].tool_calls: empty array")
    content = message.get("content")
    require(content or calls, f"messages[{position}]: assistant message without content")
    require(content is None or (isinstance(content, str) and content.strip()), f"messages[{position}]: blank content")
    for call in calls or ():
        require(0 < len(call["id"]) <= 40, f"messages[{position}]: id longer than 40 characters")
        require(call["id"] not in seen, f"messages[{position}]: id used twice")
        require(TOOL_NAME.match(call["function"]["name"]), f"messages[{position}]: bad function name")
        require(isinstance(json.loads(call["function"]["arguments"]), dict), f"messages[{position}]: arguments")
        seen.add(call["id"])
        yield call["id"]


def _openai_content(content: Any, role: str, position: int) -> None:
    if isinstance(content, str):
        require(content.strip(), f"messages[{position}]: blank content")
        return
    require(content, f"messages[{position}]: empty content")
    for part in content:
        if part["type"] == "text":
            require(part["text"].strip(), f"messages[{position}]: blank text")
        else:
            require(part["type"] == "image_url" and role == "user", f"messages[{position}]: part {part['type']}")
            require(re.match(r"^(https?://|data:image/)", part["image_url"]["url"]), f"messages[{position}]: image url")


def signature(thinking: str, body: Body) -> str:
    """The signature of a thinking block that answers this request: of the block, and of what came before it."""
    prefix = json.dumps([_texts(body.get("system")), body.get("tools")], sort_keys=True)
    return f"sig-{_digest(thinking)}-{_digest(prefix)}"


def refuse_anthropic(body: Body, headers: Mapping[str, str]) -> None:
    """Raises RefusedError for a message request that Anthropic would not take."""
    json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    messages = body.get("messages")
    require(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: Field required")
    require(messages, "messages: at least one message is required")
    for name in ("temperature", "top_p", "top_k"):
        newest = headers.get("anthropic-version") == NEWEST_VERSION
        require(name not in body or not newest, f"{name}: not a parameter of this API version")
    _anthropic_tools(body)
    _anthropic_thinking(body, headers)
    _anthropic_system(body)
    require(json.dumps(body).count('"cache_control"') <= 4, "A maximum of 4 blocks with cache_control may be provided")
    require(messages[0]["role"] == "user", 'first message must use the "user" role')
    require(messages[-1]["role"] == "user", "The conversation must end with a user message.")
    open_calls: list[str] = []
    seen: set[str] = set()
    for position, message in enumerate(messages):
        require(message["role"] == ("user", "assistant")[position % 2], f"messages.{position}: roles must alternate")
        require(message["content"], f"messages.{position}: all messages must have non-empty content")
        if message["role"] == "user":
            _anthropic_user(message["content"], open_calls, position)
            open_calls = []
        else:
            open_calls = list(_anthropic_assistant(message["content"], body, headers, position, seen))


def _anthropic_tools(body: Body) -> None:
    names = [tool["name"] for tool in body.get("tools") or ()]
    require(len(set(names)) == len(names), "tools: names must be unique")
    require(all(TOOL_NAME.match(name) for name in names), "tools: a name does not match the pattern")
    require(all(tool["input_schema"].get("type") == "object" for tool in body.get("tools") or ()), "tools: no object")
    choice = body.get("tool_choice")
    require(choice is None or names, "tool_choice may only be specified while providing tools")
    forced = choice and choice["type"] in ("any", "tool")
    require(not forced or not _binds(body["model"]), "tool_choice: forced tool use is not supported for this model")
    require(not choice or choice["type"] != "tool" or choice["name"] in names, "tool_choice: tool not found")
    thinks = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    require(not forced or not thinks, "Thinking may not be enabled when tool_choice forces tool use.")


def _anthropic_thinking(body: Body, headers: Mapping[str, str]) -> None:
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        require(not _binds(body["model"]), '"thinking.type.enabled" is not supported for this model.')
        require(1024 <= thinking["budget_tokens"] < body["max_tokens"], "thinking.budget_tokens")
        require("temperature" not in body, "`temperature` may only be set to 1 when thinking is enabled.")
    if "block_binding" in thinking:
        require(BINDING_BETA in headers.get("anthropic-beta", ""), "block_binding needs its beta header")


def _anthropic_system(body: Body) -> None:
    for block in body.get("system") or ():
        require(block["type"] == "text" and block["text"].strip(), "system: text content blocks must be non-empty")


def _anthropic_user(content: list[Body], open_calls: list[str], position: int) -> None:
    results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    leading = [block["type"] for block in content][: len(results)]
    require(sorted(results) == sorted(open_calls), f"messages.{position}: tool_use ids {open_calls}, results {results}")
    require(set(leading) <= {"tool_result"}, f"messages.{position}: tool_result blocks must come first")
    for block in content:
        if block["type"] == "tool_result":
            require(block["content"], f"messages.{position}: empty tool_result")
            _anthropic_blocks(block["content"], position)
        else:
            _anthropic_blocks([block], position)


def _anthropic_blocks(blocks: list[Body], position: int) -> None:
    for block in blocks:
        if block["type"] == "text":
            require(block["text"].strip(), f"messages.{position}: text content blocks must be non-empty")
            continue
        require(block["type"] == "image", f"messages.{position}: unexpected block {block['type']}")
        source = block["source"]
        if source["type"] == "base64":
            require(source["media_type"] in ("image/png", "image/jpeg", "image/gif", "image/webp"), "media_type")
        else:
            require(source["type"] == "url" and source["url"].startswith("http"), "image source")


def _anthropic_assistant(
    content: list[Body], body: Body, headers: Mapping[str, str], position: int, seen: set[str]
) -> Iterator[str]:
    last = content[-1]["type"]
    require(last in ("text", "tool_use"), f"messages.{position}: the final block cannot be `{last}`")
    for block in content:
        if block["type"] == "text":
            require(block["text"].strip(), f"messages.{position}: text content blocks must be non-empty")
        elif block["type"] == "thinking":
            _signed(block, body, position)
        elif block["type"] == "redacted_thinking":
            require(block["data"], f"messages.{position}: redacted_thinking without data")
        else:
            require(block["type"] == "tool_use", f"messages.{position}: unexpected block {block['type']}")
            require(ANTHROPIC_ID.match(block["id"]), f"messages.{position}: tool_use.id does not match the pattern")
            require(block["id"] not in seen, f"messages.{position}: `tool_use` ids must be unique")
            require(TOOL_NAME.match(block["name"]), f"messages.{position}: bad tool name")
            require(isinstance(block["input"], dict), f"messages.{position}: input should be a dictionary")
            seen.add(block["id"])
            yield block["id"]


def _signed(block: Body, body: Body, position: int) -> None:
    expected = signature(block["thinking"], body)
    message = f"messages.{position}: Invalid `signature` in `thinking` block."
    require(block["signature"].rpartition("-")[0] == expected.rpartition("-")[0], message)
    drops = ((body.get("thinking") or {}).get("block_binding") or {}).get("prefix_mismatch_behavior") == "drop_block"
    bound = _binds(body["model"]) and not drops
    require(not bound or block["signature"] == expected, f"{message} The block is bound to a different conversation.")


def _binds(model: str) -> bool:
    return re.search(r"-5-5|-5-[1-9]|-[6-9]\b", model) is not None


def _texts(system: Any) -> str:
    return "".join(block["text"] for block in system or ())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
