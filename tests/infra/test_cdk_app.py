"""`python infra/app.py` as a user runs it, and what must work without the CDK."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.infra.conftest import NO_BUNDLING

ROOT = Path(__file__).resolve().parents[2]


def synthesise(folder: Path, **context: Any) -> "subprocess.CompletedProcess[str]":
    """Runs the script in another folder, where there are neither credentials nor a Docker to reach."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "DOCKER_HOST": "unix:///nowhere",
        "CDK_OUTDIR": str(folder / "out"),
        "CDK_CONTEXT_JSON": json.dumps({**NO_BUNDLING, **context}),
    }
    return subprocess.run(
        [sys.executable, str(ROOT / "infra/app.py")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_script_writes_both_stacks_from_any_folder_without_credentials_or_docker(node: None, tmp_path: Path) -> None:
    run = synthesise(tmp_path, stage="blue")

    assert run.returncode == 0, run.stderr
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    stacks = [
        each["properties"] for each in manifest["artifacts"].values() if each["type"] == "aws:cloudformation:stack"
    ]
    assert [stack["stackName"] for stack in stacks] == ["agentkeep-blue-data", "agentkeep-blue-api"]


def test_setting_that_does_not_fit_ends_the_script_with_its_name_and_no_traceback(node: None, tmp_path: Path) -> None:
    run = synthesise(tmp_path, stage="Blue Stage")

    assert run.returncode == 1
    assert "stage" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "out/manifest.json").exists()


def test_cdk_json_starts_the_same_script_through_uv() -> None:
    configuration = json.loads((ROOT / "cdk.json").read_text())

    assert configuration["app"].startswith("uv run ")
    assert configuration["app"].endswith(" python infra/app.py")
    assert configuration["context"]["@aws-cdk/core:validateAgainstDefaultRules"] is True


WITHOUT_THE_CDK = """
import importlib, sys
for name in ("aws_cdk", "constructs", "jsii", "cdk_nag"):
    sys.modules[name] = None
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_local_server_and_command_line_import_without_the_cdk() -> None:
    ours = {*ROOT.glob("infra/constructs/*.py"), *ROOT.glob("infra/stacks/*.py"), ROOT / "infra/app.py"}
    files = [file for file in ROOT.glob("infra/**/*.py") if file not in ours and file.name != "__main__.py"]
    modules = sorted(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files)

    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_CDK, *modules], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("folder", ["layers/agentkeep/python", "functions"])
def test_what_is_shipped_imports_nothing_from_infra(folder: str) -> None:
    sources = list((ROOT / folder).rglob("*.py"))

    assert sources
    for source in sources:
        lines = source.read_text().splitlines()
        assert not [line for line in lines if line.lstrip().startswith(("from infra", "import infra"))], source
