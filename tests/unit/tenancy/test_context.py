"""Who the work is done for."""

from contextvars import Context

import pytest

from agentkeep.tenancy.context import (
    Caller,
    NoTenantError,
    acting_as,
    current_caller,
    current_tenant,
    is_tenant_id,
    tenant_at_work,
)

ADA = Caller("acmecorp1", "key-1", "admin")
BOB = Caller("bobcorp22", "key-2", "user", limits={"runs": 3})


def test_acting_as_sets_tenant_and_caller_inside_only() -> None:
    with acting_as(ADA) as caller:
        assert caller is ADA
        assert (tenant_at_work(), current_caller.get()) == ("acmecorp1", ADA)

    assert current_tenant.get(None) is None
    assert current_caller.get(None) is None


def test_acting_as_nests_and_comes_back_after_an_error() -> None:
    with acting_as(ADA):
        with pytest.raises(ValueError, match="bobcorp22"), acting_as(BOB):
            raise ValueError(tenant_at_work())
        assert tenant_at_work() == "acmecorp1"


def test_no_tenant_is_a_mistake_that_says_what_to_do() -> None:
    with pytest.raises(NoTenantError, match="acting_as"):
        Context().run(tenant_at_work)


@pytest.mark.parametrize("tenant", ["local", "acmecorp", "a1b2c3d4", "x" * 32])
def test_tenant_ids(tenant: str) -> None:
    assert is_tenant_id(tenant)


@pytest.mark.parametrize(
    "tenant", ["", "short", "x" * 33, "Acmecorp1", "acme_corp1", "acme#corp1", "acmecorp*", "acmecorp1\n", "acmé12345"]
)
def test_what_is_no_tenant_id(tenant: str) -> None:
    assert not is_tenant_id(tenant)
