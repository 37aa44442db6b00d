"""The settings of a deployment: where they come from, and what they refuse."""

from typing import Any

import pytest
from pydantic import ValidationError

from infra.settings import Settings
from infra.tables import TABLES
from tests.infra.conftest import SynthesiseWith


def of(**context: Any) -> Settings:
    return Settings.of(context.get)


@pytest.fixture(autouse=True)
def no_deployment(clean_environment: pytest.MonkeyPatch) -> None:
    """Every test here starts from an environment that says nothing."""


def test_without_any_setting_it_is_a_stage_for_trying_in_a_concrete_region() -> None:
    settings = of()

    assert (settings.stage, settings.region, settings.removal) == ("dev", "us-east-1", "retain")
    assert settings.prefix == "agentkeep-dev"
    assert settings.providers_secret == "agentkeep/dev/providers"


def test_command_line_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKEEP_STAGE", "blue")
    monkeypatch.setenv("AGENTKEEP_LOG_RETENTION_DAYS", "7")

    settings = of(stage="green")

    assert (settings.stage, settings.log_retention_days) == ("green", 7)


def test_region_is_the_one_of_the_profile_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDK_DEFAULT_REGION", "eu-central-1")

    assert of().region == "eu-central-1"
    assert of(region="eu-west-1").region == "eu-west-1"


def test_values_of_the_command_line_are_text() -> None:
    settings = of(
        requests_per_second="50", driver_concurrency="10", cors_origins="https://a.example, https://b.example/"
    )

    assert settings.requests_per_second == 50
    assert settings.driver_concurrency == 10
    assert settings.cors_origins == ("https://a.example", "https://b.example")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stage", "Dev"),
        ("stage", "a/b"),
        ("stage", "1dev"),
        ("removal", "perhaps"),
        ("log_retention_days", "8"),
        ("recovery_days", "36"),
        ("max_write_units", "0"),
        ("authorizer_cache_seconds", "3601"),
    ],
)
def test_value_that_does_not_fit_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        of(**{name: value})


def test_stage_to_be_destroyed_lets_go_of_its_tables(synthesise_with: SynthesiseWith) -> None:
    data = synthesise_with(removal="destroy").data

    tables = data.of_type("AWS::DynamoDB::GlobalTable").values()
    assert [table["DeletionPolicy"] for table in tables] == ["Delete"] * len(TABLES)
    assert {table["Properties"]["Replicas"][0]["DeletionProtectionEnabled"] for table in tables} == {False}


def test_stages_share_no_name(synthesise_with: SynthesiseWith) -> None:
    blue = synthesise_with(stage="blue")

    (alias,) = blue.data.of_type("AWS::KMS::Alias").values()
    (secret,) = blue.data.of_type("AWS::SecretsManager::Secret").values()
    assert alias["Properties"]["AliasName"] == "alias/agentkeep-blue"
    assert secret["Properties"]["Name"] == "agentkeep/blue/providers"
    assert "dev" not in {path for text in (blue.data.text, blue.api.text) for path in text.replace('"', "/").split("/")}
