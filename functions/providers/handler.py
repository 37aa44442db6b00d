"""Providers of a tenant: create, read, list, change, delete, check, refresh."""

from typing import Any

from agentkeep.api.render.providers import provider
from agentkeep.api.replies import Reply
from agentkeep.api.requests.providers import CheckProvider, CreateProvider, ListProviders, UpdateProvider
from agentkeep.api.resolver import Event, Resolver
from agentkeep.operations import providers

Json = dict[str, Any]

app = Resolver()


@app.get("/v1/providers", permission="provider:read")
def list_providers() -> list[Json]:
    return [provider(found) for found in providers.page(app.query(ListProviders))]


@app.post("/v1/providers", permission="provider:write")
def create_provider() -> Json:
    return provider(providers.create(app.body(CreateProvider)))


@app.post("/v1/providers/check", permission="provider:write")
def check_provider() -> Json:
    return _good_key(providers.check(app.body(CheckProvider)))


@app.get("/v1/providers/<provider_id>", permission="provider:read")
def retrieve_provider(provider_id: str) -> Json:
    return provider(providers.retrieve(provider_id))


@app.patch("/v1/providers/<provider_id>", permission="provider:write")
def update_provider(provider_id: str) -> Json:
    return provider(providers.update(provider_id, app.body(UpdateProvider)))


@app.delete("/v1/providers/<provider_id>", permission="provider:delete")
def delete_provider(provider_id: str) -> Json:
    providers.delete(provider_id)
    return {"message": f"Provider id={provider_id} successfully deleted"}


@app.post("/v1/providers/<provider_id>/check", permission="provider:write")
def check_existing_provider(provider_id: str) -> Json:
    return _good_key(providers.check_existing(provider_id))


@app.patch("/v1/providers/<provider_id>/refresh", permission="provider:write")
def refresh_provider(provider_id: str) -> Json:
    return provider(providers.refresh(provider_id))


def _good_key(provider_type: str) -> Json:
    return {"message": f"The key is good for this provider of the type {provider_type}."}


def lambda_handler(event: Event, context: Any) -> Reply:
    """Answers a proxy event of API Gateway."""
    return app.resolve(event, context)
