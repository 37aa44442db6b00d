"""Requests about blocks."""

from dataclasses import replace

from pydantic import AliasChoices, Field

from agentkeep.api.requests.fields import (
    Body,
    Boolean,
    ByCreation,
    CommaSeparated,
    Count,
    Json,
    Label,
    Name,
    Order,
    Query,
    Reference,
    Tags,
    limit_field,
)
from agentkeep.store.blocks import BlockFilter


class _BlockFields(Body):
    description: str | None = None
    metadata: Json | None = None
    tags: Tags | None = None
    hidden: Boolean | None = None
    name: Name | None = Field(default=None, validation_alias=AliasChoices("template_name", "name"))
    project_id: Reference | None = None
    template_id: Reference | None = None
    base_template_id: Reference | None = None
    deployment_id: Reference | None = None
    entity_id: Reference | None = None


class CreateBlock(_BlockFields):
    """The body of blocks.create, and a block that comes with a new agent. `template_name` is kept as `name`."""

    label: Label
    value: str
    limit: Count = 100_000
    read_only: Boolean = False
    is_template: Boolean = False
    preserve_on_migration: Boolean | None = False


class UpdateBlock(_BlockFields):
    """The body of blocks.update and agents.blocks.update; only what `given()` holds is changed."""

    label: Label | None = None
    value: str | None = None
    limit: Count | None = None
    read_only: Boolean | None = None
    is_template: Boolean | None = None
    preserve_on_migration: Boolean | None = None


class UndoBlock(Body):
    """The body of our blocks undo: back to `version`, or without it to the one before the current."""

    version: Count | None = None


class BlockHistory(Query):
    """The query of our blocks history: the newest versions, or those before one."""

    limit: int = limit_field(50)
    before_version: int | None = Field(default=None, ge=1, le=10**9)


class _BlockFilterQuery(Query):
    label: str | None = None
    name: str | None = None
    templates_only: bool = False
    tags: Tags = Field(default_factory=list)
    match_all_tags: bool = False
    project_id: str | None = None
    show_hidden_blocks: bool = False

    def filters(self) -> BlockFilter:
        """The filters for the store."""
        names = ("label", "name", "templates_only", "tags", "match_all_tags", "project_id")
        return BlockFilter(**self.model_dump(include=set(names)), show_hidden=self.show_hidden_blocks)


class CountBlocks(_BlockFilterQuery):
    """The query of blocks.count."""


class ListBlocks(ByCreation, _BlockFilterQuery):
    """The query of blocks.list, oldest first unless asked otherwise."""

    order: Order = "asc"
    label_search: str | None = None
    description_search: str | None = None
    value_search: str | None = None
    identity_id: str | None = None
    identifier_keys: list[str] = Field(default_factory=list)
    connected_to_agents_count_gt: int | None = None
    connected_to_agents_count_lt: int | None = None
    connected_to_agents_count_eq: CommaSeparated[int] = Field(default_factory=list)

    def filters(self) -> BlockFilter:
        """The filters for the store."""
        return replace(
            super().filters(),
            label_search=self.label_search,
            description_search=self.description_search,
            value_search=self.value_search,
            identity_id=self.identity_id,
            identifier_keys=self.identifier_keys,
            agents_gt=self.connected_to_agents_count_gt,
            agents_lt=self.connected_to_agents_count_lt,
            agents_eq=self.connected_to_agents_count_eq,
        )


class ListAgentBlocks(ByCreation):
    """The query of agents.blocks.list."""

    limit: int = limit_field(100)
