"""Servers for tests on real sockets: `agentkeep local` as a process, and any ASGI application in this one."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from starlette.types import ASGIApp

from infra.local.data_directory import DataDirectory
from infra.local.gateway import Gateway
from infra.local.listening import address_of, listen
from infra.local.server import Server

READY = re.compile(rb"is ready at (http://\S+)")
START_SECONDS = 30
AGENTKEEP = (sys.executable, "-m", "infra.cli")


class LocalServer:
    """`agentkeep local` as a process of its own, on a free port, with `data` as its data directory.

    `env` is added to the environment, from which model keys are taken out. Output is in `log`.
    """

    def __init__(self, data: Path, env: Mapping[str, str] | None = None, *options: str) -> None:
        self.data = data
        self.log = data.parent / f"{data.name}.log"
        self._options = options
        self._env = clean_environment() | {"AGENTKEEP_STRICT": "1"} | dict(env or {})
        self.base_url = ""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "LocalServer":
        """Returns when requests are taken."""
        with self.log.open("ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(self.command(), env=self._env, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while (match := READY.search(self.log.read_bytes(), begin)) is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start:\n{self.log.read_text()[begin:]}")
            time.sleep(0.02)
        self.base_url = match[1].decode()
        return self

    def command(self, port: int = 0) -> list[str]:
        """What is run."""
        return [*AGENTKEEP, "local", "--port", str(port), "--data", str(self.data), *self._options]

    def run_to_the_end(self, port: int = 0) -> "subprocess.CompletedProcess[str]":
        """Runs the command where it is expected to end by itself."""
        return run_agentkeep(*self.command(port)[len(AGENTKEEP) :], env=self._env)

    def agentkeep(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Runs another command in the same environment."""
        return run_agentkeep(*arguments, env=self._env)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Asks the server to end, and gives its exit code. Does nothing to one that has ended."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(START_SECONDS)

    def kill9(self) -> None:
        """Ends the server as a power cut of the process would."""
        self.stop(signal.SIGKILL)

    def restart(self) -> "LocalServer":
        """Ends the server if it runs, and starts it again on the same data. `base_url` may change."""
        self.stop()
        return self.start()


def run_agentkeep(*arguments: str, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Runs a command that ends by itself."""
    return subprocess.run(
        [*AGENTKEEP, *arguments], env=env, capture_output=True, text=True, timeout=START_SECONDS, check=False
    )


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serves an ASGI application from a thread of this process, and gives its address."""
    bound = listen("127.0.0.1", 0, DataDirectory(Path(os.devnull)))
    up = threading.Event()
    stopping = app.stop if isinstance(app, Gateway) else _nothing
    server = Server(app, bound, up.set, stopping)
    thread = threading.Thread(target=server.serve_until_stopped, name="server")
    thread.start()
    assert up.wait(START_SECONDS)
    try:
        yield address_of(bound)
    finally:
        server.stop()
        thread.join(START_SECONDS)


def clean_environment() -> dict[str, str]:
    """This process's environment without what would change how a server starts or which models it finds."""
    ours = ("AGENTKEEP_", "OPENAI_", "ANTHROPIC_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


def _nothing() -> None:
    return
