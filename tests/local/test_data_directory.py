"""The data directory of `agentkeep local`: closed to others, and a backup when it is copied."""

import shutil
import stat
import subprocess
from pathlib import Path

from tests.local.servers import AGENTKEEP, LocalServer, clean_environment


def closed_to_others(directory: Path) -> dict[str, bool]:
    """Whether only the owner may use what lies in the directory, by name."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in directory.iterdir()}


def test_is_for_its_owner_only(server: LocalServer) -> None:
    found = closed_to_others(server.data)

    assert {"store.sqlite3", "store.sqlite3-wal", "store.sqlite3-shm", "kms.key", "server.json"} <= set(found)
    assert all(found.values()), found


def test_that_was_open_to_others_has_its_contents_closed(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "data").start()
    server.kill9()
    for path in server.data.iterdir():
        path.chmod(0o644)
    (server.data / "objects").mkdir(exist_ok=True)
    (server.data / "objects").chmod(0o755)
    server.data.chmod(0o755)
    server.start()
    found = closed_to_others(server.data)
    server.stop()

    assert "store.sqlite3-wal" in found
    assert all(found.values()), found


def test_made_by_the_first_key_is_for_its_owner_only(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "data")
    server.agentkeep("keys", "create", "--name", "me", "--data", str(server.data))

    found = closed_to_others(server.data)

    assert "store.sqlite3" in found
    assert all(found.values()), found


def test_is_backed_up_by_copying_it_while_the_server_is_stopped(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "data", None, "--require-keys").start()
    server.agentkeep("keys", "create", "--name", "before", "--data", str(server.data))
    server.stop()
    shutil.copytree(server.data, tmp_path / "copy")

    listed = server.agentkeep("keys", "list", "--data", str(tmp_path / "copy"))

    assert "before" in listed.stdout


def test_a_greeting_that_nobody_reads_to_its_end_is_no_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as errors:
        server = subprocess.Popen(
            [*AGENTKEEP, "local", "--port", "0", "--data", str(tmp_path / "data")],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert server.stdout is not None
        first = server.stdout.readline()
        server.stdout.close()
        server.terminate()
        code = server.wait(20)

    assert b"is ready at" in first
    assert (code, log.read_bytes()) == (0, b"")
