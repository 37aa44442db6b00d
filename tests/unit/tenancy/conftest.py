"""The services of one machine behind the library's clients, in a directory of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.data_directory import DataDirectory
from infra.local.dynamodb.engine import Engine
from infra.local.environment import applied, function_environment
from infra.local.services import services


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An empty store, with the environment that functions have on one machine."""
    variables = function_environment(require_keys=True)
    with applied(variables), services(DataDirectory(tmp_path / "data"), fast=True) as engine:
        yield engine
