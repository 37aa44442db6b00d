"""Roles and what they include. A permission reads `<resource>:<action>`; each row of the route table names one.

The roles are Letta's: an admin runs the deployment, an agent_creator builds agents, a user talks to them.
"""

from typing import Final

from agentkeep.errors import ForbiddenError
from agentkeep.tenancy.context import Caller

ROLES: Final = ("admin", "agent_creator", "user")
_GRANTS: Final[dict[str, frozenset[str]]] = {
    "admin": frozenset({"*:*"}),
    "agent_creator": frozenset({"*:read", "*:write", "*:delete", "message:send", "secret:read", "provider:read"}),
    "user": frozenset({"*:read", "conversation:write", "message:send", "run:write", "provider:read"}),
}
_NEVER_BY_WILDCARD: Final = frozenset({"admin", "key", "provider", "secret"})
"""Resources that a role includes only by name; `*:*` includes them."""


def permits(role: str, permission: str) -> bool:
    """Whether `role` includes `permission`. A role that is not known includes nothing."""
    grants = _GRANTS.get(role, frozenset())
    if "*:*" in grants:
        return True
    resource, _, action = permission.partition(":")
    return permission in grants or (resource not in _NEVER_BY_WILDCARD and f"*:{action}" in grants)


def require(permission: str, caller: Caller) -> None:
    """Raises ForbiddenError, which names the permission, unless the caller's role includes it."""
    if not permits(caller.role, permission):
        raise ForbiddenError(permission, caller.role)
