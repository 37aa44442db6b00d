"""How long turns take on this machine, against the budgets: `uv run --group dev python tests/bench/bench_turns.py`.

Starts a server as users do and a provider that answers at once, talks to them with letta-client, and prints a table.
The machine should be idle: wall times move with whatever else runs on it. Takes about two minutes.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

import httpx  # noqa: E402
from letta_client import Letta  # noqa: E402

from infra.constructs.wheels import UvMissingError, WheelsError, install  # noqa: E402
from tests.bench.instant_provider import MODEL, TEXT_TURN, TOOL_TURN, instant_provider  # noqa: E402
from tests.doubles.models import ScriptedModel  # noqa: E402
from tests.doubles.system import running  # noqa: E402
from tests.local.servers import LocalServer  # noqa: E402

TURNS: Final = 60
CLIENTS: Final = 8
HISTORY: Final = 3_000
IN_ONE_REQUEST: Final = 40
IMPORTS: Final = 5
CRUD: Final = ("agents", "blocks", "conversations", "models", "runs", "tools")
OTHERS: Final = ("authorizer", "dispatcher")


@dataclass(frozen=True)
class Row:
    """One line of the table. `within` is None where there is no budget."""

    what: str
    measured: str
    budget: str = ""
    within: bool | None = None


def at_most(what: str, value: float, budget: float, unit: str) -> Row:
    """A row that is within its budget when the value is not above it."""
    return Row(what, f"{value:.4g} {unit}", f"{budget:g} {unit}", value <= budget)


class Bench:
    """One server with one provider, and agents on it."""

    def __init__(self, server: LocalServer) -> None:
        assert server.process is not None
        self.base_url, self.pid = server.base_url, server.process.pid
        self.client = self.new_client()

    def new_client(self) -> Letta:
        """A client with connections of its own."""
        return Letta(base_url=self.base_url, api_key="any", max_retries=0)

    def agent(self, model: str = f"openai/{MODEL}") -> str:
        """A new agent."""
        blocks: Any = [{"label": "human", "value": "Likes tea."}, {"label": "persona", "value": "I am brief."}]
        return self.client.agents.create(name="bench", model=model, memory_blocks=blocks).id

    def turn(self, agent: str, text: str = TEXT_TURN, client: Letta | None = None) -> float:
        """The milliseconds of one turn."""
        begin = time.perf_counter()
        (client or self.client).agents.messages.create(agent, input=text)
        return (time.perf_counter() - begin) * 1000

    def first_event(self, agent: str) -> float:
        """The milliseconds until the first event of a streamed turn."""
        url, body = f"{self.base_url}/v1/agents/{agent}/messages", {"input": TEXT_TURN, "streaming": True}
        begin = time.perf_counter()
        with self._http.stream("POST", url, json=body) as answer:
            lines = answer.iter_lines()
            next(lines)
            heard = time.perf_counter()
            for _ in lines:
                pass
        return (heard - begin) * 1000

    _http = httpx.Client(timeout=60)


@contextmanager
def started(*options: str) -> Iterator[tuple[Bench, float]]:
    """A server, and the seconds until its first healthy answer."""
    with tempfile.TemporaryDirectory() as directory, instant_provider() as provider:
        environment = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": provider, "AGENTKEEP_STRICT": "0"}
        server = LocalServer(Path(directory) / "data", environment, *options)
        begin = time.perf_counter()
        server.start()
        httpx.get(f"{server.base_url}/v1/health/").raise_for_status()
        seconds = time.perf_counter() - begin
        try:
            yield Bench(server), seconds
        finally:
            server.stop()


def latencies(bench: Bench) -> Iterator[Row]:
    """Turns one after the other, and what they cost the server's processor."""
    for what, model, text, budget in (
        ("text turn, one client", f"openai/{MODEL}", TEXT_TURN, 40),
        ("turn with one memory tool", f"openai/{MODEL}", TOOL_TURN, 70),
        ("text turn of demo/memory", "demo/memory", TEXT_TURN, 40),
    ):
        agent = bench.agent(model)
        _median(lambda agent=agent, text=text: bench.turn(agent, text), 5)  # type: ignore[misc]
        before = _cpu_seconds(bench.pid)
        median = _median(lambda agent=agent, text=text: bench.turn(agent, text), TURNS)  # type: ignore[misc]
        cpu = (_cpu_seconds(bench.pid) - before) / TURNS * 1000
        yield at_most(f"{what}, p50", median, budget, "ms")
        yield Row("    of the server's processor", f"{cpu:.3g} ms")
    agent = bench.agent()
    yield at_most("first event of a stream, p50", _median(lambda: bench.first_event(agent), TURNS), 25, "ms")


def throughput(bench: Bench) -> Iterator[Row]:
    """Clients side by side, each with an agent of its own."""
    agents = [bench.agent() for _ in range(CLIENTS)]

    def work(agent: str) -> list[float]:
        client = bench.new_client()
        return [bench.turn(agent, client=client) for _ in range(TURNS)]

    begin = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        taken = [each for worker in pool.map(work, agents) for each in worker]
    per_second = len(taken) / (time.perf_counter() - begin)
    yield Row(f"turns a second, {CLIENTS} clients", f"{per_second:.3g}", "30", per_second >= 30)
    yield Row(f"text turn, {CLIENTS} clients, p50", f"{statistics.median(taken):.4g} ms")


def histories(bench: Bench) -> Iterator[Row]:
    """Turns behind a short and a long history, alternately, with windows of the same length."""
    short, long = bench.agent(), bench.agent()
    for agent, length in ((short, 10), (long, HISTORY)):
        _fill(bench, agent, length)
    taken: dict[str, list[float]] = {short: [], long: []}
    for _ in range(TURNS):
        for agent, times in taken.items():
            times.append(bench.turn(agent))
    few, many = (statistics.median(times) for times in taken.values())
    yield Row(
        f"text turn at 10 and at {HISTORY:,} messages, p50",
        f"{few:.4g} and {many:.4g} ms ({many / few - 1:+.0%})",
        "within 10 %",
        many <= few * 1.1,
    )


def _fill(bench: Bench, agent: str, length: int) -> None:
    for begin in range(0, length, IN_ONE_REQUEST):
        count = min(IN_ONE_REQUEST, length - begin) - 1
        messages: Any = [{"role": "user", "content": f"message {begin + number}"} for number in range(count)]
        bench.client.agents.messages.create(agent, messages=messages)
        bench.client.agents.messages.reset(agent)


def store_calls() -> Iterator[Row]:
    """What one text turn asks of the tables, counted at the engine, in this process."""
    with tempfile.TemporaryDirectory() as directory, running(Path(directory)) as system:
        import agentkeep.loop.driver as driver

        driver.complete = ScriptedModel()  # type: ignore[assignment]
        agent = str(system.new_agent(memory_blocks=[{"label": "human", "value": "Likes tea."}])["id"])
        system.send(agent, TEXT_TURN)
        system.engine.counters.reset()
        system.send(agent, TEXT_TURN)
        counts = system.engine.counters.counts
    calls = sum(counts.calls.values())
    yield Row("DynamoDB calls of a text turn", str(calls), "5", calls <= 5)
    for operation, count in sorted(counts.calls.items()):
        yield Row(f"    {operation}", str(count))
    yield Row("    items read", str(counts.items_read))


def imports() -> Iterator[Row]:
    """A function's import in a fresh process: the shortest of some, since the others were disturbed."""
    crud = {name: _import_milliseconds(name) for name in CRUD}
    slowest = max(crud, key=lambda name: crud[name])
    yield at_most(f"import of a function, slowest: {slowest}", crud[slowest], 350, "ms")
    yield at_most("import of the message function", _import_milliseconds("messages"), 600, "ms")
    others = ", ".join(f"{name} {_import_milliseconds(name):.0f}" for name in OTHERS)
    yield Row("import of the others", f"{others} ms")


def _import_milliseconds(function: str) -> float:
    code = (
        "import time; begin = time.perf_counter();"
        f"import functions.{function}.handler; print((time.perf_counter() - begin) * 1000)"
    )
    paths = os.pathsep.join([str(ROOT), str(ROOT / "layers/agentkeep/python")])
    command, environment = [sys.executable, "-c", code], os.environ | {"PYTHONPATH": paths}

    def once() -> float:
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
        return float(done.stdout)

    return min(once() for _ in range(IMPORTS))


def layers() -> Iterator[Row]:
    """What the layers take when they are unpacked."""
    with tempfile.TemporaryDirectory() as directory:
        vendor = Path(directory) / "python"
        try:
            install(ROOT / "layers/vendor/requirements.txt", vendor)
        except (UvMissingError, WheelsError) as error:
            yield Row("unzipped layers", f"not measured: {str(error)[:60]}")
            return
        size = (_bytes(vendor) + _bytes(ROOT / "layers/agentkeep")) / 1_000_000
    yield at_most("unzipped layers", size, 60, "MB")


def _bytes(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in files)


def _median(measure: Callable[[], float], times: int) -> float:
    return statistics.median(measure() for _ in range(times))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def rows() -> Iterator[Row]:
    """Everything, in the order of the table."""
    with started() as (bench, seconds):
        yield at_most("start to the first healthy answer", seconds, 3, "s")
        bench.turn(bench.agent())
        yield at_most("resident memory, idle after one turn", _megabytes(bench.pid), 200, "MB")
        yield from latencies(bench)
        yield from throughput(bench)
        yield from histories(bench)
        yield Row("resident memory, after all that", f"{_megabytes(bench.pid):.0f} MB")
    with started("--fast") as (bench, _):
        agent = bench.agent()
        yield Row("text turn with --fast, p50", f"{_median(lambda: bench.turn(agent), TURNS):.4g} ms")
    yield from store_calls()
    yield from imports()
    yield from layers()


def main() -> None:
    """Prints the table as it comes."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    sys.stdout.write(f"{os.cpu_count()} processors, load {load}\n\n")
    sys.stdout.write(f"{'':46}{'measured':32}{'budget':14}\n")
    for row in rows():
        verdict = {True: "ok", False: "OVER", None: ""}[row.within]
        sys.stdout.write(f"{row.what:46}{row.measured:32}{row.budget:14}{verdict}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
