"""Blocks and their history."""

from typing import Any

from agentkeep.api.render.times import moment
from agentkeep.store.entities import Block, BlockVersion

Json = dict[str, Any]


def block(record: Block) -> Json:
    """A block, of its own or of an agent."""
    return {
        "value": record.value,
        "limit": record.limit,
        "project_id": record.project_id,
        "template_name": record.name,
        "is_template": record.is_template,
        "template_id": record.template_id,
        "base_template_id": record.base_template_id,
        "deployment_id": record.deployment_id,
        "entity_id": record.entity_id,
        "preserve_on_migration": record.preserve_on_migration,
        "label": record.label,
        "read_only": record.read_only,
        "description": record.description,
        "metadata": record.metadata,
        "hidden": record.hidden,
        "id": record.id,
        "created_by_id": record.created_by_id,
        "last_updated_by_id": record.last_updated_by_id,
        "tags": record.tags,
    }


def block_version(record: BlockVersion) -> Json:
    """One entry of a block's history, an extension of ours: the block as that write left it, by whom, in which run."""
    return {
        "block_id": record.block_id,
        "version": record.version,
        "value": record.value,
        "label": record.label,
        "description": record.description,
        "limit": record.limit,
        "cause": record.cause,
        "changed_by": record.changed_by,
        "changed_at": moment(record.changed_at),
        "run_id": record.run_id,
    }
