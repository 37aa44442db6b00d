"""The code that is shipped: our folders as they are, and the layer of third-party packages."""

from pathlib import Path
from typing import Any, Final

import jsii
from aws_cdk import BundlingOptions, DockerImage, ILocalBundling, RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.constructs.runtime import ARCHITECTURE, RUNTIME
from infra.constructs.target import MACHINE, PYTHON, WHEELS
from infra.constructs.wheels import install

NOT_SHIPPED: Final = ["**/__pycache__", "**/__pycache__/**", "**/*.egg-info", "**/*.egg-info/**", "**/.DS_Store"]
"""Left out of every asset: a stray one of these would change its hash, and so deploy what did not change."""


class Layer(lambda_.LayerVersion):
    """A layer from a folder laid out as `/opt`. It goes with its stack; functions keep the versions they run on."""

    def __init__(self, scope: Construct, construct_id: str, *, code: lambda_.Code, description: str) -> None:
        super().__init__(
            scope,
            construct_id,
            code=code,
            description=description,
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
            removal_policy=RemovalPolicy.DESTROY,
        )


def folder_code(folder: Path) -> lambda_.Code:
    """A folder of ours as it is: the library, which is laid out as the layer, or one of the functions."""
    return lambda_.Code.from_asset(str(folder), exclude=NOT_SHIPPED)


def vendor_code(folder: Path) -> lambda_.Code:
    """The wheels of `folder/requirements.txt`. Python and platform are part of the hash, so changing them rebuilds."""
    return lambda_.Code.from_asset(
        str(folder),
        exclude=["*", "!requirements.txt"],
        bundling=BundlingOptions(
            image=DockerImage.from_registry("unused"),
            platform=f"linux/{MACHINE}",
            environment={"PYTHON": PYTHON, "WHEELS": WHEELS},
            local=_Wheels(folder / "requirements.txt"),
        ),
    )


@jsii.implements(ILocalBundling)
class _Wheels:
    """Stands in for Docker, so it succeeds or raises. jsii passes the options by position, whatever its types say."""

    def __init__(self, requirements: Path) -> None:
        self._requirements = requirements

    def try_bundle(self, output_dir: str, *_options: Any, **_by_name: Any) -> bool:
        install(self._requirements, Path(output_dir) / "python")
        return True
