"""The exec wrapper that starts our Runtime API loop in place of the managed runtime's."""

import os
import subprocess
from pathlib import Path

from tests.infra.synthesised import Synthesis

BOOTSTRAP = Path(__file__).resolve().parents[2] / "layers/agentkeep/bootstrap"
SHOW = '#!/bin/sh\necho "$PYTHONPATH"\nfor each in "$@"; do echo "$each"; done\n'


def test_wrapper_keeps_the_interpreter_and_replaces_what_it_runs(tmp_path: Path) -> None:
    interpreter = tmp_path / "python3.14"
    interpreter.write_text(SHOW)
    interpreter.chmod(0o755)

    run = subprocess.run(
        [str(BOOTSTRAP), str(interpreter), "/var/runtime/bootstrap.py"],
        env={"PATH": os.environ["PATH"], "LAMBDA_TASK_ROOT": "/var/task", "PYTHONPATH": "/given"},
        capture_output=True,
        text=True,
        check=True,
    )

    path, *arguments = run.stdout.splitlines()
    assert path == "/var/task:/opt/python:/var/runtime:/given"
    assert arguments == ["-m", "agentkeep.api.runtime"]


def test_wrapper_is_executable_where_the_function_looks_for_it(synthesis: Synthesis) -> None:
    (library,) = (name for name in synthesis.api.of_type("AWS::Lambda::LayerVersion") if name.startswith("Library"))
    asset = synthesis.asset(synthesis.api.resources[library]["Properties"]["Content"]["S3Key"])

    wrapper = synthesis.api.functions()["messages"]["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"]
    assert os.access(asset / Path(wrapper).relative_to("/opt"), os.X_OK)
