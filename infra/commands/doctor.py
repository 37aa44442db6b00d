"""`agentkeep doctor`: what this machine has and lacks, why it matters, and what to do."""

import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from infra.commands.region import deployment_region
from infra.local.data_directory import DataDirectory, StartError
from infra.local.dynamodb.storage import DATA_FORMAT
from infra.local.listening import PortTakenError, listen

_PACKAGES: Final = ("botocore", "cryptography", "pydantic", "starlette", "uvicorn")
_NODE: Final = 22
_LAST_PORT: Final = 65535
_SECONDS: Final = 10


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `needed` says that `agentkeep local` cannot run without it."""

    good: bool
    what: str
    remedy: str = ""
    needed: bool = False


def examine(host: str, port: int, data: Path) -> int:
    """Prints a line for each finding, and the remedy below what is missing. 0 when `agentkeep local` can run."""
    findings = [*_for_local(host, port, DataDirectory(data.absolute())), *_for_deploying()]
    for finding in findings:
        _print(finding)
    blocked = [finding for finding in findings if finding.needed and not finding.good]
    typer.echo("\n`agentkeep local` cannot run yet." if blocked else "\n`agentkeep local` can run.")
    return 1 if blocked else 0


def _for_local(host: str, port: int, directory: DataDirectory) -> Iterator[Finding]:
    yield _python()
    yield _packages()
    yield _port(host, port, directory)
    yield _data(directory)
    yield _model_keys()


def _for_deploying() -> Iterator[Finding]:
    yield _uv()
    yield _node()
    yield _credentials()
    yield _region()


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(
        sys.version_info >= (3, 11),
        f"Python {version}",
        "AgentKeep needs Python 3.11 or newer: run it with `uv run agentkeep`, which brings one.",
        needed=True,
    )


def _packages() -> Finding:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        remedy = "The server is built on them. Install what the project pins: uv sync"
        return Finding(False, f"Packages missing: {', '.join(missing)}", remedy, needed=True)
    return Finding(True, "Packages of the server are installed")


def _port(host: str, port: int, directory: DataDirectory) -> Finding:
    other = f"The server listens there. Stop what uses it, or choose another: agentkeep local --port {_next(port)}"
    try:
        listen(host, port, directory).close()
    except PortTakenError as error:
        return Finding(False, f"Port {port} is taken by {error.holder}", other, needed=True)
    except StartError as error:
        return Finding(False, f"Port {port} on {host} cannot be had", str(error), needed=True)
    return Finding(True, f"Port {port} is free")


def _next(port: int) -> int:
    return port + 1 if port < _LAST_PORT else port - 1


def _data(directory: DataDirectory) -> Finding:
    path = directory.path
    if not path.exists():
        parent = next(each for each in path.parents if each.exists())
        remedy = f"Agents and their memory are kept there. Make {parent} writable, or choose another place with --data."
        can_be_made = parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
        what = f"Data directory {path} {'will' if can_be_made else 'cannot'} be made"
        return Finding(can_be_made, what, remedy, needed=True)
    if not path.is_dir():
        remedy = "Agents and their memory are kept in a directory. Choose another place with --data."
        return Finding(False, f"{path} is a file, not a data directory", remedy, needed=True)
    server = directory.running_server()
    if server is not None and server.is_alive:
        in_use = f"Data directory {path} is in use by the agentkeep at {server.address} (process {server.process})"
        remedy = "One server at a time may have it. Stop that one, or choose another with --data."
        return Finding(False, in_use, remedy, needed=True)
    if not os.access(path, os.W_OK | os.X_OK):
        remedy = "Agents and their memory are kept there. Make it writable for you, or choose another with --data."
        return Finding(False, f"Data directory {path} cannot be written", remedy, needed=True)
    return _store(path, directory.store)


def _store(path: Path, store: Path) -> Finding:
    try:
        found = _format(store)
    except sqlite3.Error as error:
        remedy = "Agents and their memory are in it. Put a backup in its place, or choose another place with --data."
        return Finding(False, f"Data file {store} cannot be used ({error})", remedy, needed=True)
    if found > DATA_FORMAT:
        remedy = "This one cannot read it. Install the newer version again, or choose another directory with --data."
        return Finding(False, f"Data directory {path} was written by a newer AgentKeep", remedy, needed=True)
    return Finding(True, f"Data directory {path} is there")


def _format(store: Path) -> int:
    """The version of the data, 0 where there is none yet. Raises sqlite3.Error for a file that is damaged."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as opened:
        found: int = opened.execute("PRAGMA user_version").fetchone()[0]
        opened.execute("SELECT count(*) FROM tables").fetchone()
        return found


def _model_keys() -> Finding:
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    found = [name for name in names if os.environ.get(name)]
    if found:
        return Finding(True, f"Models: {', '.join(found)} set")
    return Finding(
        False,
        "Models: no provider is set up, so only demo/memory serves",
        "It shows how things work, but it is no language model. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or"
        " OPENAI_BASE_URL for a server that speaks OpenAI's API, such as Ollama.",
    )


def _uv() -> Finding:
    return Finding(
        shutil.which("uv") is not None,
        "uv",
        "It installs the pinned packages and builds the layers of a deployment: pip install uv",
    )


def _node() -> Finding:
    version = _output("node", "--version")
    return Finding(
        bool(version) and int(version.lstrip("v").partition(".")[0]) >= _NODE,
        f"Node {version or 'is not installed'}",
        f"The AWS CDK needs Node {_NODE} or newer to deploy: https://nodejs.org",
    )


def _credentials() -> Finding:
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    try:
        found, why = Session().get_credentials() is not None, ""
    except BotoCoreError as error:
        found, why = False, f" ({error})"
    return Finding(
        found,
        f"AWS credentials{why}",
        "Deploying, and `agentkeep keys --stage`, act in your account with them: aws configure, or set AWS_PROFILE.",
    )


def _region() -> Finding:
    from botocore.exceptions import BotoCoreError

    try:
        return Finding(True, f"AWS region {deployment_region()}, where a stage is deployed and looked for")
    except BotoCoreError as error:
        return Finding(False, f"AWS region ({error})", "A stage has its place there: set AWS_REGION or AWS_PROFILE.")


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _print(finding: Finding) -> None:
    if finding.good:
        typer.secho("  ok       ", fg="green", nl=False)
    elif finding.needed:
        typer.secho("  missing  ", fg="red", nl=False)
    else:
        typer.secho("  without  ", fg="yellow", nl=False)
    typer.echo(finding.what)
    if not finding.good:
        typer.echo(f"           {finding.remedy}")
