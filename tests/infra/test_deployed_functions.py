"""The functions as they are deployed: runtime, layers, variables, limits, snapshots, logs."""

from collections.abc import Mapping
from typing import Any

import pytest

from infra.constructs.target import MACHINE, PYTHON
from infra.routes import ROUTES
from infra.stacks.access import NO_TENANT_DATA, PROVIDER_ACCESS, SYSTEM_ACCESS
from infra.tables import TABLES
from tests.infra.conftest import SynthesiseWith
from tests.infra.synthesised import Synthesis

NAMES = {"authorizer", *(route.function for route in ROUTES)}
STREAMING = {route.function for route in ROUTES if route.streaming}


def test_every_function_of_the_route_table_and_the_authorizer_are_deployed(synthesis: Synthesis) -> None:
    assert set(synthesis.api.functions()) == NAMES


def test_tables_of_grants_name_functions_that_exist() -> None:
    assert {*NO_TENANT_DATA, *PROVIDER_ACCESS, *SYSTEM_ACCESS} <= NAMES


def test_functions_run_on_the_target_that_the_layers_are_made_for(synthesis: Synthesis) -> None:
    layers = synthesis.api.of_type("AWS::Lambda::LayerVersion")

    for properties in synthesis.api.functions().values():
        assert properties["Runtime"] == f"python{PYTHON}"
        assert properties["Architectures"] == [MACHINE]
        assert [layer["Ref"] for layer in properties["Layers"]] == list(layers)
    for layer in layers.values():
        assert layer["Properties"]["CompatibleRuntimes"] == [f"python{PYTHON}"]
        assert layer["Properties"]["CompatibleArchitectures"] == [MACHINE]


def test_functions_know_where_the_data_is_and_no_secret(synthesis: Synthesis) -> None:
    for name, properties in synthesis.api.functions().items():
        expected = {
            "AGENTKEEP_STAGE",
            "AGENTKEEP_BUCKET",
            "AGENTKEEP_DATA_ROLE_ARN",
            "AGENTKEEP_KMS_KEY_ID",
            "AGENTKEEP_REQUIRE_KEYS",
            "AGENTKEEP_CORS_ORIGINS",
            *(table.environment for table in TABLES),
            *({"AGENTKEEP_PROVIDERS_SECRET"} if name in PROVIDER_ACCESS else ()),
            *({"AWS_LAMBDA_EXEC_WRAPPER"} if name in STREAMING else ()),
        }
        variables = properties["Environment"]["Variables"]
        assert set(variables) == expected
        assert variables["AGENTKEEP_STAGE"] == "dev"
        assert variables["AGENTKEEP_REQUIRE_KEYS"] == "1"
        assert variables.get("AGENTKEEP_PROVIDERS_SECRET", "agentkeep/dev/providers") == "agentkeep/dev/providers"


def test_streaming_function_starts_our_runtime_and_may_work_as_long_as_a_stream_lasts(synthesis: Synthesis) -> None:
    messages = synthesis.api.functions()["messages"]

    assert messages["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/bootstrap"
    assert messages["Timeout"] == 900
    assert "SnapStart" not in messages


@pytest.mark.parametrize("name", sorted(NAMES - STREAMING))
def test_other_functions_start_from_a_snapshot_and_end_when_api_gateway_stops_waiting(
    synthesis: Synthesis, name: str
) -> None:
    properties = synthesis.api.functions()[name]

    assert properties["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert properties["Timeout"] == 29


def test_every_function_has_an_alias_on_a_published_version(synthesis: Synthesis) -> None:
    aliases = synthesis.api.of_type("AWS::Lambda::Alias")

    assert {synthesis.api.function_behind(name) for name in aliases} == NAMES
    for alias in aliases.values():
        version = alias["Properties"]["FunctionVersion"]["Fn::GetAtt"][0]
        assert alias["Properties"]["Name"] == "live"
        assert synthesis.api.resources[version]["Type"] == "AWS::Lambda::Version"


def test_every_function_is_traced_and_logs_as_json_to_a_group_of_its_own(synthesis: Synthesis) -> None:
    groups = [properties["LoggingConfig"]["LogGroup"]["Ref"] for properties in synthesis.api.functions().values()]

    assert len(set(groups)) == len(NAMES)
    for properties in synthesis.api.functions().values():
        assert properties["TracingConfig"] == {"Mode": "Active"}
        assert properties["LoggingConfig"]["LogFormat"] == "JSON"


def test_concurrency_is_reserved_by_class_when_the_settings_say_so(synthesise_with: SynthesiseWith) -> None:
    api = synthesise_with(authorizer_concurrency="50", crud_concurrency="20", driver_concurrency="100").api

    reserved = {name: found["ReservedConcurrentExecutions"] for name, found in api.functions().items()}
    assert reserved == dict.fromkeys(NAMES, 20) | {"authorizer": 50} | dict.fromkeys(STREAMING, 100)


def test_no_concurrency_is_reserved_by_default(synthesis: Synthesis) -> None:
    def reserved(properties: Mapping[str, Any]) -> bool:
        return "ReservedConcurrentExecutions" in properties

    assert not [name for name, properties in synthesis.api.functions().items() if reserved(properties)]
