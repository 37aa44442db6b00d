"""The entities AgentKeep keeps: agents, blocks, conversations, runs and steps, as they are stored."""

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import Field

from agentkeep.store.content import Record, Usage

StopReason = Literal[
    "end_turn", "error", "llm_api_error", "invalid_llm_response", "invalid_tool_call", "max_steps",
    "max_tokens_exceeded", "no_tool_call", "tool_rule", "cancelled", "insufficient_credits", "requires_approval",
    "context_window_overflow_in_system_prompt",
]  # fmt: skip
RunStatus = Literal["created", "running", "completed", "failed", "cancelled"]
RESERVED_PROVIDERS: Final = frozenset({"openai", "anthropic", "demo", "letta"})
"""Names that no tenant's provider can have: handles that begin with them are the deployment's."""


class Block(Record):
    """A labelled piece of memory, shown to the model whole. `version` counts its writes from 1."""

    id: str
    label: str
    value: str
    limit: int = 100_000
    description: str | None = None
    read_only: bool = False
    metadata: dict[str, Any] = Field(default_factory=dict)
    tags: list[str] = Field(default_factory=list)
    hidden: bool | None = None
    name: str | None = None
    is_template: bool = False
    preserve_on_migration: bool = False
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    entity_id: str | None = None
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1


class BlockVersion(Record):
    """One entry of a block's history: the block as it was after write number `version`, and who wrote it."""

    block_id: str
    version: int
    value: str
    label: str
    description: str | None = None
    limit: int
    changed_by: str
    changed_at: datetime
    cause: Literal["create", "update", "tool", "undo"] = "update"
    run_id: str | None = None


class Agent(Record):
    """An agent. Blocks and tools are by id, in order; the rest is its own.

    `version` counts its writes from 1 and guards concurrent updates: see `store.agents.revised`.
    """

    id: str
    name: str
    agent_type: str = "letta_v1_agent"
    system: str
    model: str
    embedding: str | None = None
    context_window: int | None = None
    description: str | None = None
    metadata: dict[str, Any] | None = None
    tags: list[str] = Field(default_factory=list)
    block_ids: list[str] = Field(default_factory=list)
    tool_ids: list[str] = Field(default_factory=list)
    tool_rules: list[dict[str, Any]] = Field(default_factory=list)
    identity_ids: list[str] = Field(default_factory=list)
    model_settings: dict[str, Any] | None = None
    compaction_settings: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    timezone: str = "UTC"
    hidden: bool | None = None
    message_buffer_autoclear: bool = False
    enable_sleeptime: bool | None = None
    max_files_open: int | None = None
    per_file_view_window_char_limit: int | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    entity_id: str | None = None
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1


class Segment(Record):
    """A stretch of a conversation that is in the context window: sequences `first` to `last`, both included.

    `last` is None for the newest, which grows with the conversation.
    """

    conversation: str
    first: int
    last: int | None = None


class Window(Record):
    """What of the history the model sees, and the fingerprint of what its system message was compiled from.

    `summary` is the sequence of the message that stands in front, for older ones: it lies in the newest segment.
    `tokens` is the prompt of the newest model call as its provider counted it; messages from `counted_to` on are newer.
    """

    segments: list[Segment] = Field(default_factory=list)
    compiled_from: str = ""
    summary: int | None = None
    tokens: int | None = None
    counted_to: int = 0

    def emptied(self, conversation: str, next_seq: int) -> "Window":
        """The window without any message; the next ones will be in it."""
        return Window(segments=[Segment(conversation=conversation, first=next_seq)], compiled_from=self.compiled_from)


class Conversation(Record):
    """One line of talk with an agent. `id` is `conv-...`, or the agent's id for its default conversation.

    These are the fields its user sets. What turns write stands beside them in the item: `store.conversations.State`.
    """

    id: str
    agent_id: str
    system_message_id: str
    summary: str | None = None
    description: str | None = None
    archived: bool = False
    archived_at: datetime | None = None
    hidden: bool | None = None
    model: str | None = None
    model_settings: dict[str, Any] | None = None
    context_window: int | None = None
    isolated_block_ids: list[str] = Field(default_factory=list)
    last_message_at: datetime | None = None
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    created_at: datetime
    updated_at: datetime


class Run(Record):
    """One turn, from the accepted message to its stop reason. `first_seq`..`last_seq` are its messages.

    `ttft_ns` runs from its acceptance to its first committed answer. `tools_used` are the ids of the tools it called.
    """

    id: str
    agent_id: str
    conversation: str
    status: RunStatus = "created"
    background: bool = False
    request: dict[str, Any] = Field(default_factory=dict)
    digest: str = ""
    otid: str | None = None
    stop_reason: StopReason | None = None
    error: dict[str, Any] | None = None
    attempts: int = 1
    first_seq: int | None = None
    last_seq: int | None = None
    steps: int = 0
    usage: Usage = Field(default_factory=Usage)
    created_at: datetime
    completed_at: datetime | None = None
    ttft_ns: int | None = None
    tools_used: list[str] = Field(default_factory=list)
    total_duration_ns: int | None = None


class Step(Record):
    """One model call and its tools. `first_seq`..`last_seq` are the messages it committed. Durations in ns."""

    id: str
    run_id: str
    agent_id: str
    conversation: str
    number: int
    status: Literal["pending", "success", "failed", "cancelled"] = "success"
    model: str | None = None
    provider: str | None = None
    usage: Usage = Field(default_factory=Usage)
    stop_reason: StopReason | None = None
    error: dict[str, Any] | None = None
    feedback: Literal["positive", "negative"] | None = None
    tags: list[str] = Field(default_factory=list)
    first_seq: int | None = None
    last_seq: int | None = None
    context_window: int | None = None
    llm_request_ns: int | None = None
    tool_execution_ns: int | None = None
    step_ns: int | None = None
    created_at: datetime


class ProviderModel(Record):
    """A model as its provider listed it. Limits are tokens, None where it states none; `created` is epoch seconds."""

    id: str
    display_name: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    created: float = 0


class ProviderModels(Record):
    """What a provider listed when it was last asked, kept beside it: a turn reads the provider, and not these."""

    models: list[ProviderModel] = Field(default_factory=list)


class Provider(Record):
    """A model provider of a tenant's own. Its name leads the handles of its models.

    `base_url` is None for the usual address of its type. `sealed_key` is for `tenancy.secrets.unseal`, None for no key.
    `version` counts its writes from 1.
    """

    id: str
    name: str
    provider_type: str
    base_url: str | None = None
    sealed_key: str | None = None
    last_synced: datetime | None = None
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1
