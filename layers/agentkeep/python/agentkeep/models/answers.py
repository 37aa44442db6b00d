"""What reading an answer needs whichever provider it came from: unique call ids, and no empty answers. Pure."""

import secrets
from collections.abc import Sequence

from agentkeep.models.errors import EmptyAnswerError, OutputLimitError
from agentkeep.models.interface import ModelAnswer, ModelRequest
from agentkeep.store.content import Message, Part, TextPart, ToolCall

DECLINED = "(The model declined to answer this.)"


def refused(content: list[Part], explanation: str | None) -> list[Part]:
    """The content of a refusal: never empty, so that the user sees that and why there is no answer."""
    return content if has_text(content) else [*content, TextPart(text=explanation or DECLINED)]


def has_text(content: Sequence[Part]) -> bool:
    """Whether there is any text but white space."""
    return any(isinstance(part, TextPart) and part.text.strip() for part in content)


def with_unique_ids(calls: Sequence[ToolCall], messages: Sequence[Message]) -> list[ToolCall]:
    """The calls with new ids where one is missing or was used before: some compatible servers reuse them."""
    taken = {call.id for message in messages for call in message.tool_calls}
    unique = []
    for call in calls:
        if not call.id or call.id in taken:
            call = call.model_copy(update={"id": f"call_{secrets.token_hex(12)}"})
        taken.add(call.id)
        unique.append(call)
    return unique


def not_empty(answer: ModelAnswer, request: ModelRequest) -> ModelAnswer:
    """The answer, when it says or calls something. Raises EmptyAnswerError or OutputLimitError otherwise."""
    if answer.tool_calls or has_text(answer.content):
        return answer
    if answer.finish == "length":
        raise OutputLimitError(request.handle, answer.usage.completion_tokens)
    raise EmptyAnswerError(request.handle)
