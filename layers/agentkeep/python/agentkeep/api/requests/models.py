"""Requests about models."""

from pydantic import Field

from agentkeep.api.requests.fields import CommaSeparated, Query


class ListModels(Query):
    """The query of models.list. Every provider is of the category `base`: none is a tenant's own yet."""

    provider_category: CommaSeparated[str] = Field(default_factory=list)
    provider_name: str | None = None
    provider_type: str | None = None

    def fits(self, provider_type: str, provider_name: str) -> bool:
        """Whether a provider passes."""
        if self.provider_category and "base" not in self.provider_category:
            return False
        return self.provider_type in (None, provider_type) and self.provider_name in (None, provider_name)
