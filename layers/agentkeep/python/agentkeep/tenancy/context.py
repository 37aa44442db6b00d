"""Who the work at hand is done for: the calling tenant and caller, kept per request in context variables."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

LOCAL_TENANT: Final = "local"
_TENANT_ID: Final = re.compile(rf"[a-z0-9]{{8,32}}|{LOCAL_TENANT}")

current_tenant: ContextVar[str] = ContextVar("current_tenant")


@dataclass(frozen=True)
class Caller:
    """Who asks, as the authorizer said. `limits` holds the tenant's quotas by name, empty for none of its own."""

    tenant: str
    principal: str
    role: str
    key_id: str | None = None
    limits: Mapping[str, int] = field(default_factory=dict)


current_caller: ContextVar[Caller] = ContextVar("current_caller")


class NoTenantError(RuntimeError):
    """Tenant data was asked for outside of `acting_as`. A mistake in our code, never in a request."""

    def __init__(self) -> None:
        super().__init__("No tenant is set: wrap the work in `agentkeep.tenancy.context.acting_as(caller)`.")


def is_tenant_id(value: str) -> bool:
    """Whether `value` can be a tenant id: it holds neither a delimiter of our keys nor a wildcard of IAM."""
    return _TENANT_ID.fullmatch(value) is not None


def tenant_at_work() -> str:
    """The tenant that the current work is for. Raises NoTenantError when there is none."""
    tenant = current_tenant.get(None)
    if tenant is None:
        raise NoTenantError
    return tenant


@contextmanager
def acting_as(caller: Caller) -> Iterator[Caller]:
    """Does the work inside for `caller`: every call to AWS is made with the rights of the caller's tenant only."""
    tenant_token = current_tenant.set(caller.tenant)
    caller_token = current_caller.set(caller)
    try:
        yield caller
    finally:
        current_caller.reset(caller_token)
        current_tenant.reset(tenant_token)
