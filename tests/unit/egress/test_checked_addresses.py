"""Connections to addresses that users give: only public ones, and only the very address that was checked."""

import ipaddress

import httpx2
import pytest
import urllib3

from agentkeep.egress.addresses import (
    RefusedAddressError,
    UnusableUrlError,
    checked_addresses,
    is_public,
    usable_url,
)
from agentkeep.egress.clients import checked_client
from agentkeep.egress.pools import checked_pool
from tests.doubles.resolver import Resolver

METADATA = "169.254.169.254"


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    """Names as the test tells; private addresses are refused."""
    monkeypatch.delenv("AGENTKEEP_ALLOW_PRIVATE_URLS", raising=False)
    return Resolver(monkeypatch)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", METADATA, "169.254.170.2", "100.64.0.1",
        "0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1",
        "::1", "::", "fe80::1", "fec0::1", "fd00:ec2::254", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:a00:1", "::127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:1::1",
    ],
)  # fmt: skip
def test_what_is_not_public_is_refused_in_every_wrapping(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_what_is_public_is_taken(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:7f00:1]"])
def test_other_spellings_of_loopback_are_refused(resolver: Resolver, host: str) -> None:
    with pytest.raises(RefusedAddressError, match="AGENTKEEP_ALLOW_PRIVATE_URLS"):
        checked_addresses(host, 80)


def test_one_private_address_among_public_ones_is_enough(resolver: Resolver) -> None:
    resolver.knows("both.example", ["93.184.215.14", "10.0.0.8"])

    with pytest.raises(RefusedAddressError, match=r"'both\.example' leads to 10\.0\.0\.8"):
        checked_addresses("both.example", 443)


def test_private_addresses_are_taken_where_that_is_allowed(resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKEEP_ALLOW_PRIVATE_URLS", "1")

    assert checked_addresses("127.0.0.1", 80) == ["127.0.0.1"]


class TestRebinding:
    """A name that is public when it is looked at and private when it is connected to."""

    def test_urllib3_connects_to_the_address_that_was_checked(self, resolver: Resolver) -> None:
        resolver.knows("rebinding.example", ["93.184.215.14"], [METADATA])

        with pytest.raises(urllib3.exceptions.NewConnectionError):
            checked_pool(retries=False).request("GET", "http://rebinding.example/")

        assert resolver.connected == [("93.184.215.14", 80)]

    def test_urllib3_looks_again_for_each_connection(self, resolver: Resolver) -> None:
        resolver.knows("rebinding.example", ["93.184.215.14"], [METADATA])
        pool = checked_pool(retries=False)
        with pytest.raises(urllib3.exceptions.NewConnectionError):
            pool.request("GET", "http://rebinding.example/")

        with pytest.raises(RefusedAddressError, match=METADATA):
            pool.request("GET", "http://rebinding.example/")

        assert resolver.connected == [("93.184.215.14", 80)]

    def test_httpx2_connects_to_the_address_that_was_checked_and_looks_again(self, resolver: Resolver) -> None:
        resolver.knows("rebinding.example", ["93.184.215.14"], [METADATA])

        with checked_client() as client:
            with pytest.raises(httpx2.ConnectError):
                client.get("https://rebinding.example/")
            with pytest.raises(RefusedAddressError, match=METADATA):
                client.get("https://rebinding.example/")

        assert resolver.connected == [("93.184.215.14", 443)]


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:9001/2018-06-01/runtime"]
)
def test_neither_opens_a_socket_to_what_it_refuses(resolver: Resolver, url: str) -> None:
    with pytest.raises(RefusedAddressError):
        checked_pool(retries=False).request("GET", url)
    with checked_client() as client, pytest.raises(RefusedAddressError):
        client.get(url)

    assert resolver.connected == []


def test_the_next_address_is_tried_when_one_does_not_answer(resolver: Resolver) -> None:
    resolver.knows("two.example", ["93.184.215.14", "93.184.215.15"])

    with pytest.raises(urllib3.exceptions.NewConnectionError):
        checked_pool(retries=False).request("GET", "http://two.example/")
    with checked_client() as client, pytest.raises(httpx2.ConnectError):
        client.get("http://two.example/")

    assert resolver.connected == [("93.184.215.14", 80), ("93.184.215.15", 80)] * 2


def test_a_name_that_is_not_found_is_a_connection_that_failed(resolver: Resolver) -> None:
    with pytest.raises(urllib3.exceptions.NewConnectionError, match="not found"):
        checked_pool(retries=False).request("GET", "http://nowhere.example/")
    with checked_client() as client, pytest.raises(httpx2.ConnectError, match="not found"):
        client.get("http://nowhere.example/")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://host/", "http:// or https://"),
        ("file:///etc/passwd", "http:// or https://"),
        ("//host/v1", "http:// or https://"),
        ("http://", "http:// or https://"),
        ("http://public.example@127.0.0.1/v1", "credentials"),
        ("http://user:secret@host/v1", "credentials"),
        ("http://public.example\\@127.0.0.1/", "backslashes"),
        ("http://a b/", "spaces"),
        ("http://host:99999/", "Port"),
        ("http://[::1/", "IPv6"),
        ("http://host/v1?to=x", "query"),
        ("http://host/v1#x", "fragment"),
        ("http://h\u00f6st/", "ASCII"),
        ("http://" + "a" * 3_000, "2048"),
    ],
)
def test_a_url_that_is_more_or_less_than_an_address_is_refused(url: str, reason: str) -> None:
    with pytest.raises(UnusableUrlError, match=reason) as refused:
        usable_url(url)

    assert "secret" not in refused.value.message


def test_a_usable_url_loses_its_last_slashes() -> None:
    assert usable_url("https://api.example:8443/v1//") == "https://api.example:8443/v1"
