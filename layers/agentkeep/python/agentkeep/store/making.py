"""Entities too large for one transaction: while they are made a marker stands, and what comes with them is unseen.

The marker goes with the last transaction. If that never comes, the marker stays, and so does the silence.
"""

from collections.abc import Collection

from agentkeep.store import database, keys
from agentkeep.store.database import Write


def begin_write(identifier: str) -> Write:
    """The write that puts up the marker, in the first transaction."""
    return database.put("entities", keys.entity("making", identifier), {"id": identifier})


def end_write(identifier: str) -> Write:
    """The write that takes the marker down, in the last transaction."""
    return database.delete("entities", keys.entity("making", identifier))


def unmade(identifiers: Collection[str]) -> set[str]:
    """Those entities that are still being made, or whose making was broken off."""
    wanted = {keys.entity("making", identifier): identifier for identifier in identifiers}
    found = database.batch_get(("entities", key) for key in wanted)
    return {wanted[key] for _, key in found}
