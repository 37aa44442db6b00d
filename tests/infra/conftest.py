"""The stacks, synthesised once. Without Node the tests on them are skipped; in CI they fail."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.infra.synthesised import Synthesis, Template

NO_BUNDLING: dict[str, Any] = {"aws:cdk:bundling-stacks": []}
"""Leaves the vendor layer unbuilt, which would need the network. It changes nothing else in the templates."""


@pytest.fixture(scope="session")
def node() -> None:
    """The CDK runs on Node. A developer without it misses these tests; CI does not."""
    if shutil.which("node") is None:
        if os.environ.get("CI"):
            pytest.fail("Node is not installed, and CI has to synthesise the templates.")
        pytest.skip("Node is not installed, so the CloudFormation templates cannot be synthesised.")


@pytest.fixture(scope="session")
def clean_environment() -> Iterator[pytest.MonkeyPatch]:
    """An environment that says nothing about a deployment."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("AGENTKEEP_", "AWS_", "CDK_")):
                patch.delenv(name)
        yield patch


class SynthesiseWith(Protocol):
    """Synthesises with settings as the command line gives them."""

    def __call__(self, **context: str) -> Synthesis: ...


@pytest.fixture(scope="session")
def synthesise_with(
    node: None, clean_environment: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> SynthesiseWith:
    """For tests of single settings."""

    def synthesise(**context: str) -> Synthesis:
        return _synthesise(tmp_path_factory.mktemp("cdk"), context)

    return synthesise


@pytest.fixture(scope="session")
def synthesis(node: None, clean_environment: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """The stage `dev` with default settings."""
    return _synthesise(tmp_path_factory.mktemp("cdk"), {})


def _synthesise(folder: Path, context: Mapping[str, str]) -> Synthesis:
    from infra.app import build, new_app

    app = new_app(outdir=str(folder), **NO_BUNDLING, **context)
    data, api = build(app)
    app.synth()
    return Synthesis(app, folder, *(Template((folder / stack.template_file).read_text()) for stack in (data, api)))
