"""The clients and tables that these tests work on: the local engine's, and moto's where both must agree."""

from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.dynamodb.engine import Engine
from tests.doubles.dynamodb import TableClient, engine_client, moto_client, new_table


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """An engine in memory, for the tests of a module together."""
    with Engine.in_memory() as opened:
        yield opened


@pytest.fixture(scope="module")
def exact_client(engine: Engine) -> Any:
    """A client of the engine."""
    return engine_client(engine)


@pytest.fixture(scope="module", params=["engine", "moto"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of the engine, then one of moto."""
    if request.param == "moto":
        with moto_client() as found:
            yield found
    else:
        yield request.getfixturevalue("exact_client")


@pytest.fixture
def table(client: Any, request: pytest.FixtureRequest) -> TableClient:
    """An empty table, on the engine and on moto."""
    return new_table(client, exact="engine" in request.node.callspec.id)


@pytest.fixture
def exact_table(exact_client: Any) -> TableClient:
    """An empty table on the engine only."""
    return new_table(exact_client, exact=True)
