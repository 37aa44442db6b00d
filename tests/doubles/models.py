"""A model that answers by script and refuses what providers refuse."""

import json
import threading
from collections.abc import Callable
from typing import Any

from agentkeep.models import ModelAnswer, ModelRequest
from agentkeep.store.content import Message, TextPart, ToolCall, Usage

Scripted = ModelAnswer | Exception | Callable[[ModelRequest], ModelAnswer]


class UnpairedCallError(AssertionError):
    """A request reached the model with a call that has no return: what providers answer 400 to."""


def says(text: str) -> ModelAnswer:
    """A text, which ends a turn."""
    return _answer([TextPart(text=text)], [])


def calls(name: str, arguments: dict[str, Any] | str, *, id: str = "call_1", text: str = "") -> ModelAnswer:
    """A tool call."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return _answer([TextPart(text=text)] if text else [], [ToolCall(id=id, name=name, arguments=written)])


def both(*answers: ModelAnswer) -> ModelAnswer:
    """Several answers' calls in one."""
    return _answer([], [call for answer in answers for call in answer.tool_calls])


def _answer(content: list[Any], tool_calls: list[ToolCall]) -> ModelAnswer:
    usage = Usage(prompt_tokens=100, completion_tokens=10, total_tokens=110, context_tokens=110)
    finish = "tool_calls" if tool_calls else "stop"
    return ModelAnswer(content, tool_calls, finish, usage, provider="openai", model="scripted")  # type: ignore[arg-type]


class ScriptedModel:
    """Answers with its script in order, and "Acknowledged." when that is used up. Records every request."""

    def __init__(self) -> None:
        self.script: list[Scripted] = []
        self.requests: list[ModelRequest] = []
        self._lock = threading.Lock()

    def __call__(self, request: ModelRequest) -> ModelAnswer:
        refuse_unpaired(list(request.messages))
        with self._lock:
            self.requests.append(request)
            next_answer = self.script.pop(0) if self.script else says("Acknowledged.")
        if isinstance(next_answer, Exception):
            raise next_answer
        return next_answer if isinstance(next_answer, ModelAnswer) else next_answer(request)


def refuse_unpaired(messages: list[Message]) -> None:
    """Raises UnpairedCallError unless every call is followed by exactly its returns."""
    for position, message in enumerate(messages):
        if not message.tool_calls:
            continue
        following = messages[position + 1] if position + 1 < len(messages) else None
        returned = [each.tool_call_id for each in following.tool_returns] if following else []
        if returned != [call.id for call in message.tool_calls]:
            raise UnpairedCallError(f"calls {[call.id for call in message.tool_calls]}, returns {returned}")
