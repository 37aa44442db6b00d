"""A real server on a free port, with a data directory of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from letta_client import Letta

from tests.doubles.provider import ScriptedProvider
from tests.local.clients import client_of
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


@pytest.fixture(scope="session")
def provider() -> Iterator[ScriptedProvider]:
    """A provider that answers as messages ask; its own script and its records are shared by all who use it."""
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory, provider: ScriptedProvider) -> Iterator[LocalServer]:
    """One `agentkeep local` for all tests that need nothing of their own. Its models: openai, anthropic and demo."""
    local = LocalServer(tmp_path_factory.mktemp("shared") / "data", provider.environment).start()
    yield local
    local.stop()


@pytest.fixture(scope="session")
def client(shared_server: LocalServer) -> Letta:
    """The official client, strict about answers, on the shared server."""
    return client_of(shared_server.base_url)
