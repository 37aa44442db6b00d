"""What each role may do, checked against the permissions that routes ask for."""

import pytest

from agentkeep.errors import ForbiddenError
from agentkeep.tenancy.context import Caller
from agentkeep.tenancy.roles import permits, require
from infra.routes import ROUTES


def test_admin_may_do_everything_that_a_route_asks_for() -> None:
    asked = {route.permission for route in ROUTES if route.permission}

    assert {permission for permission in asked if not permits("admin", permission)} == set()
    assert permits("admin", "admin:write")


@pytest.mark.parametrize(
    "permission",
    [
        "agent:read",
        "agent:write",
        "agent:delete",
        "block:write",
        "tool:write",
        "message:send",
        "run:write",
        "secret:read",
        "provider:read",
    ],
)
def test_agent_creator_builds_and_talks(permission: str) -> None:
    assert permits("agent_creator", permission)


@pytest.mark.parametrize("permission", ["admin:write", "admin:read", "key:write", "provider:write", "provider:delete"])
def test_agent_creator_does_not_run_the_deployment(permission: str) -> None:
    assert not permits("agent_creator", permission)


@pytest.mark.parametrize(
    "permission", ["agent:read", "message:read", "message:send", "conversation:write", "run:write"]
)
def test_user_talks(permission: str) -> None:
    assert permits("user", permission)


@pytest.mark.parametrize("permission", ["secret:read", "secret:write", "key:read", "admin:read"])
def test_user_reads_nothing_that_takes_more_than_reading(permission: str) -> None:
    assert not permits("user", permission)


@pytest.mark.parametrize(
    "permission", ["agent:write", "agent:delete", "block:write", "tool:write", "conversation:delete"]
)
def test_user_changes_no_agent(permission: str) -> None:
    assert not permits("user", permission)


@pytest.mark.parametrize("role", ["", "Admin", "root", "*"])
def test_unknown_role_may_nothing(role: str) -> None:
    assert not permits(role, "agent:read")


def test_require_names_permission_and_role() -> None:
    require("agent:read", Caller("acmecorp1", "key-1", "user"))

    with pytest.raises(ForbiddenError, match="role 'user', which does not include 'agent:write'"):
        require("agent:write", Caller("acmecorp1", "key-1", "user"))
