"""Sealed values: only the tenant that sealed one opens it."""

import pytest

from agentkeep.errors import InvalidRequestError
from agentkeep.tenancy.context import Caller, NoTenantError, acting_as
from agentkeep.tenancy.secrets import UnreadableSecretError, seal, unseal

pytestmark = pytest.mark.usefixtures("engine")
ANN = Caller("anncorp11", "key-1", "admin")
BOB = Caller("bobcorp22", "key-2", "admin")


@pytest.mark.parametrize("plaintext", ["x", "sk-123", "пароль 🔑", "a" * 4096])
def test_opens_to_what_was_sealed(plaintext: str) -> None:
    with acting_as(ANN):
        sealed = seal(plaintext)

        assert unseal(sealed) == plaintext
        assert sealed.isascii()
        assert plaintext == "x" or plaintext not in sealed


def test_the_same_value_is_sealed_differently_each_time() -> None:
    with acting_as(ANN):
        assert seal("same") != seal("same")


def test_another_tenant_cannot_open_it() -> None:
    with acting_as(ANN):
        sealed = seal("sk-123")

    with acting_as(BOB), pytest.raises(UnreadableSecretError):
        unseal(sealed)


@pytest.mark.parametrize("damage", [lambda sealed: sealed[:-8], lambda sealed: "kms1:!", lambda sealed: "kms1:AAAA"])
def test_a_damaged_value_says_what_to_do(damage: object) -> None:
    assert callable(damage)
    with acting_as(ANN):
        sealed = seal("sk-123")

        with pytest.raises(UnreadableSecretError, match="Set it again"):
            unseal(damage(sealed))


@pytest.mark.parametrize("plaintext", ["", "a" * 4097, "é" * 2049])
def test_a_value_that_kms_does_not_take_is_refused(plaintext: str) -> None:
    with acting_as(ANN), pytest.raises(InvalidRequestError, match="1 to 4096 bytes"):
        seal(plaintext)


def test_without_a_tenant_nothing_is_sealed() -> None:
    with pytest.raises(NoTenantError):
        seal("sk-123")
