"""Credentials that belong to the tenant at work: one client signs each request with the rights of that tenant only.

The functions hold no rights on tenant data. They assume the data role with the tenant as a session tag, and the role's
policy compares the leading key of every DynamoDB item, S3 key and encryption context with that tag.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import BotoCoreError, ClientError

from agentkeep.tenancy.context import tenant_at_work

if TYPE_CHECKING:
    from mypy_boto3_sts.client import STSClient

_log: Final = logging.getLogger(__name__)
SESSION_SECONDS: Final = 3600  # the longest that role chaining allows (IAM user guide, "Role chaining")
REFRESH_BELOW_SECONDS: Final = 600
UNUSABLE_BELOW_SECONDS: Final = 60


@dataclass(frozen=True)
class Grant:
    """Temporary credentials of one tenant. `expires_at` in seconds since 1970."""

    credentials: ReadOnlyCredentials
    expires_at: float


Assume = Callable[[str], Grant]


def assuming(role_arn: str, sts: "STSClient") -> Assume:
    """A way to get a tenant's grant: `role_arn` assumed with the session tag `tenant`."""

    def assume(tenant: str) -> Grant:
        answer = sts.assume_role(
            RoleArn=role_arn,
            RoleSessionName=f"tenant-{tenant}",
            DurationSeconds=SESSION_SECONDS,
            Tags=[{"Key": "tenant", "Value": tenant}],
        )
        given = answer["Credentials"]
        keys = ReadOnlyCredentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
        return Grant(keys, given["Expiration"].timestamp())

    return assume


class TenantCredentials(Credentials):
    """Answers, at signing, with the grant of the tenant at work. Safe under threads; asks once per tenant at a time.

    Keeps the grants of the `size` tenants used last. A grant is renewed early by one request, while the others go on
    with the old one; a failed early renewal is only logged. Raises NoTenantError outside of `acting_as`.
    """

    def __init__(self, assume: Assume, *, size: int = 1000, now: Callable[[], float] = time.time) -> None:
        super().__init__("", "", method="tenant")
        self._assume = assume
        self._size = size
        self._now = now
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """The credentials to sign with, for the tenant that the calling thread works for."""
        slot = self._slot(tenant_at_work())
        grant = slot.grant
        if grant is None or self._left(grant) < UNUSABLE_BELOW_SECONDS:
            return self._wait_for_renewal(slot)
        if self._left(grant) < REFRESH_BELOW_SECONDS:
            self._renew_early(slot)
        return (slot.grant or grant).credentials

    def _slot(self, tenant: str) -> "_Slot":
        with self._lock:
            slot = self._slots.setdefault(tenant, _Slot(tenant))
            self._slots.move_to_end(tenant)
            if len(self._slots) > self._size:
                self._slots.popitem(last=False)
            return slot

    def _wait_for_renewal(self, slot: "_Slot") -> ReadOnlyCredentials:
        with slot.lock:
            if slot.grant is None or self._left(slot.grant) < UNUSABLE_BELOW_SECONDS:
                slot.grant = self._assume(slot.tenant)
            return slot.grant.credentials

    def _renew_early(self, slot: "_Slot") -> None:
        if not slot.lock.acquire(blocking=False):
            return
        try:
            slot.grant = self._assume(slot.tenant)
        except (BotoCoreError, ClientError):
            _log.warning("The credentials of a tenant could not be renewed early; the old ones are still good.")
        finally:
            slot.lock.release()

    def _left(self, grant: Grant) -> float:
        return grant.expires_at - self._now()


class _Slot:
    """The place of one tenant: its grant, and the lock under which it is renewed."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.lock = threading.Lock()
        self.grant: Grant | None = None
