"""Where a provider is called: address, API shape and key, whether it is the deployment's or a tenant's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from agentkeep.store.entities import ProviderModel

Shape = Literal["openai", "anthropic"]
Category = Literal["base", "byok"]
NO_KEY: Final = "no-key"
"""Sent to servers that ask for no key: the SDKs insist on one."""


@dataclass(frozen=True)
class Endpoint:
    """A provider that can be called. `provider` is its name, which leads the handles of its models.

    `identity` differs whenever address or key do. `own`: its address comes from a tenant, so each connection is
    checked (`agentkeep.egress`).
    """

    provider: str
    provider_type: str
    shape: Shape
    base_url: str
    identity: str
    open_key: Callable[[], str] = field(repr=False, compare=False)
    own: bool = False
    open_known: Callable[[], Sequence[ProviderModel]] = field(default=tuple, repr=False, compare=False)

    @property
    def api_key(self) -> str:
        """The key, decrypted just now where it is a tenant's; `no-key` where there is none."""
        return self.open_key()

    @property
    def known(self) -> Sequence[ProviderModel]:
        """The models that a tenant's provider listed when it was last asked for its tenant."""
        return self.open_known()

    @property
    def category(self) -> Category:
        """Letta's word for whose provider it is."""
        return "byok" if self.own else "base"
