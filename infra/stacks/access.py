"""Which function may reach what beyond its own log and trace, and why. The API stack grants exactly this."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class SystemAccess:
    """What a function may do in the system table, which holds no tenant's data: to items with these leading keys."""

    actions: tuple[str, ...]
    leading_keys: tuple[str, ...]
    reason: str


SYSTEM_ACCESS: Final[Mapping[str, SystemAccess]] = {
    "authorizer": SystemAccess(
        ("dynamodb:GetItem",), ("key#*",), "An API key is looked up before anyone knows whose it is."
    ),
}
"""The only functions with rights on the system table."""

NO_TENANT_DATA: Final[Mapping[str, str]] = {
    "authorizer": "It says who asks; what the tenant has is none of its business.",
    "dispatcher": "It answers health, and what is not there, without looking anything up.",
    "tools": "The builtin tools are code.",
}
"""Every other function may take the data role, for one tenant at a time."""

PROVIDER_ACCESS: Final[Mapping[str, str]] = {
    "agents": "A model's handle is compared with what the providers list.",
    "conversations": "A conversation may name a model of its own, which is compared in the same way.",
    "messages": "It calls the models.",
    "models": "It lists what the providers offer.",
}
"""The only functions that read the deployment's model keys."""
