"""`agentkeep doctor`: what is in the way, why it matters, what to do about it."""

import socket
import sqlite3
from pathlib import Path

import pytest

from tests.local.servers import LocalServer
from tests.local.test_cli import NO_AWS, run


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_is_content_where_local_can_run(tmp_path: Path) -> None:
    examined = run("doctor", "--port", str(free_port()), "--data", str(tmp_path / "data"))

    assert examined.returncode == 0
    assert examined.stdout.endswith("`agentkeep local` can run.\n")
    assert "will be made" in examined.stdout


def test_says_what_is_in_the_way_why_it_matters_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        examined = run("doctor", "--port", str(port), "--data", str(tmp_path / "data"))

    assert examined.returncode == 1
    assert f"missing  Port {port} is taken by another program\n" in examined.stdout
    assert f"choose another: agentkeep local --port {port + 1}" in examined.stdout
    assert examined.stdout.endswith("`agentkeep local` cannot run yet.\n")


def test_knows_that_the_data_is_in_use(server: LocalServer) -> None:
    port = server.base_url.rpartition(":")[2]

    examined = run("doctor", "--port", port, "--data", str(server.data))

    assert f"is in use by the agentkeep at {server.base_url}" in examined.stdout


def test_knows_data_that_only_a_newer_version_reads(tmp_path: Path) -> None:
    LocalServer(tmp_path / "data").start().stop()
    with sqlite3.connect(tmp_path / "data" / "store.sqlite3") as store:
        store.execute("PRAGMA user_version = 99")

    examined = run("doctor", "--port", "0", "--data", str(tmp_path / "data"))

    assert examined.returncode == 1
    assert "was written by a newer AgentKeep" in examined.stdout


def test_names_the_keys_it_found_and_never_shows_them(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"), "--port", "0")

    with_key = run("doctor", *data, OPENAI_API_KEY="sk-secret").stdout
    without = run("doctor", *data).stdout

    assert "Models: OPENAI_API_KEY set" in with_key
    assert "sk-secret" not in with_key
    assert "only demo/memory serves" in without
    assert "Set OPENAI_API_KEY or ANTHROPIC_API_KEY" in without


def test_what_only_a_deployment_needs_is_no_obstacle(tmp_path: Path) -> None:
    env = {"PATH": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path)}

    examined = run("doctor", "--port", "0", "--data", str(tmp_path / "data"), **env)

    assert examined.returncode == 0
    assert "without  Node is not installed" in examined.stdout
    assert "without  uv" in examined.stdout


def test_a_broken_aws_profile_is_reported(tmp_path: Path) -> None:
    examined = run("doctor", "--port", "0", "--data", str(tmp_path / "data"), AWS_PROFILE="nosuch")

    assert examined.returncode == 0
    assert "AWS credentials (The config profile (nosuch) could not be found)" in examined.stdout


def test_names_the_process_and_the_data_of_our_own_server(server: LocalServer) -> None:
    port = server.base_url.rpartition(":")[2]
    assert server.process is not None
    holder = f"the agentkeep that is running already (process {server.process.pid}, data in {server.data})"

    examined = run("doctor", "--port", port, "--data", str(server.data))
    second = LocalServer(server.data).run_to_the_end(int(port))

    assert f"missing  Port {port} is taken by {holder}\n" in examined.stdout
    assert (second.returncode, second.stderr) == (
        1,
        f"Port {port} on 127.0.0.1 is taken by {holder}. Stop it, or choose another port with --port.\n",
    )


def test_looks_at_the_host_that_local_would_use(tmp_path: Path) -> None:
    examined = run("doctor", "--port", "0", "--host", "203.0.113.7", "--data", str(tmp_path / "data"))

    assert examined.returncode == 1
    assert "'203.0.113.7' is not an address of this machine" in examined.stdout


@pytest.mark.parametrize("below", ["", "/data"])
def test_a_file_in_place_of_the_data_directory_is_a_finding(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("in the way")

    examined = run("doctor", "--port", "0", "--data", f"{tmp_path}/file{below}")

    assert (examined.returncode, examined.stderr) == (1, "")
    assert "  missing  " in examined.stdout
    assert "will be made" not in examined.stdout


def test_a_damaged_data_file_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite3").write_bytes(b"not a database " * 500)

    examined = run("doctor", "--port", "0", "--data", str(tmp_path))

    assert (examined.returncode, examined.stderr) == (1, "")
    assert f"Data file {tmp_path}/store.sqlite3 cannot be used (file is not a database)" in examined.stdout


def test_a_port_that_cannot_be_is_refused_by_name() -> None:
    refused = run("doctor", "--port", "99999")

    assert refused.returncode == 2
    assert "--port" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("env", "region"),
    [
        ({}, "us-east-1"),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "eu-west-1"),
        ({"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-west-1"}, "eu-north-1"),
        ({"AWS_PROFILE": "work"}, "ap-south-1"),
    ],
)
def test_names_the_region_that_would_be_used(tmp_path: Path, env: dict[str, str], region: str) -> None:
    (tmp_path / "config").write_text("[profile work]\nregion = ap-south-1\n")
    env = NO_AWS | {"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_CONFIG_FILE": str(tmp_path / "config")} | env

    examined = run("doctor", "--port", "0", "--data", str(tmp_path / "data"), **env)

    assert f"AWS region {region}, where a stage is deployed and looked for\n" in examined.stdout


def test_asks_for_nothing_that_deploying_brings_by_itself(tmp_path: Path) -> None:
    examined = run("doctor", "--port", "0", "--data", str(tmp_path / "data"))

    assert "AWS CDK for Python" not in examined.stdout
    assert "bubblewrap" not in examined.stdout
