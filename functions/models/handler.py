"""The models that can be called here: models.list and models.embeddings.list."""

from collections.abc import Mapping
from typing import Any

from agentkeep import models
from agentkeep.api.render.models import embedding_model, model, provider_type
from agentkeep.api.replies import Reply
from agentkeep.api.requests.models import ListModels
from agentkeep.api.resolver import Resolver

app = Resolver()


@app.get("/v1/models", permission="model:read")
def list_models() -> list[dict[str, Any]]:
    """The language models, filtered by provider."""
    query = app.query(ListModels)
    infos = models.list_models(query.categories())
    return [model(info) for info in infos if query.fits(provider_type(info), info.provider_name)]


@app.get("/v1/models/embedding", permission="model:read")
@app.get("/v1/models/embeddings", permission="model:read")
def list_embedding_models() -> list[dict[str, Any]]:
    """The embedding models."""
    return [embedding_model(info) for info in models.list_embedding_models()]


def lambda_handler(event: Mapping[str, Any], context: Any) -> Reply:
    """Answers a proxy event."""
    return app.resolve(event, context)
