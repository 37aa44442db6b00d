"""Roles and what they include. A permission reads `<resource>:<action>`; each row of the route table names one.

The roles are Letta's: an admin runs the deployment, an agent_creator builds agents, a user talks to them.
"""

from typing import Final

from agentkeep.errors import ForbiddenError
from agentkeep.tenancy.context import Caller

ROLES: Final = ("admin", "agent_creator", "user")
_GRANTS: Final[dict[str, frozenset[str]]] = {
    "admin": frozenset({"*:*"}),
    "agent_creator": frozenset({"*:read", "*:write", "*:delete", "message:send", "secret:read"}),
    "user": frozenset({"*:read", "conversation:write", "message:send", "run:write"}),
}
_NEVER_BY_WILDCARD: Final = frozenset({"admin", "key", "secret", "provider:write", "provider:delete"})
"""Resources, and single permissions, that a role includes only by name; `*:*` includes them. Whoever lists models may
see whose they are; keys and addresses of providers are an admin's to set."""


def permits(role: str, permission: str) -> bool:
    """Whether `role` includes `permission`. A role that is not known includes nothing."""
    grants = _GRANTS.get(role, frozenset())
    if "*:*" in grants:
        return True
    resource, _, action = permission.partition(":")
    by_wildcard = _NEVER_BY_WILDCARD.isdisjoint({resource, permission}) and f"*:{action}" in grants
    return permission in grants or by_wildcard


def require(permission: str, caller: Caller) -> None:
    """Raises ForbiddenError, which names the permission, unless the caller's role includes it."""
    if not permits(caller.role, permission):
        raise ForbiddenError(permission, caller.role)
