"""What a conversation is made of: messages, their parts, tool calls and returns, in one form for every provider."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """A stored shape. Attributes it does not know are kept, since parked runs outlive deployments both ways."""

    model_config = ConfigDict(extra="allow", ser_json_inf_nan="null")


class TextPart(Record):
    """Text, of the user or of the model. `signature` is opaque and only for the provider that made it."""

    type: Literal["text"] = "text"
    text: str
    signature: str | None = None


class ImagePart(Record):
    """An image, base64 in `data` with its `media_type`, or at an address in `url`."""

    type: Literal["image"] = "image"
    media_type: str = "image/png"
    data: str | None = None
    url: str | None = None
    detail: str | None = None


class ReasoningPart(Record):
    """What the model thought. Goes back, with its signature, only to the provider that made it."""

    type: Literal["reasoning"] = "reasoning"
    reasoning: str
    signature: str | None = None
    is_native: bool = True


class RedactedReasoningPart(Record):
    """Encrypted reasoning (Anthropic's redacted_thinking). Must go back to its provider unchanged."""

    type: Literal["redacted_reasoning"] = "redacted_reasoning"
    data: str


Part = Annotated[TextPart | ImagePart | ReasoningPart | RedactedReasoningPart, Field(discriminator="type")]
ReturnPart = Annotated[TextPart | ImagePart, Field(discriminator="type")]


class ToolCall(Record):
    """A call the model made. `arguments` is the JSON text exactly as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str
    signature: str | None = None


RefusedBy = Literal["tool_rules", "prefilled_arguments", "arguments", "store"]


class ToolReturn(Record):
    """What a tool answered. Every tool call of an assistant message has exactly one.

    `refused_by` is set if the tool was not run: a rule forbids the call, or set arguments that do not fit; the model's
    arguments do not; or the store could not take what the call would have changed.
    """

    tool_call_id: str
    name: str
    status: Literal["success", "error"] = "success"
    content: str | list[ReturnPart] = ""
    stdout: list[str] | None = None
    stderr: list[str] | None = None
    refused_by: RefusedBy | None = None


Role = Literal["system", "user", "assistant", "tool"]


Trigger = Literal["context_window_exceeded", "post_step_context_check", "manual"]


class CompactionStats(Record):
    """How a context window was made smaller. Sizes in tokens and, with the system message, in messages.

    `trigger` is Letta's name of the reason, or `manual`. `note` says what went wrong when no model wrote the summary.
    """

    trigger: Trigger
    context_tokens_before: int | None = None
    context_tokens_after: int | None = None
    context_window: int
    messages_count_before: int
    messages_count_after: int
    note: str | None = None


class Message(Record):
    """One entry of a conversation's history.

    `conversation` is a `conv-...` id, or the agent's id for its default conversation. `seq` orders the conversation;
    ids and times never do. Sequence 0 is the compiled system message. A `tool` message carries `tool_returns`.
    `provider` is the provider type (`openai`, `anthropic`, `demo`) that produced an assistant message. One with
    `compaction` stands for older messages: its first part introduces it to the model, its last part is the summary.
    """

    id: str
    agent_id: str
    conversation: str
    role: Role
    seq: int = 0
    content: list[Part] = Field(default_factory=list)
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_returns: list[ToolReturn] = Field(default_factory=list)
    name: str | None = None
    otid: str | None = None
    sender_id: str | None = None
    run_id: str | None = None
    step_id: str | None = None
    provider: str | None = None
    model: str | None = None
    compaction: CompactionStats | None = None
    created_at: datetime

    @property
    def text(self) -> str:
        """All text parts, one after the other."""
        return "".join(part.text for part in self.content if isinstance(part, TextPart))


class Usage(Record):
    """Tokens of one model call, or the sum over several. `context_tokens`: size of the newest context."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    context_tokens: int | None = None
    step_count: int = 0

    def plus(self, other: "Usage") -> "Usage":
        """The sum of two; the context is the newer one's."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            context_tokens=other.context_tokens if other.context_tokens is not None else self.context_tokens,
            step_count=self.step_count + other.step_count,
        )


class ToolSchema(Record):
    """A tool as a model sees it. `parameters` is a JSON Schema of type object."""

    name: str
    description: str = ""
    parameters: dict[str, Any]
    strict: bool = False
