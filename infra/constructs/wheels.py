"""Third-party packages as a layer holds them: wheels for a platform, put into a folder by uv, without Docker."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from infra.constructs.target import PYTHON, WHEELS

_NEVER_IMPORTED: Final = ("bin", "*/tests", "*/test", ".lock")


class WheelsError(Exception):
    """A package has no wheel for the platform, or the index could not be reached."""

    def __init__(self, requirements: Path, python: str, platform: str, reason: str) -> None:
        super().__init__(f"uv could not install {requirements} for Python {python} on {platform}: {reason.strip()}")


class UvMissingError(Exception):
    """The installer itself is not there."""

    def __init__(self) -> None:
        super().__init__("The vendor layer is installed by uv, which is not on the PATH. `pip install uv` brings it.")


def install(requirements: Path, folder: Path, python: str = PYTHON, platform: str = WHEELS) -> None:
    """Put what the pinned `requirements` file lists into `folder`, as wheels for that Python and platform only.

    Raises WheelsError with uv's own reason, or UvMissingError.
    """
    run = subprocess.run(
        [
            *(_uv(), "pip", "install", "--quiet", "--target", str(folder), "--requirement", str(requirements)),
            *("--no-deps", "--only-binary", ":all:", "--link-mode", "copy"),
            *("--python-version", python, "--python-platform", platform),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise WheelsError(requirements, python, platform, run.stderr)
    _prune(folder)


def _uv() -> str:
    """uv itself says where it is when it runs us; otherwise it is looked for on the PATH."""
    found = os.environ.get("UV") or shutil.which("uv")
    if found is None:
        raise UvMissingError
    return found


def _prune(folder: Path) -> None:
    for pattern in _NEVER_IMPORTED:
        for found in list(folder.glob(pattern)):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
