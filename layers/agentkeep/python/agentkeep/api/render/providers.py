"""Providers of a tenant. Nothing of their keys is ever shown."""

from typing import Any

from agentkeep.api.render.times import moment
from agentkeep.models import provider_types
from agentkeep.store.entities import Provider

Json = dict[str, Any]


def provider(record: Provider) -> Json:
    """A provider, with the address in use."""
    return {
        "id": record.id,
        "name": record.name,
        "provider_type": record.provider_type,
        "provider_category": "byok",
        "api_key": None,
        "base_url": provider_types.of(record.provider_type).address(record.base_url),
        "access_key": None,
        "region": None,
        "api_version": None,
        "updated_at": moment(record.updated_at),
        "last_synced": moment(record.last_synced),
        "api_key_enc": None,
        "access_key_enc": None,
    }
