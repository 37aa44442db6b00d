"""A deployed function alone: its unpacked asset and the layers, on a Python that sees nothing else."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from tests.infra.synthesised import Synthesis

REQUIREMENTS = Path(__file__).resolve().parents[2] / "layers/vendor/requirements.txt"
IN_LAMBDA = ("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3")
ENVIRONMENT = {"AGENTKEEP_REQUIRE_KEYS": "1", "AGENTKEEP_STAGE": "dev", "PATH": os.environ["PATH"]}

ONE_EVENT = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from handler import lambda_handler

class Context:
    aws_request_id = "0c2fe2e0-9d5b-4f4d-8a34-000000000001"
    function_name = invoked_function_arn = "agents"
    memory_limit_in_mb = 1024
    function_version = "1"

    def get_remaining_time_in_millis(self):
        return 29_000

try:
    answer = lambda_handler(json.loads(sys.argv[2]), Context())
except Exception as error:  # the border of the process: the test looks at what was raised
    answer = {"raised": str(error)}
print(json.dumps({"answer": answer, "modules": sorted(sys.modules)}))
"""


class Alone:
    """Calls deployed functions, each time in a process of its own.

    The wheels are those of this machine in place of Lambda's; the versions are the same.
    """

    def __init__(self, synthesis: Synthesis, folder: Path) -> None:
        self._synthesis = synthesis
        vendored = [line.split("==")[0] for line in REQUIREMENTS.read_text().split()]
        self._packages = [_linked(folder / "vendor", vendored), _linked(folder / "lambda", list(IN_LAMBDA))]

    def asset(self, function: str) -> Path:
        """The unpacked asset of a function."""
        return self._synthesis.asset(self._synthesis.api.functions()[function]["Code"]["S3Key"])

    @property
    def library(self) -> Path:
        """The unpacked agentkeep layer, which is `/opt` of the function."""
        layers = self._synthesis.api.of_type("AWS::Lambda::LayerVersion")
        (library,) = (layer for name, layer in layers.items() if name.startswith("Library"))
        return self._synthesis.asset(library["Properties"]["Content"]["S3Key"])

    def path(self, function: str) -> list[str]:
        """Where the function's Python looks for modules, before its own standard library."""
        return [str(path) for path in (self.asset(function), self.library / "python", *self._packages)]

    def answer(self, function: str, event: Mapping[str, Any]) -> Any:
        """What the function answers to an event; `{"raised": text}` if it raises."""
        return self._call(function, event)["answer"]

    def modules(self, function: str, event: Mapping[str, Any]) -> set[str]:
        """What the function has imported once it has answered."""
        return set(self._call(function, event)["modules"])

    def _call(self, function: str, event: Mapping[str, Any]) -> Any:
        run = subprocess.run(
            [sys.executable, "-I", "-S", "-c", ONE_EVENT, json.dumps(self.path(function)), json.dumps(event)],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout.splitlines()[-1])


def _linked(folder: Path, packages: list[str]) -> Path:
    """A folder with these packages only: the files that their wheels put into this environment."""
    folder.mkdir()
    for package in packages:
        found = distribution(package)
        for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (folder / name).exists():
                (folder / name).symlink_to(str(found.locate_file(name)))
    return folder
