"""The third-party packages that are shipped: which, which versions, for which platform, how large."""

import ast
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.tags import compatible_tags, cpython_tags, parse_tag
from packaging.utils import canonicalize_name

from infra.constructs.target import PYTHON
from infra.constructs.wheels import UvMissingError, WheelsError, install

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "layers/vendor"
LIBRARY = ROOT / "layers/agentkeep"
TARGET = {
    "python_version": PYTHON,
    "python_full_version": f"{PYTHON}.0",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "aarch64",
    "os_name": "posix",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "extra": "",
}
IN_LAMBDA = {"boto3", "botocore"}
"""What Lambda's Python brings itself. With it come packages that pin others; shipping those would shadow its own."""

DATA_ONLY = {"tzdata"}
"""Read by the standard library (zoneinfo), because Lambda's Linux holds no time zones."""


def pinned() -> dict[str, str]:
    lines = (VENDOR / "requirements.txt").read_text().split()
    return dict(line.split("==") for line in lines)


def wanted() -> list[str]:
    return (VENDOR / "requirements.in").read_text().split()


def closure(names: list[str]) -> Iterator[str]:
    """The packages and what they need on the target, by canonical name."""
    seen: set[str] = set()
    while names:
        name = canonicalize_name(names.pop())
        if name in seen:
            continue
        seen.add(name)
        yield name
        needed = map(Requirement, distribution(name).requires or [])
        names.extend(each.name for each in needed if each.marker is None or each.marker.evaluate(TARGET))


def test_requirements_are_what_is_wanted_and_what_that_needs_as_installed_here() -> None:
    """Made by `uv pip compile`; `infra/README.md` has the command."""
    assert pinned() == {name: distribution(name).version for name in closure(wanted())}


def test_requirements_are_the_versions_that_pyproject_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    constraints = dict(
        constraint.split(";")[0].strip().split("==") for constraint in project["tool"]["uv"]["constraint-dependencies"]
    )
    versions = {canonicalize_name(name): version for name, version in constraints.items()}

    assert {name: versions.get(canonicalize_name(name)) for name in pinned()} == pinned()


def test_lambdas_own_packages_are_not_shipped() -> None:
    assert not IN_LAMBDA & set(pinned())
    assert "python-dateutil" not in pinned(), "botocore wants it below 3, and the layer would come before Lambda's own"


def imported(folder: Path) -> set[str]:
    """The top-level modules that the sources import, other than for type checking."""
    return {name for source in folder.rglob("*.py") for name in _imports(ast.parse(source.read_text()))}


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".")[0] for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module.split(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


def test_what_is_imported_is_shipped_or_in_lambda_and_the_other_way_round() -> None:
    modules = imported(LIBRARY) | imported(ROOT / "functions")
    foreign = modules - sys.stdlib_module_names - {"agentkeep"}
    packages = {canonicalize_name(packages_distributions()[module][0]) for module in foreign}

    assert packages - IN_LAMBDA - set(pinned()) == set()
    assert set(wanted()) - packages == DATA_ONLY


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer as it is deployed. CI fetches the wheels; elsewhere they have to be in uv's cache already."""
    folder = tmp_path_factory.mktemp("vendor")
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("CI"):
            patch.setenv("UV_OFFLINE", "1")
        try:
            install(VENDOR / "requirements.txt", folder)
        except (WheelsError, UvMissingError) as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"These wheels are only downloaded with CI set, or by `python infra/app.py` once. {error}")
    return folder


def test_every_wheel_is_for_the_target(layer: Path) -> None:
    version = tuple(map(int, PYTHON.split(".")))
    platforms = [f"manylinux_2_{minor}_aarch64" for minor in range(34, 16, -1)] + ["manylinux2014_aarch64"]
    fitting = {*cpython_tags(version, platforms=platforms), *compatible_tags(version, platforms=platforms)}

    wheels = list(layer.glob("*.dist-info/WHEEL"))
    assert len(wheels) == len(pinned())
    for wheel in wheels:
        tags = {tag for line in re.findall(r"^Tag: (.+)$", wheel.read_text(), re.M) for tag in parse_tag(line)}
        assert tags & fitting, f"{wheel.parent.name} is for {sorted(map(str, tags))}"


def test_every_compiled_module_is_for_the_target(layer: Path) -> None:
    compiled = [path.name for path in layer.rglob("*.so")]

    assert compiled
    assert not [
        name
        for name in compiled
        if not name.endswith((f"cpython-{PYTHON.replace('.', '')}-aarch64-linux-gnu.so", ".abi3.so"))
    ]


def test_layers_together_stay_below_60_megabytes(layer: Path) -> None:
    def size(folder: Path) -> int:
        files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return sum(path.stat().st_size for path in files)

    assert size(layer) + size(LIBRARY) < 60_000_000


def test_layer_holds_no_tests_and_no_scripts(layer: Path) -> None:
    assert not [path for path in layer.iterdir() if path.name in ("bin", "tests", "test")]
    assert not list(layer.glob("*/tests"))
    assert not list(layer.rglob("__pycache__"))
