"""Requests about runs and steps."""

from typing import Literal

from pydantic import Field

from agentkeep.api.requests.fields import (
    AgentId,
    Body,
    ByCreation,
    CommaSeparated,
    ConversationId,
    LegacyPage,
    Query,
    Since,
    Tags,
    Until,
    limit_field,
)
from agentkeep.store.entities import RunStatus, StopReason


class ListRuns(ByCreation, LegacyPage):
    """The query of runs.list."""

    limit: int = limit_field(100)
    agent_id: AgentId | None = None
    agent_ids: CommaSeparated[AgentId] = Field(default_factory=list)
    conversation_id: ConversationId | None = None
    statuses: CommaSeparated[RunStatus] = Field(default_factory=list)
    background: bool | None = None
    stop_reason: StopReason | None = None
    active: bool = False

    @property
    def agents(self) -> list[str]:
        """Whose runs are asked for; none named is everybody's."""
        return [*self.agent_ids, *([self.agent_id] if self.agent_id else [])]


class ListActiveRuns(Query):
    """The query of the runs that have not finished."""

    agent_id: AgentId | None = None
    background: bool | None = None


class ListRunSteps(ByCreation):
    """The query of runs.steps.list."""

    limit: int = limit_field(100)


class ListSteps(ByCreation):
    """The query of steps.list."""

    agent_id: AgentId | None = None
    model: str | None = None
    feedback: Literal["positive", "negative"] | None = None
    has_feedback: bool | None = None
    tags: list[str] = Field(default_factory=list)
    trace_ids: CommaSeparated[str] = Field(default_factory=list)
    start_date: Since | None = None
    end_date: Until | None = None
    project_id: str | None = None


class StepFeedback(Body):
    """The body of steps.feedback.create."""

    feedback: Literal["positive", "negative"] | None = None
    tags: Tags | None = None
