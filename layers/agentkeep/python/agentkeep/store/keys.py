"""The keys of every item. The tenant leads each of them; `infra/README.md` lists the access patterns they serve."""

import hashlib
from typing import Final, NamedTuple

from agentkeep.tenancy.context import current_tenant

SEPARATOR: Final = "\x00"
SHARDS: Final = 4


class Key(NamedTuple):
    """Partition key and sort key; the sort key is a number in the messages table."""

    pk: str
    sk: str | int


def partition(*parts: str) -> str:
    """A partition key of the calling tenant."""
    return "#".join((current_tenant.get(), *parts))


def entity(kind: str, identifier: str) -> Key:
    """The item that is the entity."""
    return Key(partition(kind, identifier), "state")


def activity(agent_id: str) -> Key:
    """When an agent ran last, beside the agent: turns write it, so it is not part of the agent's own item."""
    return Key(partition("agent", agent_id), "activity")


def agent_secrets(agent_id: str) -> Key:
    """The sealed secrets of an agent."""
    return Key(partition("agent", agent_id), "secrets")


def provider_name(name: str) -> Key:
    """Which provider has a name: what makes names unique, and what a model's handle is resolved by."""
    return Key(partition("provider-name", digest(name)), "state")


def provider_models(provider_id: str) -> Key:
    """The models that a provider listed when it was last asked."""
    return Key(partition("provider", provider_id), "models")


def block_version(block_id: str, version: int) -> Key:
    """One entry of a block's history."""
    return Key(partition("block", block_id), f"version#{version:012d}")


def block_agent(block_id: str, agent_id: str) -> Key:
    """The edge that says an agent carries a block."""
    return Key(partition("block", block_id), f"agent#{agent_id}")


def message(conversation: str, seq: int) -> Key:
    """A message at its place in its conversation."""
    return Key(partition("messages", conversation), seq)


def message_pointer(message_id: str) -> Key:
    """Where a message id leads: its conversation and sequence number."""
    return Key(partition("message", message_id), 0)


def idempotency(conversation: str, key: str) -> Key:
    """The run that an otid or Idempotency-Key of a conversation started."""
    return Key(partition("idempotency", conversation, digest(key)), "state")


def usage(day: str, step_id: str) -> Key:
    """The immutable usage item of one step."""
    return Key(partition("usage", day), step_id)


def shard(identifier: str) -> str:
    """Which of the parts of a tenant-wide index an entity is in."""
    return str(int(digest(identifier)[:8], 16) % SHARDS)


def digest(text: str) -> str:
    """A short name for a text that may be longer than a key allows (1,024 bytes for a sort key)."""
    return hashlib.sha256(text.encode()).hexdigest()[:40]
