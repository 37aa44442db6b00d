"""Credentials by tenant: who signs with what, how often STS is asked, and what happens near the expiry."""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import ClientError
from botocore.session import Session

from agentkeep.tenancy import client as clients
from agentkeep.tenancy.context import Caller, NoTenantError, acting_as
from agentkeep.tenancy.credentials import Grant, TenantCredentials, assuming

ROLE = "arn:aws:iam::123456789012:role/data"


@dataclass
class Sts:
    """Grants of one hour, numbered per tenant, in a time that the test sets."""

    time: float = 1_000_000.0
    asked: Counter[str] = field(default_factory=Counter)
    down: bool = False

    def now(self) -> float:
        return self.time

    def assume(self, tenant: str) -> Grant:
        if self.down:
            raise ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "down"}}, "AssumeRole")
        self.asked[tenant] += 1
        return Grant(ReadOnlyCredentials(f"{tenant}-{self.asked[tenant]}", "secret", "token"), self.time + 3600)


@pytest.fixture
def sts() -> Sts:
    return Sts()


def access_key(credentials: TenantCredentials, tenant: str) -> str:
    with acting_as(Caller(tenant, "someone", "user")):
        return str(credentials.get_frozen_credentials().access_key)


def test_each_tenant_signs_with_its_own_and_sts_is_asked_once(sts: Sts) -> None:
    credentials = TenantCredentials(sts.assume, now=sts.now)

    keys = [access_key(credentials, tenant) for tenant in ("ann12345", "bob12345", "ann12345")]

    assert keys == ["ann12345-1", "bob12345-1", "ann12345-1"]
    assert sts.asked == {"ann12345": 1, "bob12345": 1}


def test_without_a_tenant_nothing_is_signed(sts: Sts) -> None:
    with pytest.raises(NoTenantError):
        TenantCredentials(sts.assume, now=sts.now).get_frozen_credentials()


def test_the_tenant_used_longest_ago_is_forgotten(sts: Sts) -> None:
    credentials = TenantCredentials(sts.assume, now=sts.now, size=2)

    for tenant in ("ann12345", "bob12345", "ann12345", "cat12345", "ann12345", "bob12345"):
        access_key(credentials, tenant)

    assert sts.asked == {"ann12345": 1, "bob12345": 2, "cat12345": 1}


def test_is_renewed_ten_minutes_early(sts: Sts) -> None:
    credentials = TenantCredentials(sts.assume, now=sts.now)
    access_key(credentials, "ann12345")

    sts.time += 2999
    before = access_key(credentials, "ann12345")
    sts.time += 2
    after = access_key(credentials, "ann12345")

    assert (before, after) == ("ann12345-1", "ann12345-2")


def test_failed_early_renewal_goes_on_with_the_old_and_fails_only_at_the_end(sts: Sts) -> None:
    credentials = TenantCredentials(sts.assume, now=sts.now)
    access_key(credentials, "ann12345")
    sts.down = True

    sts.time += 3500
    assert access_key(credentials, "ann12345") == "ann12345-1"

    sts.time += 50
    with pytest.raises(ClientError):
        access_key(credentials, "ann12345")


def test_sixteen_threads_ask_once_for_a_tenant_and_do_not_wait_for_another_one(sts: Sts) -> None:
    slow, entered = threading.Event(), threading.Event()

    def assume(tenant: str) -> Grant:
        if tenant == "slow1234":
            entered.set()
            assert slow.wait(10)
        return sts.assume(tenant)

    credentials = TenantCredentials(assume, now=sts.now)
    with ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(access_key, credentials, "slow1234") for _ in range(15)]
        assert entered.wait(10)
        assert access_key(credentials, "fast1234") == "fast1234-1"
        slow.set()
        keys = {future.result() for future in waiting}

    assert keys == {"slow1234-1"}
    assert sts.asked == {"slow1234": 1, "fast1234": 1}


def test_one_thread_renews_while_the_others_go_on(sts: Sts) -> None:
    renewing, go_on = threading.Event(), threading.Event()

    def assume(tenant: str) -> Grant:
        if sts.asked[tenant]:
            renewing.set()
            assert go_on.wait(10)
        return sts.assume(tenant)

    credentials = TenantCredentials(assume, now=sts.now)
    access_key(credentials, "ann12345")
    sts.time += 3100

    with ThreadPoolExecutor(1) as pool:
        renewed = pool.submit(access_key, credentials, "ann12345")
        assert renewing.wait(10)
        meanwhile = access_key(credentials, "ann12345")
        go_on.set()

    assert (meanwhile, renewed.result()) == ("ann12345-1", "ann12345-2")


class EmptyObject:
    """The body of an answer `{}`, as urllib3 would hand it over."""

    def stream(self) -> Iterator[bytes]:
        yield b"{}"


class TestClient:
    """The whole way: an STS client whose call is caught, a DynamoDB client whose request is looked at."""

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
        """The AssumeRole parameters that were sent."""
        monkeypatch.setenv("AGENTKEEP_DATA_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        sent: list[dict[str, Any]] = []
        system = Session()
        system.set_credentials("function", "secret")

        def remember(params: dict[str, Any], **_: Any) -> None:
            sent.append(params)

        def answer(**_: Any) -> Any:
            tenant = sent[-1]["Tags"][0]["Value"]
            given = {
                "AccessKeyId": f"AK{tenant.upper()}",
                "SecretAccessKey": "secret",
                "SessionToken": f"token of {tenant}",
                "Expiration": datetime(2100, 1, 1, tzinfo=UTC),
            }
            return AWSResponse("sts", 200, HTTPHeaders(), None), {"Credentials": given}

        emitter = system.get_component("event_emitter")
        emitter.register("provide-client-params.sts.AssumeRole", remember)
        emitter.register("before-call.sts.AssumeRole", answer)
        clients.adopt({"system": system})
        yield sent
        clients.forget_clients()

    def test_signs_each_request_for_the_tenant_at_work(self, asked: list[dict[str, Any]]) -> None:
        dynamodb: Any = clients.client("dynamodb")
        signed: list[tuple[str | None, str]] = []

        def catch(request: Any, **_: Any) -> AWSResponse:
            by = re.search(r"Credential=(\w+)/", request.headers["Authorization"].decode())
            signed.append((by and by[1], request.headers["X-Amz-Security-Token"].decode()))
            return AWSResponse(request.url, 200, HTTPHeaders(), EmptyObject())

        dynamodb.meta.events.register("before-send.dynamodb", catch)

        for tenant in ("ann12345", "bob12345", "ann12345"):
            with acting_as(Caller(tenant, "someone", "user")):
                dynamodb.get_item(TableName="entities", Key={"pk": {"S": f"{tenant}#x"}, "sk": {"S": "x"}})

        assert signed == [
            ("AKANN12345", "token of ann12345"),
            ("AKBOB12345", "token of bob12345"),
            ("AKANN12345", "token of ann12345"),
        ]
        assert [each["Tags"] for each in asked] == [
            [{"Key": "tenant", "Value": "ann12345"}],
            [{"Key": "tenant", "Value": "bob12345"}],
        ]
        assert asked[0]["RoleArn"] == ROLE
        assert asked[0]["DurationSeconds"] == 3600

    def test_is_one_client_for_all_threads(self, asked: list[dict[str, Any]]) -> None:
        with ThreadPoolExecutor(8) as pool:
            found = {id(client) for client in pool.map(lambda _: clients.client("dynamodb"), range(64))}

        assert len(found) == 1


def test_assuming_reads_the_answer_of_sts() -> None:
    class FakeSts:
        def assume_role(self, **_: Any) -> Any:
            keys = {"AccessKeyId": "AK", "SecretAccessKey": "S", "SessionToken": "T"}
            return {"Credentials": {**keys, "Expiration": datetime.fromtimestamp(5000, UTC)}}

    grant = assuming(ROLE, FakeSts())("ann12345")  # type: ignore[arg-type]

    assert grant == Grant(ReadOnlyCredentials("AK", "S", "T"), 5000.0)
