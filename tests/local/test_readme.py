"""Every command and every line of Python in the README works as written, on a server that has just been started."""

import re
import shlex
from pathlib import Path
from typing import Any

from tests.local.servers import LocalServer

README = (Path(__file__).parents[2] / "README.md").read_text()
FIRST_KEY = 'uv run agentkeep keys create --stage dev --tenant acme0001 --role admin --name "first key"'
ELSEWHERE = {
    "uv run agentkeep local": "started by the fixture, as CI starts it in a fresh clone",
    "uv run agentkeep local --require-keys": "started by the fixture server_with_keys in the gateway's tests",
    "uv run --group dev pytest": "this run",
    "git clone https://git.example.com/you/agentkeep.git": "this checkout",
    "cd agentkeep": "this checkout",
    "uv run --with letta-client python": "letta-client is in the dev group",
    "npx aws-cdk deploy --all -c stage=dev": "CI synthesises the same app by the same command",
    FIRST_KEY: "needs a deployed stage",
}


def blocks(language: str) -> list[str]:
    """The code blocks of the README in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_python_of_the_readme_runs_from_top_to_bottom(server: LocalServer) -> None:
    names: dict[str, Any] = {}

    for code in blocks("python"):
        exec(code.replace("http://127.0.0.1:8283", server.base_url), names)

    assert [agent.name for agent in names["client"].agents.list()] == ["keeper"]
    assert names["client"].agents.blocks.retrieve("human", agent_id=names["agent"].id).value == "Unknown so far."


def test_the_commands_of_the_readme_succeed(server: LocalServer) -> None:
    commands = [line for block in blocks("console") for line in block.splitlines()]

    for command in commands:
        if command in ELSEWHERE:
            continue
        arguments = shlex.split(command.removeprefix("uv run agentkeep "))
        data = ["--data", str(server.data)] if arguments[0] == "keys" else []
        done = server.agentkeep(*arguments, *data)
        assert done.returncode == 0, (command, done.stdout, done.stderr)

    assert set(ELSEWHERE) <= set(commands)
