"""`agentkeep local` as a process: starting, staying small, keeping data, refusing to start, ending."""

import asyncio
import os
import signal
import socket
import sqlite3
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from agentkeep import __version__
from tests.local.servers import LocalServer, served


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def make_agent(server: LocalServer, name: str, **fields: Any) -> str:
    body = {"name": name, "model": "demo/memory", "memory_blocks": []} | fields
    answer = httpx.post(f"{server.base_url}/v1/agents/", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def agent_names(server: LocalServer) -> list[str]:
    return sorted(agent["name"] for agent in httpx.get(f"{server.base_url}/v1/agents/").json())


class TestStart:
    def test_answers_after_less_than_three_seconds_of_work_and_stays_below_200_mb(self, data: Path) -> None:
        server = LocalServer(data).start()
        assert server.process is not None
        answer = httpx.get(f"{server.base_url}/v1/health/")
        seconds = _seconds_of_work(server.process.pid)
        make_agent(server, "ada")
        megabytes = _resident_megabytes(server.process.pid)
        server.stop()

        assert answer.json() == {"version": "0.16.7", "status": "ok", "agentkeep": __version__}
        assert seconds < 3
        assert megabytes < 200

    def test_says_where_it_is_and_gives_an_agent_to_paste(self, server: LocalServer) -> None:
        said = _wait_for(lambda: server.log.read_text(), "Ctrl-C ends")

        assert str(server.data) in said
        assert "demo/memory only" in said
        assert f'client = Letta(base_url="{server.base_url}")' in said

    def test_lists_the_models_it_found_and_where_from(self, data: Path) -> None:
        with served(Provider()) as address:
            server = LocalServer(data, {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "sk-x"}).start()
            said = _wait_for(lambda: server.log.read_text(), "Ctrl-C ends")
            server.stop()

        assert f"openai/slow, from {address}/v1 (OPENAI_API_KEY)" in said
        assert "sk-x" not in said

    def test_a_broken_aws_profile_does_not_matter(self, data: Path) -> None:
        server = LocalServer(data, {"AWS_PROFILE": "nosuch", "AWS_DEFAULT_REGION": "", "AWS_REGION": ""}).start()

        make_agent(server, "ada")
        server.stop()

    def test_secrets_are_for_their_owner_only(self, server: LocalServer) -> None:
        modes = {name: stat.S_IMODE((server.data / name).stat().st_mode) for name in ("kms.key", "server.json")}

        assert modes == {"kms.key": 0o600, "server.json": 0o600}
        assert stat.S_IMODE(server.data.stat().st_mode) == 0o700

    def test_ephemeral_leaves_nothing(self, data: Path, tmp_path: Path) -> None:
        server = LocalServer(data, {"TMPDIR": str(tmp_path)}, "--ephemeral").start()
        make_agent(server, "ada")
        during = list(tmp_path.glob("agentkeep-*"))
        server.stop()

        assert len(during) == 1
        assert list(tmp_path.glob("agentkeep-*")) == []
        assert not data.exists()


class TestRefusesToStart:
    """Each time one sentence on stderr, and 1."""

    def test_on_a_directory_that_another_one_has_open(self, server: LocalServer) -> None:
        second = LocalServer(server.data).run_to_the_end()

        assert second.returncode == 1
        assert server.process is not None
        assert second.stderr == (
            f"The data in {server.data} is in use by process {server.process.pid}."
            " Stop it, or choose another data directory.\n"
        )

    def test_on_a_port_that_is_taken(self, data: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            refused = LocalServer(data).run_to_the_end(port)

        assert refused.returncode == 1
        assert refused.stderr == (
            f"Port {port} on 127.0.0.1 is taken by another program. Stop it, or choose another port with --port.\n"
        )

    def test_on_data_of_a_newer_version(self, data: Path) -> None:
        LocalServer(data).start().stop()
        with sqlite3.connect(data / "store.sqlite3") as store:
            store.execute("PRAGMA user_version = 99")

        refused = LocalServer(data).run_to_the_end()

        assert refused.returncode == 1
        assert len(refused.stderr.splitlines()) == 1
        assert "data format 99" in refused.stderr

    def test_for_others_without_keys(self, data: Path) -> None:
        refused = LocalServer(data, None, "--host", "0.0.0.0").run_to_the_end()

        assert refused.returncode == 1
        assert refused.stderr == (
            "On 0.0.0.0 others can reach this server, so it has to ask for keys."
            " Add --require-keys, or keep to --host 127.0.0.1.\n"
        )

    def test_on_an_address_of_another_machine(self, data: Path) -> None:
        refused = LocalServer(data, None, "--host", "203.0.113.7", "--require-keys").run_to_the_end()

        assert refused.returncode == 1
        assert refused.stderr.startswith("'203.0.113.7' is not an address of this machine")

    def test_where_no_directory_can_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")

        refused = LocalServer(tmp_path / "file" / "data").run_to_the_end()

        assert refused.returncode == 1
        assert refused.stderr == (
            f"The data directory {tmp_path}/file/data cannot be made: Not a directory. Choose another with --data.\n"
        )


class TestKeeps:
    def test_what_was_answered_across_a_restart(self, server: LocalServer) -> None:
        make_agent(server, "ada")
        server.restart()

        assert agent_names(server) == ["ada"]

    def test_what_was_answered_across_kill_9_in_the_middle_of_load(self, server: LocalServer) -> None:
        made: list[str] = []

        def make(number: int) -> None:
            try:
                make_agent(server, f"agent{number}")
            except httpx.TransportError:
                return
            made.append(f"agent{number}")

        with ThreadPoolExecutor(4) as pool:
            work = [pool.submit(make, number) for number in range(200)]
            _wait_for(lambda: len(made), 30)
            server.kill9()
            for each in work:
                each.result()
        server.start()

        assert 30 <= len(made) < 200
        assert set(made) <= set(_all_agent_names(server))


class TestEnds:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_within_two_seconds(self, server: LocalServer, number: signal.Signals) -> None:
        with httpx.Client(base_url=server.base_url) as client:
            client.get("/v1/health")
            begin = time.monotonic()
            code = server.stop(number)

        assert code == 0
        assert time.monotonic() - begin < 2
        assert not (server.data / "server.json").exists()

    def test_while_a_turn_waits_for_its_model(self, data: Path) -> None:
        provider = Provider()
        with served(provider) as address, ThreadPoolExecutor(2) as pool:
            server = LocalServer(data, {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "sk-x"}).start()
            agents = [make_agent(server, name, model="openai/slow") for name in ("blocking", "streaming")]
            url = f"{server.base_url}/v1/agents/{{}}/messages"
            blocking = pool.submit(httpx.post, url.format(agents[0]), json={"input": "hi"}, timeout=30)
            streaming = pool.submit(
                httpx.post, url.format(agents[1]), json={"input": "hi", "streaming": True}, timeout=30
            )
            _wait_for(lambda: provider.calls, 2)

            begin = time.monotonic()
            code = server.stop()
            seconds = time.monotonic() - begin
            provider.release()

        assert code == 0
        assert seconds < 2
        assert blocking.result().status_code == 503
        assert "server_stopping" in streaming.result().text


@pytest.mark.parametrize("weather", ["", "7"])
def test_no_answer_crosses_between_tenants(data: Path, weather: str) -> None:
    server = LocalServer(data, {"AGENTKEEP_WEATHER": weather}, "--require-keys", "--fast")
    keys = {tenant: _new_key(server, tenant) for tenant in (f"tenant{letter}00" for letter in "abcde")}
    server.start()
    client = httpx.Client(base_url=server.base_url, timeout=60)
    ids = {}
    for tenant, key in keys.items():
        body = {"name": tenant, "model": "demo/memory", "memory_blocks": [{"label": "human", "value": tenant}]}
        ids[tenant] = client.post("/v1/agents/", json=body, headers=key).json()["id"]

    def ask(number: int) -> str:
        tenants = sorted(keys)
        mine, other = tenants[number % 5], tenants[(number + 1) % 5]
        path, wanted = (
            (f"/v1/agents/{ids[other]}", f"Agent not found with id='{ids[other]}'"),
            ("/v1/agents/", [mine]),
            (f"/v1/agents/{ids[mine]}/core-memory/blocks/human", mine),
        )[number % 3]
        answer = client.get(path, headers=keys[mine])
        if answer.status_code == 503:
            return "busy"
        return "right" if shown(answer.json()) == wanted else f"crossed: {answer.text}"

    with ThreadPoolExecutor(16) as pool:
        answers = Counter(pool.map(ask, range(2000)))
    server.stop()

    assert answers["right"] + answers["busy"] == 2000
    assert answers["busy"] == 0 if not weather else answers["busy"] < 100


class Provider:
    """An OpenAI-shaped server with one model, which answers nothing until it is released."""

    def __init__(self) -> None:
        self.calls = 0
        self._released = threading.Event()

    def release(self) -> None:
        self._released.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b'{"data": [{"id": "slow", "object": "model", "created": 1}]}'
        if not scope["path"].endswith("/models"):
            self.calls += 1
            await asyncio.to_thread(self._released.wait, 30)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def shown(answer: Any) -> Any:
    """What an answer shows: the names of agents, the value of a block, the sentence of an error."""
    return (
        [agent["name"] for agent in answer] if isinstance(answer, list) else answer.get("value", answer.get("detail"))
    )


def _new_key(server: LocalServer, tenant: str) -> dict[str, str]:
    made = server.agentkeep("keys", "create", "--name", "test", "--tenant", tenant, "--data", str(server.data))
    return {"Authorization": f"Bearer {made.stdout.splitlines()[-1]}"}


def _all_agent_names(server: LocalServer) -> Iterator[str]:
    after: dict[str, str] = {}
    while page := httpx.get(f"{server.base_url}/v1/agents/", params={"limit": "50", **after}).json():
        yield from (agent["name"] for agent in page)
        after = {"after": page[-1]["id"]}


def _wait_for(look: Any, wanted: Any) -> Any:
    """What `look` gives once it contains, or has reached, what is wanted."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = look()
        if wanted in found if isinstance(wanted, str) else found >= wanted:
            return found
        time.sleep(0.02)
    raise AssertionError(f"still {look()!r}")


def _seconds_of_work(process: int) -> float:
    """Processor time: what the start takes on an idle machine, whatever else runs on this one."""
    if sys.platform != "linux":
        pytest.skip("the time is read from /proc")
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _resident_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))
