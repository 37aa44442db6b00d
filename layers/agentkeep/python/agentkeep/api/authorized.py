"""Who a request comes from, as the authorizer said, and whether they may."""

import json
from collections.abc import Mapping
from typing import Any

from agentkeep.errors import UnauthorizedError
from agentkeep.tenancy import roles
from agentkeep.tenancy.context import Caller


def caller(event: Mapping[str, Any], permission: str) -> Caller:
    """The caller of a proxy event. Raises UnauthorizedError without one, ForbiddenError without the permission."""
    context = (event.get("requestContext") or {}).get("authorizer") or {}
    if not context.get("tenant"):
        raise UnauthorizedError("Send an API key as 'Authorization: Bearer ak_...'.")
    found = Caller(
        tenant=context["tenant"],
        principal=context["principal"],
        role=context["role"],
        key_id=context.get("key_id") or None,
        limits=json.loads(context.get("limits") or "{}"),
    )
    roles.require(permission, found)
    return found
