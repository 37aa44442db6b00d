"""Compares an export of the lock file (standard input) with the pins of pyproject: every package must be pinned.

Run by CI: `uv export ... | python tests/infra/pins.py`. Exit code 1 with a line for each package that is not.
"""

import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def unpinned(export: str, pins: set[str]) -> list[str]:
    """The packages of the export that the pins do not name with the same version."""
    exported = [line.strip() for line in export.splitlines() if "==" in line]
    return [package for package in exported if package not in pins]


def main() -> int:
    """The exit code."""
    settings = tomllib.loads(PYPROJECT.read_text())["tool"]["uv"]
    missing = unpinned(sys.stdin.read(), set(settings["constraint-dependencies"]))
    for package in missing:
        sys.stderr.write(f"{package} is not in [tool.uv] constraint-dependencies\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
