"""The target of `target.py` as the CDK names it."""

from typing import Final

from aws_cdk import aws_lambda as lambda_

from infra.constructs.target import MACHINE, PYTHON

RUNTIME: Final[lambda_.Runtime] = getattr(lambda_.Runtime, f"PYTHON_{PYTHON.replace('.', '_')}")
ARCHITECTURE: Final[lambda_.Architecture] = lambda_.Architecture.custom(MACHINE)
