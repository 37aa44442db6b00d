"""Letta Code, as its users start it: `letta -p "hello"` against this server, and every request that it makes."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.doubles.provider import ScriptedProvider
from tests.local.clients import client_of, history
from tests.local.recording import Recorder
from tests.local.servers import LocalServer, served

PACKAGE: Final = "@letta-ai/letta-code@0.25.9"
HOSTED_ONLY: Final = ("/v1/models/catalog", "/v1/environments", "/v1/metadata", "/v1/sandboxes", "/v1/repositories")
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

Letta = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed program."""
    npm, directory = shutil.which("npm"), tmp_path_factory.mktemp("letta-code")
    if npm is None:
        _cannot(f"Letta Code is tried where npm is, to install {PACKAGE}; there is no npm here.")
    command = [str(npm), "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(directory), PACKAGE]
    installed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    if installed.returncode:
        _cannot(f"npm could not install {PACKAGE}: {installed.stderr[-300:]}")
    return directory / "node_modules" / ".bin" / "letta"


def _cannot(reason: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def recorder(server: LocalServer) -> Iterator[Recorder]:
    return Recorder(server.base_url)


@pytest.fixture
def letta(program: Path, recorder: Recorder, tmp_path: Path) -> Iterator[Letta]:
    """Runs the program with a home of its own, on the recorded server."""
    with served(recorder) as address:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DO_NOT_TRACK": "1"}
        environment |= {"LETTA_BASE_URL": address, "LETTA_API_KEY": "any", "DISABLE_AUTOUPDATER": "1"}

        def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                [str(program), *arguments],
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
                stdin=subprocess.DEVNULL,
            )

        yield run


def wrong(recorder: Recorder) -> list[str]:
    """What was answered with something else than it should: nothing but JSON or events, 2xx but for hosted things."""
    return [
        f"{each.method} {each.path}: {each.status} {each.kind}"
        for each in recorder.exchanges
        if each.kind not in ("application/json", "text/event-stream")
        or not (each.status == 200 or (each.status in (404, 501) and each.path.startswith(HOSTED_ONLY)))
    ]


def test_hello_is_answered_and_the_next_run_finds_the_same_agent(
    letta: Letta, recorder: Recorder, server: LocalServer
) -> None:
    first = letta("-p", "hello")
    agents = list(client_of(server.base_url).agents.list())
    second = letta("-p", "hello again", "--output-format", "json")

    assert (first.returncode, second.returncode) == (0, 0), (first.stderr, second.stderr)
    assert "demo/memory" in first.stdout
    assert json.loads(second.stdout)["agent_id"] == agents[0].id
    assert len(list(client_of(server.base_url).agents.list())) == len(agents)
    assert wrong(recorder) == []
    assert [each.path for each in recorder.exchanges if each.kind == "text/event-stream"]


def test_an_agent_is_spoken_to_by_its_id_in_its_default_conversation(
    letta: Letta, recorder: Recorder, server: LocalServer
) -> None:
    client = client_of(server.base_url)
    agent = client.agents.create(model="demo/memory", memory_blocks=[{"label": "human", "value": "Name: Ada"}])

    done = letta("-p", "What is my name?", "--agent", agent.id, "--conv", "default")

    assert done.returncode == 0, done.stderr
    assert "Ada" in done.stdout
    assert [message.message_type for message in history(client, agent.id)][1:] == ["user_message", "assistant_message"]
    assert wrong(recorder) == []


class TestWithAProvider:
    @pytest.fixture
    def server(self, shared_server: LocalServer) -> LocalServer:
        """The server with providers in the place of the one without."""
        return shared_server

    @pytest.mark.parametrize("model", ["openai/gpt-4.1", "anthropic/claude-sonnet-4-20250514"])
    def test_the_provider_is_asked_once_and_heard(
        self, letta: Letta, recorder: Recorder, provider: ScriptedProvider, model: str
    ) -> None:
        before = len(provider.calls)

        done = letta("-p", "@say Hello from the script.", "--new-agent", "-m", model)

        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "Hello from the script."
        assert [seen.status for seen in provider.calls[before:]] == [200]
        assert wrong(recorder) == []
