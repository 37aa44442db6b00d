"""A real server on a free port, with a data directory of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.servers import LocalServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    """`agentkeep local`, running, without keys."""
    local = LocalServer(tmp_path / "data").start()
    yield local
    local.stop()


@pytest.fixture
def server_with_keys(tmp_path: Path) -> Iterator[LocalServer]:
    """`agentkeep local --require-keys`, running."""
    local = LocalServer(tmp_path / "data", None, "--require-keys").start()
    yield local
    local.stop()
