"""`agentkeep local` and `agentkeep keys` where they cannot start: each time one sentence on stderr, and 1."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local.servers import LocalServer, clean_environment


@pytest.mark.parametrize(
    ("variable", "value", "accepted"),
    [
        ("AGENTKEEP_LEASE_SECONDS", "abc", "a number from 0.1 to 900"),
        ("AGENTKEEP_LEASE_SECONDS", "-5", "a number from 0.1 to 900"),
        ("AGENTKEEP_LEASE_SECONDS", "0", "a number from 0.1 to 900"),
        ("AGENTKEEP_HEARTBEAT_AFTER_SECONDS", "soon", "a number from 0 to 880"),
        ("AGENTKEEP_HEARTBEAT_AFTER_SECONDS", "-1", "a number from 0 to 880"),
        ("AGENTKEEP_HEARTBEAT_AFTER_SECONDS", "nan", "a number from 0 to 880"),
        ("AGENTKEEP_AUTHORIZER_CACHE_SECONDS", "x", "a number from 0 to 3600"),
        ("AGENTKEEP_CLOCK_OFFSET_SECONDS", "1h", "a number from -1e+09 to 1e+09"),
        ("AGENTKEEP_WEATHER", "abc", "a seed of digits, such as 7"),
        ("AGENTKEEP_WEATHER", "-7", "a seed of digits, such as 7"),
    ],
)
def test_a_variable_with_a_wrong_value(tmp_path: Path, variable: str, value: str, accepted: str) -> None:
    refused = LocalServer(tmp_path / "data", {variable: value}).run_to_the_end()

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"{variable} is '{value}'; it takes {accepted}.\n"


@pytest.mark.parametrize("variable", ["AGENTKEEP_LEASE_SECONDS", "AGENTKEEP_HEARTBEAT_AFTER_SECONDS"])
def test_a_function_with_a_wrong_value_fails_when_it_starts(variable: str) -> None:
    started = subprocess.run(
        [sys.executable, "-c", "import functions.messages.handler"],
        env=clean_environment() | {variable: "abc", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert started.returncode == 1
    assert f"{variable} is 'abc'" in started.stderr


@pytest.mark.parametrize("command", [("local", "--port", "0"), ("keys", "list"), ("keys", "create", "--name", "me")])
@pytest.mark.parametrize("content", [b"not a database " * 500, b"SQLite format 3\x00" + b"\xff" * 9000])
def test_a_data_file_that_is_damaged(tmp_path: Path, command: tuple[str, ...], content: bytes) -> None:
    (tmp_path / "store.sqlite3").write_bytes(content)

    refused = LocalServer(tmp_path).agentkeep(*command, "--data", str(tmp_path))

    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{tmp_path}/store.sqlite3 cannot be used: ")
    assert len(refused.stderr.splitlines()) == 1


def test_a_data_file_that_is_damaged_within(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "data").start()
    server.stop()
    with (server.data / "store.sqlite3").open("r+b") as store:
        store.seek(4096)
        store.write(b"\xff" * 3 * 4096)

    refused = server.run_to_the_end()

    assert refused.returncode == 1
    assert "store.sqlite3 cannot be used: database disk image is malformed." in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_a_directory_in_place_of_the_data_file(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite3").mkdir()

    refused = LocalServer(tmp_path).run_to_the_end()

    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{tmp_path}/store.sqlite3 cannot be used: ")
    assert len(refused.stderr.splitlines()) == 1


def test_a_damaged_key(tmp_path: Path) -> None:
    (tmp_path / "kms.key").write_bytes(b"short")

    refused = LocalServer(tmp_path).run_to_the_end()

    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{tmp_path}/kms.key is damaged: it holds 5 bytes instead of 32.")
    assert len(refused.stderr.splitlines()) == 1
