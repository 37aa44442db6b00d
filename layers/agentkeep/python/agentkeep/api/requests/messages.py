"""Requests about messages: sending them, to an agent or a conversation, and listing them."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from agentkeep.api.render.messages import MessageType, MessageView
from agentkeep.api.requests.content import Content, Contents, tagged
from agentkeep.api.requests.fields import (
    AgentId,
    Body,
    Boolean,
    ByCreation,
    CommaSeparated,
    ConversationId,
    Count,
    Handle,
    Integer,
    Json,
    Order,
    Page,
    limit_field,
)
from agentkeep.store.content import Part


class MessageCreate(Body):
    """A message to an agent."""

    type: Literal["message"] | None = "message"
    role: Literal["user", "system", "assistant"]
    content: Contents
    name: str | None = None
    otid: str | None = None
    sender_id: str | None = None
    group_id: str | None = None
    batch_item_id: str | None = None

    def parts(self) -> list[Part]:
        """The content as it is stored."""
        return [content.part() for content in self.content]


class ApprovalReturn(Body):
    """The decision on one tool call."""

    type: Literal["approval"] = "approval"
    tool_call_id: str
    approve: Boolean
    reason: str | None = None


class ToolReturn(Body):
    """What a tool answered that the client ran itself."""

    type: Literal["tool"] = "tool"
    tool_call_id: str
    tool_return: str | list[Content]
    status: Literal["success", "error"] = "success"
    stdout: list[str] | None = None
    stderr: list[str] | None = None


Decision = Annotated[
    Annotated[ApprovalReturn, Tag("<approval>")] | Annotated[ToolReturn, Tag("<tool>")],
    Discriminator(
        lambda value: tagged(value, "approval"),
        custom_error_type="decision_type",
        custom_error_message="should be of type 'approval' or 'tool'",
    ),
]


class ApprovalCreate(Body):
    """Answers to what an agent waits for: decisions and returns, or in the older shape one decision."""

    type: Literal["approval"] = "approval"
    approvals: list[Decision] | None = None
    approve: Boolean | None = None
    approval_request_id: str | None = None
    reason: str | None = None
    otid: str | None = None
    group_id: str | None = None


class ToolReturnCreate(Body):
    """The returns of tools that the client ran."""

    type: Literal["tool_return"]
    tool_returns: Annotated[list[ToolReturn], Field(min_length=1)]
    otid: str | None = None
    group_id: str | None = None


def _incoming_kind(value: object) -> str:
    decides = isinstance(value, dict) and not value.keys().isdisjoint({"approvals", "approve"})
    return tagged(value, "approval" if decides else "message")


Incoming = Annotated[
    Annotated[MessageCreate, Tag("<message>")]
    | Annotated[ApprovalCreate, Tag("<approval>")]
    | Annotated[ToolReturnCreate, Tag("<tool_return>")],
    Discriminator(
        _incoming_kind,
        custom_error_type="message_type",
        custom_error_message="should be of type 'message', 'approval' or 'tool_return'",
    ),
]


class ClientTool(Body):
    """A tool that the client runs."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    description: str | None = None
    parameters: Json | None = None


class ClientSkill(Body):
    """A skill that is there where the client runs."""

    name: str
    description: str
    location: str


class SendMessages(Body):
    """The body of agents.messages.create. `incoming` holds what was sent, as `input` or as `messages`."""

    messages: Annotated[list[Incoming], Field(min_length=1)] | None = None
    input: Contents | None = None
    streaming: Boolean = False
    stream_tokens: Boolean = False
    include_pings: Boolean = True
    background: Boolean = False
    max_steps: Count = 50
    override_model: Handle | None = None
    override_system: str | None = None
    client_tools: list[ClientTool] | None = None
    client_skills: list[ClientSkill] | None = None
    include_return_message_types: list[MessageType] | None = None
    include_compaction_messages: Boolean = False
    use_assistant_message: Boolean = True
    assistant_message_tool_name: str = "send_message"
    assistant_message_tool_kwarg: str = "message"
    enable_thinking: Any = True
    return_logprobs: Boolean = False
    top_logprobs: Integer | None = None
    return_token_ids: Boolean = False

    @model_validator(mode="after")
    def _one_of_both(self) -> "SendMessages":
        if self.messages is None and self.input is None:
            raise ValueError("Must specify either 'input' or 'messages'")
        if self.messages is not None and self.input is not None:
            raise ValueError("Must specify either 'input' or 'messages', not both")
        return self

    @property
    def incoming(self) -> list[Incoming]:
        """What was sent."""
        if self.input is not None:
            return [MessageCreate.model_construct(role="user", content=self.input)]
        return self.messages or []

    def view(self) -> MessageView:
        """How the answers are to be shown."""
        return MessageView(
            types=None if self.include_return_message_types is None else frozenset(self.include_return_message_types),
            use_assistant_message=self.use_assistant_message,
            tool_name=self.assistant_message_tool_name,
            tool_kwarg=self.assistant_message_tool_kwarg,
            compactions=self.include_compaction_messages,
        )


class SendToConversation(SendMessages):
    """The body of conversations.messages.create, a stream unless asked otherwise.

    `agent_id` says whose conversation `default` is.
    """

    agent_id: AgentId | None = None
    streaming: Boolean = True


class _MessagePage(Page):
    limit: int = limit_field(100)
    include_return_message_types: CommaSeparated[MessageType] = Field(default_factory=list)

    def view(self) -> MessageView:
        """How the messages are to be shown."""
        types = frozenset(self.include_return_message_types) or None
        return MessageView(types=types, newest_first=self.descending)


class ListMessages(_MessagePage, ByCreation):
    """The query of agents.messages.list and, with `agent_id`, of conversations.messages.list."""

    agent_id: AgentId | None = None
    conversation_id: ConversationId | None = None
    group_id: str | None = None
    include_err: bool | None = None
    use_assistant_message: bool = True
    assistant_message_tool_name: str = "send_message"
    assistant_message_tool_kwarg: str = "message"

    def view(self) -> MessageView:
        """How the messages are to be shown."""
        return replace(
            super().view(),
            use_assistant_message=self.use_assistant_message,
            tool_name=self.assistant_message_tool_name,
            tool_kwarg=self.assistant_message_tool_kwarg,
        )


class ListAllMessages(_MessagePage):
    """The query of messages.list, over all conversations."""

    conversation_id: ConversationId | None = None


class ListRunMessages(ByCreation):
    """The query of runs.messages.list and steps.messages.list, oldest first unless asked otherwise."""

    limit: int = limit_field(100)
    order: Order = "asc"

    def view(self) -> MessageView:
        """How the messages are to be shown."""
        return MessageView(newest_first=self.descending)
