"""The command line: help that teaches, keys with and without a running server, the doctor, the version."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from agentkeep.models import ModelInfo
from infra.commands import greeting
from tests.local.servers import LocalServer, clean_environment, run_agentkeep

KEY = re.compile(r"ak_[a-z0-9]+_[a-z0-9]{16}\.[A-Za-z0-9]{40}")
COMMANDS = ["local", "doctor", "version", "keys create", "keys list", "keys revoke"]


NO_AWS = {
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def run(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return run_agentkeep(*arguments, env=clean_environment() | {"COLUMNS": "120", **env})


class TestHelp:
    def test_comes_with_little_work_and_names_every_command(self) -> None:
        before = os.times()
        shown = run("--help")
        after = os.times()

        work = (after.children_user - before.children_user) + (after.children_system - before.children_system)
        assert shown.returncode == 0
        assert all(command.split()[0] in shown.stdout for command in COMMANDS)
        assert work < 0.7

    @pytest.mark.parametrize("command", COMMANDS)
    def test_teaches_with_an_example(self, command: str) -> None:
        shown = run(*command.split(), "--help").stdout

        assert re.search(r"Examples?:", shown)
        assert re.search(rf"\n.*agentkeep {command}", shown)

    @pytest.mark.parametrize(
        "flag",
        ["PORT", "HOST", "DATA", "EPHEMERAL", "REQUIRE_KEYS", "ALLOW_PRIVATE_URLS", "LOG_LEVEL", "FAST"],
    )
    def test_every_flag_of_local_is_also_a_variable(self, flag: str) -> None:
        shown = run("local", "--help").stdout

        assert f"AGENTKEEP_{flag}" in shown
        assert f"--{flag.lower().replace('_', '-')}" in shown

    def test_offers_nothing_that_has_no_effect_yet(self) -> None:
        refused = run("local", "--allow-unsandboxed-tools")

        assert refused.returncode == 2
        assert "No such option" in refused.stderr

    def test_without_a_command_help_is_shown(self) -> None:
        assert "agentkeep local" in run().stdout

    def test_needs_neither_the_cdk_nor_the_server(self) -> None:
        code = "import sys; sys.argv = ['agentkeep', 'version']; import atexit; from infra.cli import main;"
        code += " atexit.register(lambda: print(*sys.modules)); main()"

        loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

        assert [name for name in loaded.split() if name in ("aws_cdk", "uvicorn", "botocore", "moto")] == []


def test_a_wrong_log_level_is_refused_with_the_right_ones(tmp_path: Path) -> None:
    refused = run("local", "--log-level", "loud", "--data", str(tmp_path / "data"))

    assert refused.returncode == 2
    assert all(level in refused.stderr for level in ("debug", "info", "warning", "error"))


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_version_names_both(asked: str) -> None:
    answer = run(asked)

    assert (answer.returncode, answer.stdout) == (0, "agentkeep 0.1.0 (Letta API 0.16.7)\n")


def test_variables_stand_for_flags(tmp_path: Path) -> None:
    env = {"AGENTKEEP_HOST": "0.0.0.0", "AGENTKEEP_PORT": "0", "AGENTKEEP_DATA": str(tmp_path / "data")}

    refused = run("local", **env)

    assert refused.returncode == 1
    assert refused.stderr.startswith("On 0.0.0.0 others can reach this server")


class TestKeys:
    @pytest.fixture
    def data(self, tmp_path: Path) -> str:
        return str(tmp_path / "data")

    def test_are_made_listed_and_revoked_without_a_server(self, data: str) -> None:
        made = run("keys", "create", "--name", "chat page", "--tenant", "acmecorp1", "--role", "user", "--data", data)
        key = made.stdout.splitlines()[-1]
        key_id = key.split("_")[2].split(".")[0]
        listed = run("keys", "list", "--data", data).stdout
        revoked = run("keys", "revoke", key_id, "--data", data)
        listed_after = run("keys", "list", "--tenant", "acmecorp1", "--data", data).stdout

        assert KEY.fullmatch(key)
        assert listed.splitlines()[0].split() == ["ID", "TENANT", "ROLE", "MADE", "STATE", "NAME"]
        assert listed.splitlines()[1].split() == [
            key_id,
            "acmecorp1",
            "user",
            time.strftime("%Y-%m-%d", time.gmtime()),
            "good",
            "chat",
            "page",
        ]
        assert key.partition(".")[2] not in listed
        assert made.stdout.startswith(f"Key {key_id} of tenant 'acmecorp1' with role 'user'. It is shown only now:")
        assert revoked.stdout == f"Key {key_id} (chat page) of tenant 'acmecorp1' is revoked.\n"
        assert "revoked" in listed_after

    def test_made_before_the_server_starts_open_it(self, tmp_path: Path) -> None:
        server = LocalServer(tmp_path / "data", None, "--require-keys")
        key = run("keys", "create", "--name", "me", "--data", str(server.data)).stdout.splitlines()[-1]
        server.start()

        codes = [
            _agents(server, headers)
            for headers in ({"Authorization": f"Bearer {key}"}, {}, {"Authorization": "Bearer x"})
        ]
        server.stop()

        assert codes == [200, 401, 401]

    def test_made_and_revoked_while_the_server_runs(self, tmp_path: Path) -> None:
        env = {"AGENTKEEP_AUTHORIZER_CACHE_SECONDS": "0"}
        server = LocalServer(tmp_path / "data", env, "--require-keys").start()
        data = ("--data", str(server.data))

        key = run("keys", "create", "--name", "me", *data).stdout.splitlines()[-1]
        before = _agents(server, {"Authorization": f"Bearer {key}"})
        revoked = run("keys", "revoke", key, *data)
        after = _agents(server, {"Authorization": f"Bearer {key}"})
        listed = run("keys", "list", *data).stdout
        server.stop()

        assert (before, after) == (200, 401)
        assert revoked.returncode == 0
        assert "revoked" in listed

    def test_a_role_is_held_to_its_permissions(self, server_with_keys: LocalServer) -> None:
        data = ("--data", str(server_with_keys.data))
        key = run("keys", "create", "--name", "reader", "--role", "user", *data).stdout.splitlines()[-1]
        headers = {"Authorization": f"Bearer {key}"}

        made = httpx.post(f"{server_with_keys.base_url}/v1/agents/", json={}, headers=headers)

        assert _agents(server_with_keys, headers) == 200
        assert made.status_code == 403

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("create", "--name", "x", "--tenant", "Acme"), "tenant: 'Acme' must be 8 to 32 lower-case letters"),
            (("create", "--name", "x", "--role", "root"), "role: 'root' is not one of admin, agent_creator, user."),
            (("create", "--name", "x", "--stage", "prod"), "Say whose data the key opens, with --tenant."),
            (("revoke", "nosuchkey"), "There is no data in "),
            (("list",), "There is no data in "),
            (("list", "--stage", "prod", "--region", "eu-west-1"), "DynamoDB could not be asked: Unable to locate"),
        ],
    )
    def test_what_cannot_be_done_is_one_sentence_and_1(
        self, data: str, arguments: tuple[str, ...], sentence: str
    ) -> None:
        refused = run("keys", *arguments, "--data", data, **NO_AWS)

        assert refused.returncode == 1
        assert refused.stderr.startswith(sentence)
        assert len(refused.stderr.splitlines()) == 1
        assert ".." not in refused.stderr.replace(data, "")

    def test_looking_for_keys_makes_no_data(self, data: str) -> None:
        listed = run("keys", "list", "--data", data)

        assert listed.returncode == 1
        assert listed.stderr.startswith(f"There is no data in {data}.")
        assert not Path(data).exists()

    def test_no_keys_yet_says_how_to_make_one(self, server: LocalServer) -> None:
        listed = run("keys", "list", "--data", str(server.data))
        of_tenant = run("keys", "list", "--tenant", "acmecorp1", "--data", str(server.data))

        assert listed.stdout == "There are no keys. Make one with: agentkeep keys create --name NAME\n"
        assert of_tenant.stdout.startswith("There are no keys of tenant 'acmecorp1'.")

    def test_one_that_is_not_there_cannot_be_revoked(self, server: LocalServer) -> None:
        refused = run("keys", "revoke", "nosuchkey", "--data", str(server.data))

        assert (refused.returncode, refused.stderr) == (1, "Key not found with id='nosuchkey'\n")

    def test_of_no_given_tenant_are_those_of_this_machine(self, data: str) -> None:
        made = run("keys", "create", "--name", "laptop", "--data", data)

        assert "of tenant 'local' with role 'admin'" in made.stdout

    def test_a_server_that_is_gone_without_a_trace_does_not_matter(self, tmp_path: Path) -> None:
        server = LocalServer(tmp_path / "data", None, "--require-keys").start()
        server.kill9()

        made = run("keys", "create", "--name", "me", "--data", str(server.data))

        assert KEY.fullmatch(made.stdout.splitlines()[-1])

    def test_of_a_stage_without_credentials_says_what_to_do(self, tmp_path: Path) -> None:
        env = NO_AWS | {"HOME": str(tmp_path), "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1"}

        refused = run("keys", "list", "--stage", "prod", **env)

        assert refused.returncode == 1
        assert refused.stderr.startswith("DynamoDB could not be asked: Unable to locate credentials.")
        assert "agentkeep doctor" in refused.stderr


class TestGreeting:
    def test_names_models_by_provider_and_where_they_come_from(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
        models = [_model("openai", f"gpt-{number}") for number in range(5)] + [_model("demo", "memory")]

        assert greeting.model_lines(models) == [
            "openai/gpt-0, openai/gpt-1, openai/gpt-2 and 2 more, from https://openai.test (OPENAI_API_KEY)",
            "demo/memory, built in",
        ]

    def test_shows_no_password_of_a_providers_address(self) -> None:
        model = replace(_model("openai", "qwen3"), endpoint="http://bob:pass@gpu.test:11434/v1")

        (line,) = greeting.model_lines([model])

        assert line.startswith("openai/qwen3, from http://gpu.test:11434/v1 (")

    def test_the_first_agent_is_python_that_compiles(self) -> None:
        lines = greeting.first_agent("http://127.0.0.1:8283", "demo/memory", require_keys=True)

        compile("\n".join(lines), "first agent", "exec")
        assert 'api_key="ak_..."' in lines[0]


def _agents(server: LocalServer, headers: Mapping[str, str]) -> int:
    return httpx.get(f"{server.base_url}/v1/agents/", headers=headers).status_code


def _model(provider: str, name: str) -> ModelInfo:
    return ModelInfo(
        f"{provider}/{name}", name, provider, provider, f"https://{provider}.test", "openai", 1000, 100, False, name
    )


def test_is_also_a_script() -> None:
    script = Path(sys.executable).with_name("agentkeep")

    shown = subprocess.run([script, "version"], capture_output=True, text=True, check=True)

    assert shown.stdout == run("version").stdout
