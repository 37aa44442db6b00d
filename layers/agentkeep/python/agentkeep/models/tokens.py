"""How many tokens something takes, estimated without a tokenizer.

Four ASCII characters to a token, every other character a token of its own, some tokens around each message, a fixed
number for an image. Near the tokenizers of OpenAI and Anthropic for English prose, above them for other scripts: it is
used to decide when a context is full, where too high is the safe side.
"""

import math
from collections.abc import Sequence
from typing import Final

from agentkeep.store.content import ImagePart, Message, Part, ReasoningPart, RedactedReasoningPart, TextPart, ToolReturn

ASCII_PER_TOKEN: Final = 4
TOKENS_PER_MESSAGE: Final = 4
TOKENS_PER_IMAGE: Final = 1_200


def estimate_tokens(content: str | Sequence[Message]) -> int:
    """The estimated tokens of a text, or of messages with their calls and returns."""
    return _of_text(content) if isinstance(content, str) else sum(map(_of_message, content))


def _of_text(text: str) -> int:
    ascii_count = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_count / ASCII_PER_TOKEN) + len(text) - ascii_count


def _of_message(message: Message) -> int:
    calls = sum(_of_text(call.name) + _of_text(call.arguments) for call in message.tool_calls)
    returns = sum(map(_of_return, message.tool_returns))
    return TOKENS_PER_MESSAGE + sum(map(_of_part, message.content)) + calls + returns


def _of_return(tool_return: ToolReturn) -> int:
    if isinstance(tool_return.content, str):
        return TOKENS_PER_MESSAGE + _of_text(tool_return.content)
    return TOKENS_PER_MESSAGE + sum(map(_of_part, tool_return.content))


def _of_part(part: Part) -> int:
    match part:
        case TextPart():
            return _of_text(part.text)
        case ReasoningPart():
            return _of_text(part.reasoning)
        case RedactedReasoningPart():
            return _of_text(part.data)
        case ImagePart():
            return TOKENS_PER_IMAGE
