"""Requests about agents: create, update, list, and what hangs on one agent."""

from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from agentkeep.api.requests.blocks import CreateBlock
from agentkeep.api.requests.fields import (
    BlockId,
    Body,
    Boolean,
    ByCreation,
    CommaSeparated,
    ContextWindow,
    ConversationId,
    Count,
    Handle,
    IdentityId,
    Integer,
    Json,
    LegacyPage,
    MessageId,
    Moment,
    Name,
    Order,
    Page,
    Query,
    Reference,
    SourceId,
    Tags,
    ToolId,
)
from agentkeep.api.requests.messages import MessageCreate
from agentkeep.api.requests.model_settings import (
    CompactionSettings,
    EmbeddingConfig,
    LlmConfig,
    ModelSettings,
    Settings,
)
from agentkeep.loop.rules import kinds as rules
from agentkeep.store.agents import AgentFilter
from agentkeep.store.agents import Order as AgentOrder
from agentkeep.store.entities import StopReason

AgentType = Literal[
    "memgpt_agent", "memgpt_v2_agent", "letta_v1_agent", "react_agent", "workflow_agent", "split_thread_agent",
    "sleeptime_agent", "voice_convo_agent", "voice_sleeptime_agent",
]  # fmt: skip
Include = Literal[
    "agent.blocks", "agent.identities", "agent.managed_group", "agent.pending_approval", "agent.secrets",
    "agent.sources", "agent.tags", "agent.tools",
]  # fmt: skip


def _known_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{value[:100]!r} is not a time zone; send a name such as 'Europe/Paris' or 'UTC'") from None
    return value


def _whole_rule(fields: Json) -> Json:
    """The rule with every field that its kind has, as the API shows it. Its tools need not exist yet."""
    return rules.read(fields).model_dump(mode="json")


TimeZone = Annotated[str, AfterValidator(_known_zone)]
ToolRule = Annotated[Json, AfterValidator(_whole_rule)]
ToolRules = Annotated[list[ToolRule], Field(max_length=300)]


class _AgentFields(Body):
    """What an agent can be made with and changed to."""

    name: Name | None = None
    description: str | None = None
    system: str | None = None
    tags: Tags | None = None
    block_ids: list[BlockId] | None = None
    tool_ids: list[ToolId] | None = None
    tool_rules: ToolRules | None = None
    source_ids: list[SourceId] | None = None
    folder_ids: list[SourceId] | None = None
    identity_ids: list[IdentityId] | None = None
    metadata: Json | None = None
    model: Handle | None = None
    model_settings: ModelSettings | None = None
    llm_config: LlmConfig | None = None
    embedding: Handle | None = None
    embedding_config: EmbeddingConfig | None = None
    compaction_settings: CompactionSettings | None = None
    response_format: Settings | None = None
    context_window_limit: ContextWindow | None = None
    max_tokens: Count | None = None
    parallel_tool_calls: Boolean | None = None
    reasoning: Boolean | None = None
    enable_sleeptime: Boolean | None = None
    message_buffer_autoclear: Boolean | None = None
    timezone: TimeZone | None = None
    max_files_open: Count | None = None
    per_file_view_window_char_limit: Count | None = None
    secrets: dict[str, str] | None = None
    tool_exec_environment_variables: dict[str, str] | None = None
    hidden: Boolean | None = None
    project_id: Reference | None = None
    template_id: Reference | None = None
    base_template_id: Reference | None = None


class CreateAgent(_AgentFields):
    """The body of agents.create."""

    agent_type: AgentType = "letta_v1_agent"
    memory_blocks: list[CreateBlock] | None = None
    tools: list[str] | None = None
    include_base_tools: Boolean = True
    include_multi_agent_tools: Boolean = False
    include_base_tool_rules: Boolean | None = None
    initial_message_sequence: list[MessageCreate] | None = None
    embedding_chunk_size: Count | None = 300
    enable_reasoner: Boolean | None = True
    max_reasoning_tokens: Integer | None = None
    memory_variables: dict[str, str] | None = None


class UpdateAgent(_AgentFields):
    """The body of agents.update; only what `given()` holds is changed."""

    message_ids: list[MessageId] | None = None
    last_run_completion: Moment | None = None
    last_run_duration_ms: Integer | None = None
    last_stop_reason: StopReason | None = None


class ResetMessages(Body):
    """The body of agents.messages.reset."""

    add_default_initial_messages: Boolean = False


class IncludeQuery(Query):
    """What to fill in of an agent. `include_relationships` is its older name, without the prefix."""

    include: CommaSeparated[Include] = Field(default_factory=list)
    include_relationships: CommaSeparated[str] = Field(default_factory=list)

    def included(self) -> frozenset[str]:
        """The values of `include`, those that older clients name otherwise among them."""
        older = {_OLDER_INCLUDES.get(name, f"agent.{name}") for name in self.include_relationships}
        return frozenset(self.include) | older


_OLDER_INCLUDES: Final = {"memory": "agent.blocks", "tool_exec_environment_variables": "agent.secrets"}


class _AgentFilterQuery(Query):
    name: str | None = None
    tags: Tags = Field(default_factory=list)
    match_all_tags: bool = False
    query_text: str | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    identity_id: str | None = None
    identifier_keys: list[str] = Field(default_factory=list)
    created_by_id: str | None = None
    last_stop_reason: StopReason | None = None
    show_hidden_agents: bool = False

    def filters(self) -> AgentFilter:
        """The filters for the store."""
        fields = self.model_dump(include=set(_AgentFilterQuery.model_fields) - {"show_hidden_agents"})
        return AgentFilter(**fields, show_hidden=self.show_hidden_agents)


class CountAgents(_AgentFilterQuery):
    """The query of agents.count."""


class ListAgents(LegacyPage, IncludeQuery, _AgentFilterQuery):
    """The query of agents.list."""

    order_by: AgentOrder = "created_at"
    sort_by: AgentOrder | None = None

    @property
    def ordering(self) -> AgentOrder:
        """What the list is ordered by; `sort_by` is the older name of `order_by`."""
        return self.sort_by if self.sort_by and "order_by" not in self.model_fields_set else self.order_by


class ListBlockAgents(ByCreation, IncludeQuery):
    """The query of blocks.agents.list."""


class ListTags(Page):
    """The query of tags.list. A tag is its own cursor; `query_text` is the older name of `name`."""

    order: Order = "asc"
    order_by: Literal["name"] = "name"
    name: str | None = None
    query_text: str | None = None

    @property
    def containing(self) -> str | None:
        """What the tags must contain, in either case."""
        return self.name or self.query_text


class ContextQuery(Query):
    """The query of an agent's context window."""

    conversation_id: ConversationId | None = None


class RecompileQuery(Query):
    """The query of agents.recompile."""

    dry_run: bool = False
    update_timestamp: bool = False
