"""API keys: made, shown once, verified, listed, revoked, expired."""

import json
import logging
from typing import Any

import pytest

from agentkeep import clock
from agentkeep.errors import InvalidRequestError, NotFoundError, UnauthorizedError
from agentkeep.tenancy import keys
from agentkeep.tenancy.context import Caller
from infra.local.dynamodb.engine import Engine

pytestmark = pytest.mark.usefixtures("engine")
TABLE = "agentkeep-local-system"


def test_a_key_names_its_tenant_and_is_known_again() -> None:
    key, text = keys.create("acmecorp1", "user", "chat page", limits={"runs": 3})

    assert text.startswith(f"ak_acmecorp1_{key.id}.")
    assert keys.verify(text) == key
    assert keys.verify(text).caller == Caller("acmecorp1", f"key-{key.id}", "user", key.id, {"runs": 3})


def test_the_secret_is_not_kept(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    _, text = keys.create("acmecorp1", "user", "chat page")

    secret = text.partition(".")[2]
    assert len(secret) == 40
    assert secret not in json.dumps(engine.call("Scan", {"TableName": TABLE}), default=str)
    assert secret not in caplog.text


def test_no_two_keys_are_alike() -> None:
    assert len({keys.create("acmecorp1", "user", "same")[1] for _ in range(20)}) == 20


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: "Bearer " + text,
        lambda text: text[:-1],
        lambda text: text[:-1] + ("a" if text[-1] != "a" else "b"),
        lambda text: text + "\n",
        lambda text: text.replace("acmecorp1", "bobcorp22"),
        lambda text: "ak_acmecorp1_0000000000000000." + text.partition(".")[2],
        lambda text: text.replace("ak_", "sk_"),
        lambda text: text.partition(".")[0],
        lambda text: text.replace(".", "é."),
    ],
)
def test_anything_else_is_refused_with_the_same_words(change: Any) -> None:
    _, text = keys.create("acmecorp1", "user", "chat page")

    with pytest.raises(UnauthorizedError, match="not known, was revoked or has expired"):
        keys.verify(change(text))


def test_a_revoked_key_is_refused_and_stays_listed() -> None:
    key, text = keys.create("acmecorp1", "user", "chat page")

    first, second = keys.revoke(key.id), keys.revoke(key.id)

    with pytest.raises(UnauthorizedError):
        keys.verify(text)
    assert first.revoked_at is not None
    assert second == first
    assert keys.listing("acmecorp1") == [first]


def test_revoking_what_is_not_there_says_so_and_makes_nothing(engine: Engine) -> None:
    with pytest.raises(NotFoundError, match="nosuchkey"):
        keys.revoke("nosuchkey")

    assert engine.call("Scan", {"TableName": TABLE})["Count"] == 0


def test_an_expired_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _, text = keys.create("acmecorp1", "user", "trial", expires_at=clock.epoch_ms() + 60_000)

    assert keys.verify(text).is_good
    monkeypatch.setenv("AGENTKEEP_CLOCK_OFFSET_SECONDS", "61")
    with pytest.raises(UnauthorizedError):
        keys.verify(text)


def test_lists_a_tenant_oldest_first_and_the_deployment_by_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for second, tenant in enumerate(["zoocorp99", "acmecorp1", "zoocorp99", "acmecorp12"]):
        monkeypatch.setenv("AGENTKEEP_CLOCK_OFFSET_SECONDS", str(second))
        made.append(keys.create(tenant, "user", f"key {second}")[0])

    assert keys.listing("zoocorp99") == [made[0], made[2]]
    assert keys.listing("acmecorp1") == [made[1]]
    assert keys.listing() == [made[1], made[3], made[0], made[2]]


def test_lists_more_keys_than_a_batch_reads() -> None:
    made = {keys.create("acmecorp1", "user", str(number))[0].id for number in range(130)}

    assert {key.id for key in keys.listing("acmecorp1")} == made


@pytest.mark.parametrize("tenant", ["", "short", "Acme Corp", "acme#corp", "a" * 33])
def test_tenants_have_our_kind_of_id(tenant: str) -> None:
    with pytest.raises(InvalidRequestError, match="tenant: "):
        keys.create(tenant, "user", "name")


def test_an_unknown_role_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequestError, match="role: 'root' is not one of admin, agent_creator, user"):
        keys.create("acmecorp1", "root", "name")


def test_verifying_reads_one_item_strongly(engine: Engine) -> None:
    _, text = keys.create("acmecorp1", "user", "chat page")
    engine.counters.reset()

    keys.verify(text)

    assert engine.counters.counts.calls == {"GetItem": 1}
