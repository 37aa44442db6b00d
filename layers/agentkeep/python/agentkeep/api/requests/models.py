"""Requests about models."""

from pydantic import Field

from agentkeep.api.requests.fields import CommaSeparated, Query
from agentkeep.models.endpoints import Category


class ListModels(Query):
    """The query of models.list. The deployment's providers are of the category `base`, a tenant's own `byok`."""

    provider_category: CommaSeparated[str] = Field(default_factory=list)
    provider_name: str | None = None
    provider_type: str | None = None

    def categories(self) -> tuple[Category, ...]:
        """Whose providers are asked for: all of them, unless the query says."""
        every: tuple[Category, ...] = ("base", "byok")
        return tuple(each for each in every if not self.provider_category or each in self.provider_category)

    def fits(self, provider_type: str, provider_name: str) -> bool:
        """Whether a provider passes."""
        return self.provider_type in (None, provider_type) and self.provider_name in (None, provider_name)
