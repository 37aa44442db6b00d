"""Providers of a tenant: kept, sealed, listed, changed and deleted, each tenant's for itself."""

from typing import Any

import pytest

from agentkeep.models import directory, forget_models
from tests.doubles.model_servers import BAD_KEY, ModelServers
from tests.doubles.system import Answer, System

HOME = "https://models.example/v1"
KEY = "sk-tr0ub4dor"


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> ModelServers:
    """One model server, at HOME, with two models; nothing is remembered yet."""
    forget_models()
    standing = ModelServers(monkeypatch)
    standing.stands_at(HOME, "tiny", "large", context_window=64_000)
    return standing


def post(system: System, tenant: str | None = None, **fields: Any) -> Answer:
    body = {"name": "acme", "provider_type": "openai", "api_key": KEY, "base_url": HOME, **fields}
    return system.call("providers", "POST", "/v1/providers", body, tenant=tenant)


def make(system: System, tenant: str | None = None, **fields: Any) -> dict[str, Any]:
    answer = post(system, tenant, **fields)
    assert answer.status == 200, answer.body
    made: dict[str, Any] = answer.body
    return made


def on(system: System, provider: dict[str, Any], method: str, below: str = "", **fields: Any) -> Answer:
    return system.call("providers", method, f"/v1/providers/{provider['id']}{below}", fields or None)


def names(system: System, tenant: str | None = None, **query: Any) -> list[str]:
    return [each["name"] for each in system.call("providers", "GET", "/v1/providers", query=query, tenant=tenant).body]


def handles(system: System, tenant: str | None = None) -> list[str]:
    models = system.call("models", "GET", "/v1/models", query={"provider_category": "byok"}, tenant=tenant).body
    return [model["handle"] for model in models]


def stored(system: System) -> str:
    with system.engine.database.storage.reading() as connection:
        return "\n".join(body for (body,) in connection.execute("SELECT body FROM items"))


def test_a_new_provider_is_answered_without_its_key(system: System, servers: ModelServers) -> None:
    made = make(system)

    assert made.pop("id").startswith("provider-")
    assert made.pop("updated_at") <= made.pop("last_synced")
    assert made == {
        "name": "acme", "provider_type": "openai", "provider_category": "byok", "base_url": HOME,
        "api_key": None, "api_key_enc": None, "access_key": None, "access_key_enc": None,
        "region": None, "api_version": None,
    }  # fmt: skip
    assert servers.listed == [(HOME, KEY)]


def test_keys_are_sealed_in_the_store_and_in_no_answer(system: System, servers: ModelServers) -> None:
    made = make(system)
    answers = [
        on(system, made, "GET"),
        system.call("providers", "GET", "/v1/providers"),
        on(system, made, "PATCH", "/refresh"),
        on(system, made, "POST", "/check"),
        on(system, made, "PATCH", api_key="sk-c0rrect"),
        post(system, name="other", api_key=f"{KEY}\n{KEY}"),
        post(system, name="other", api_key=KEY * 1_000),
        post(system),
        on(system, made, "DELETE"),
    ]

    assert [answer.status for answer in answers] == [200, 200, 200, 200, 200, 422, 422, 409, 200]
    shown = "".join(str(answer.body) for answer in answers) + stored(system)
    assert "tr0ub4dor" not in shown and "c0rrect" not in shown


def test_deleting_a_provider_destroys_its_sealed_key(system: System, servers: ModelServers) -> None:
    made = make(system)
    assert "kms1:" in stored(system)

    on(system, made, "DELETE")

    assert "kms1:" not in stored(system)


def test_a_deleted_provider_is_gone_and_its_name_is_free(system: System, servers: ModelServers) -> None:
    made = make(system)

    assert on(system, made, "DELETE").status == 200

    assert [on(system, made, method, api_key="x").status for method in ("PATCH", "GET", "DELETE")] == [404, 404, 404]
    assert [on(system, made, "POST", "/check").status, on(system, made, "PATCH", "/refresh").status] == [404, 404]
    assert (names(system), handles(system)) == ([], [])
    assert make(system)["id"] != made["id"]


def test_a_tenant_sees_and_reaches_only_its_own(system: System, servers: ModelServers) -> None:
    mine = make(system)
    make(system, "tenant02", api_key="sk-theirs")
    system.tenant = "tenant03"

    assert [on(system, mine, method, api_key="x").status for method in ("GET", "PATCH", "DELETE")] == [404, 404, 404]
    assert (names(system), handles(system)) == ([], [])
    assert system.call("agents", "POST", "/v1/agents", {"model": "acme/tiny"}).status == 404
    assert handles(system, "tenant02") == ["acme/tiny", "acme/large"]
    assert servers.listed[-1] == (HOME, "sk-theirs")


def test_a_name_is_given_once(system: System, servers: ModelServers) -> None:
    make(system)

    again = post(system, base_url="https://other.example")

    assert again.status == 409
    assert again.body["detail"]["message"].startswith("There is a provider named 'acme' already.")
    assert names(system) == ["acme"]


@pytest.mark.parametrize("name", ["openai", "anthropic", "demo", "letta", "OpenAI"])
def test_the_names_of_the_deployment_are_refused(system: System, servers: ModelServers, name: str) -> None:
    refused = post(system, name=name)

    assert refused.status == 409
    assert f"The name '{name}' is the deployment's" in refused.body["detail"]["message"]


@pytest.mark.parametrize("name", ["a/b", "", " ", "x" * 129, "a\nb", None, 7])
def test_a_name_that_cannot_lead_a_handle_is_refused(system: System, servers: ModelServers, name: Any) -> None:
    assert post(system, name=name).status == 422


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"provider_type": "bedrock"}, "Available are: openai, anthropic"),
        ({"base_url": "ftp://models.example"}, "http:// or https://"),
        ({"base_url": "https://key@models.example"}, "credentials"),
    ],
)
def test_what_cannot_be_called_is_refused(
    system: System, servers: ModelServers, fields: dict[str, Any], said: str
) -> None:
    for path, body in (("", {"name": "acme"}), ("/check", {})):
        sent = {"provider_type": "openai", "api_key": KEY, **body, **fields}
        refused = system.call("providers", "POST", f"/v1/providers{path}", sent)
        assert (refused.status, said in refused.body["detail"]) == (400, True)
    assert names(system) == []


@pytest.mark.parametrize("leads_to", ["127.0.0.1", "169.254.169.254", "10.0.0.8", "::1"])
def test_a_private_address_is_refused_before_anything_is_kept(
    system: System, monkeypatch: pytest.MonkeyPatch, leads_to: str
) -> None:
    monkeypatch.setattr("agentkeep.egress.addresses.resolve", lambda host, port: [leads_to])

    made = post(system, base_url="https://inside.example")
    checked = system.call(
        "providers",
        "POST",
        "/v1/providers/check",
        {"provider_type": "openai", "api_key": KEY, "base_url": "https://inside.example"},
    )

    assert (made.status, checked.status, names(system)) == (400, 400, [])
    assert f"leads to {leads_to}" in made.body["detail"] and "AGENTKEEP_ALLOW_PRIVATE_URLS" in made.body["detail"]


def test_a_type_without_an_address_has_its_usual_one(system: System, servers: ModelServers) -> None:
    servers.stands_at("https://api.groq.com/openai/v1", "llama")

    assert make(system, provider_type="groq", base_url=None)["base_url"] == "https://api.groq.com/openai/v1"
    assert handles(system) == ["acme/llama"]


def test_a_server_without_keys_needs_none(system: System, servers: ModelServers) -> None:
    make(system, api_key="")

    assert servers.listed == [(HOME, "no-key")]


def test_the_list_is_filtered_ordered_and_paged(system: System, servers: ModelServers) -> None:
    servers.stands_at("https://api.groq.com/openai/v1", "llama")
    made = [make(system, name=name) for name in ("one", "two", "three")]
    make(system, name="four", provider_type="groq", base_url=None)

    assert names(system) == ["four", "three", "two", "one"]
    assert names(system, order="asc", limit=2) == ["one", "two"]
    assert names(system, order="asc", after=made[1]["id"]) == ["three", "four"]
    assert names(system, name="two") == ["two"]
    assert names(system, provider_type="groq") == ["four"]
    assert system.call("providers", "GET", "/v1/providers", query={"after": made[0]["id"][:-1] + "x"}).status == 404


def test_an_update_changes_what_it_gives(system: System, servers: ModelServers) -> None:
    made = make(system)
    servers.stands_at("https://new.example", "mini")

    moved = on(system, made, "PATCH", base_url="https://new.example/")
    rekeyed = on(system, made, "PATCH", api_key="sk-2")

    assert (moved.body["base_url"], rekeyed.body["base_url"]) == ("https://new.example", "https://new.example")
    assert servers.listed[1:] == [("https://new.example", KEY), ("https://new.example", "sk-2")]
    assert handles(system) == ["acme/mini"]
    assert on(system, made, "PATCH", base_url="").body["base_url"] == "https://api.openai.com/v1"


def test_a_provider_that_is_down_is_kept_and_listed_with_what_it_had(system: System, servers: ModelServers) -> None:
    make(system)
    servers.goes_down(HOME)
    forget_models()

    unborn = make(system, name="unborn")

    assert unborn["last_synced"] is None
    assert handles(system) == ["acme/tiny", "acme/large"]
    assert system.call("agents", "POST", "/v1/agents", {"model": "unborn/any"}).status == 200


def test_a_refresh_finds_new_models_at_once(system: System, servers: ModelServers) -> None:
    made = make(system)
    assert handles(system) == ["acme/tiny", "acme/large"]
    servers.stands_at(HOME, "newest")
    assert handles(system) == ["acme/tiny", "acme/large"]

    refreshed = on(system, made, "PATCH", "/refresh")

    assert refreshed.body["last_synced"] > made["last_synced"]
    assert handles(system) == ["acme/newest"]


def test_a_refresh_of_a_provider_that_is_down_says_so(system: System, servers: ModelServers) -> None:
    made = make(system)
    servers.goes_down(HOME)

    refused = on(system, made, "PATCH", "/refresh")

    assert (refused.status, refused.body["error"]["type"]) == (503, "llm_error")
    assert on(system, made, "GET").body["last_synced"] == made["last_synced"]


def test_a_check_tells_a_good_key_from_a_bad_one(system: System, servers: ModelServers) -> None:
    made = make(system)
    sent = {"provider_type": "openai", "base_url": HOME}

    good = system.call("providers", "POST", "/v1/providers/check", sent | {"api_key": KEY})
    bad = system.call("providers", "POST", "/v1/providers/check", sent | {"api_key": BAD_KEY})
    kept = on(system, made, "POST", "/check")
    on(system, made, "PATCH", api_key=BAD_KEY)
    spoilt = on(system, made, "POST", "/check")

    assert [good.status, bad.status, kept.status, spoilt.status] == [200, 401, 200, 401]
    assert bad.body["error"]["type"] == "llm_authentication"
    assert names(system) == ["acme"]


def test_a_tenant_has_as_many_providers_as_are_listed(
    system: System, servers: ModelServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "MOST_PROVIDERS", 2)
    make(system, name="one")
    make(system, name="two")

    assert post(system, name="three").status == 409


@pytest.mark.parametrize(
    ("role", "reads", "writes"), [("admin", 200, 200), ("agent_creator", 200, 403), ("user", 200, 403)]
)
def test_whoever_lists_models_sees_providers_and_an_admin_sets_them(
    system: System, servers: ModelServers, role: str, reads: int, writes: int
) -> None:
    made = make(system)
    system.role = role

    assert on(system, made, "GET").status == reads
    assert post(system, name="another").status == writes
    assert on(system, made, "PATCH", "/refresh").status == writes
    assert on(system, made, "DELETE").status == writes
