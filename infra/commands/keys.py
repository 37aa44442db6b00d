"""`agentkeep keys`: API keys of a deployed stage, or of this machine whether its server is running or not."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import typer
from botocore.exceptions import BotoCoreError, ClientError

from agentkeep.errors import AgentKeepError
from agentkeep.tenancy import keys
from agentkeep.tenancy.client import forget_clients
from agentkeep.tenancy.context import LOCAL_TENANT
from infra.commands.store import StoreNotReachedError, local_tables

_WHOLE_KEY: Final = re.compile(r"ak_[a-z0-9]+_([a-z0-9]+)(\..*)?")


def create(tenant: str | None, role: str, name: str, *, stage: str | None, data: Path) -> int:
    """Makes a key and prints it. The exit code: 0, or 1 after a sentence that says why not."""
    if stage and tenant is None:
        typer.echo("Say whose data the key opens, with --tenant.", err=True)
        return 1

    def work() -> None:
        key, text = keys.create(tenant or LOCAL_TENANT, role, name)
        typer.echo(f"Key {key.id} of tenant '{tenant}' with role '{role}'. It is shown only now:\n")
        typer.echo(text)

    return _with_keys(work, stage=stage, data=data)


def listing(tenant: str | None, *, stage: str | None, data: Path) -> int:
    """Prints the keys, one line each."""

    def work() -> None:
        found = keys.listing(tenant)
        if not found:
            typer.echo("There are no keys. Make one with: agentkeep keys create --name NAME")
        for key in found:
            typer.echo(
                f"{key.id}  {key.tenant:<12}  {key.role:<13}  {_day(key.created_at)}  {_state(key):<8}  {key.name}"
            )

    return _with_keys(work, stage=stage, data=data)


def revoke(key: str, *, stage: str | None, data: Path) -> int:
    """Revokes a key, given by its id or whole."""

    def work() -> None:
        match = _WHOLE_KEY.fullmatch(key)
        revoked = keys.revoke(match[1] if match else key)
        typer.echo(f"Key {revoked.id} ({revoked.name}) of tenant '{revoked.tenant}' is revoked.")

    return _with_keys(work, stage=stage, data=data)


def _with_keys(work: Callable[[], None], *, stage: str | None, data: Path) -> int:
    try:
        with _deployed_table(stage) if stage else local_tables(data):
            work()
    except (AgentKeepError, StoreNotReachedError) as error:
        typer.echo(error, err=True)
    except (BotoCoreError, ClientError) as error:
        typer.echo(_why_not(error, stage), err=True)
    else:
        return 0
    return 1


@contextmanager
def _deployed_table(stage: str) -> Iterator[None]:
    """The system table of a stage, by the name that the data stack gives it."""
    os.environ["AGENTKEEP_SYSTEM_TABLE"] = f"agentkeep-{stage}-system"
    forget_clients()
    yield


def _why_not(error: Exception, stage: str | None) -> str:
    if isinstance(error, ClientError) and error.response["Error"]["Code"] == "ResourceNotFoundException":
        return (
            f"There is no stage '{stage}' in this account and region. Deploy it with"
            f" `npx aws-cdk deploy --all -c stage={stage}`, or choose another account or region with AWS_PROFILE and"
            " AWS_REGION."
        )
    return f"DynamoDB could not be asked: {error}. `agentkeep doctor` says what your AWS credentials look like."


def _day(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()


def _state(key: keys.ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "good" if key.is_good else "expired"
