"""Handlers on the local engine, in process; sockets are off."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_socket import disable_socket

from tests.doubles.model_servers import ModelServers
from tests.doubles.models import ScriptedModel
from tests.doubles.system import System, running


@pytest.fixture(autouse=True)
def _no_sockets() -> None:
    disable_socket(allow_unix_socket=True)


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    """An empty system in memory."""
    with running(tmp_path) as opened:
        yield opened


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """A model that answers what the test tells it to, in place of every provider."""
    scripted = ScriptedModel()
    monkeypatch.setattr("agentkeep.loop.driver.complete", scripted)
    monkeypatch.setattr("agentkeep.loop.compaction.summarizing.complete", scripted)
    ModelServers(monkeypatch).stands_everywhere("scripted")
    return scripted
