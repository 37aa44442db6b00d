"""`agentkeep doctor`: what this machine has and lacks, why it matters, and what to do."""

import importlib.util
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from infra.local.data_directory import DataDirectory
from infra.local.dynamodb.storage import DATA_FORMAT

_PACKAGES: Final = ("botocore", "cryptography", "pydantic", "starlette", "uvicorn")
_NODE: Final = 20
_SECONDS: Final = 10


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `needed` says that `agentkeep local` cannot run without it."""

    good: bool
    what: str
    remedy: str = ""
    needed: bool = False


def examine(port: int, data: Path) -> int:
    """Prints a line for each finding, and the remedy below what is missing. 0 when `agentkeep local` can run."""
    findings = [*_for_local(port, DataDirectory(data.absolute())), *_for_deploying()]
    for finding in findings:
        _print(finding)
    blocked = [finding for finding in findings if finding.needed and not finding.good]
    typer.echo("\n`agentkeep local` cannot run yet." if blocked else "\n`agentkeep local` can run.")
    return 1 if blocked else 0


def _for_local(port: int, directory: DataDirectory) -> Iterator[Finding]:
    yield _python()
    yield _packages()
    yield _port(port, directory)
    yield _data(directory)
    yield _model_keys()


def _for_deploying() -> Iterator[Finding]:
    yield _uv()
    yield _node()
    yield _cdk()
    yield _credentials()


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


def _port(port: int, directory: DataDirectory) -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return Finding(False, f"Port {port} is taken{_by_us(port, directory)}", _other_port(port), needed=True)
    return Finding(True, f"Port {port} is free")


def _by_us(port: int, directory: DataDirectory) -> str:
    server = directory.running_server()
    ours = server is not None and server.address.endswith(f":{port}")
    return f" by the agentkeep that is running already (process {server.process})" if server and ours else ""


def _other_port(port: int) -> str:
    return f"The server listens there. Stop what uses it, or choose another: agentkeep local --port {port + 1}"


def _data(directory: DataDirectory) -> Finding:
    path = directory.path
    if not path.exists():
        parent = next(each for each in path.parents if each.exists())
        remedy = f"Agents and their memory are kept there. Make {parent} writable, or choose another place with --data."
        return Finding(os.access(parent, os.W_OK), f"Data directory {path} will be made", remedy, needed=True)
    server = directory.running_server()
    if server is not None and _is_alive(server.process):
        in_use = f"Data directory {path} is in use by the agentkeep at {server.address} (process {server.process})"
        remedy = "One server at a time may have it. Stop that one, or choose another with --data."
        return Finding(False, in_use, remedy, needed=True)
    if _format(directory.store) > DATA_FORMAT:
        remedy = "This one cannot read it. Install the newer version again, or choose another directory with --data."
        return Finding(False, f"Data directory {path} was written by a newer AgentKeep", remedy, needed=True)
    remedy = "Agents and their memory are kept there. Make it writable for you, or choose another with --data."
    return Finding(os.access(path, os.W_OK | os.X_OK), f"Data directory {path} is there", remedy, needed=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _format(store: Path) -> int:
    """The version of the data, 0 where there is none yet."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as opened:
        found: int = opened.execute("PRAGMA user_version").fetchone()[0]
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


def _cdk() -> Finding:
    return Finding(
        importlib.util.find_spec("aws_cdk") is not None,
        "AWS CDK for Python",
        "The stacks are written with it: uv sync --group dev",
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
