"""`agentkeep keys`: API keys of a deployed stage, or of this machine whether its server is running or not."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import typer
from botocore.exceptions import BotoCoreError, ClientError

from agentkeep.errors import AgentKeepError
from agentkeep.tenancy import keys
from agentkeep.tenancy.client import forget_clients
from agentkeep.tenancy.context import LOCAL_TENANT
from infra.commands.region import deployment_region
from infra.commands.store import StoreNotReachedError, local_tables

_COLUMNS: Final = ("ID", "TENANT", "ROLE", "MADE", "STATE", "NAME")
_WHOLE_KEY: Final = re.compile(r"ak_[a-z0-9]+_([a-z0-9]+)(\..*)?")


@dataclass(frozen=True)
class Place:
    """Where the keys are kept: in a deployed stage, of a region, or in a data directory of this machine."""

    stage: str | None
    region: str | None
    data: Path


def create(tenant: str | None, role: str, name: str, place: Place) -> int:
    """Makes a key and prints it. The exit code: 0, or 1 after a sentence that says why not."""
    if place.stage and tenant is None:
        typer.echo("Say whose data the key opens, with --tenant.", err=True)
        return 1

    def work() -> None:
        key, text = keys.create(tenant or LOCAL_TENANT, role, name)
        typer.echo(f"Key {key.id} of tenant '{key.tenant}' with role '{key.role}'. It is shown only now:\n")
        typer.echo(text)

    return _with_keys(work, place, make=True)


def listing(tenant: str | None, place: Place) -> int:
    """Prints the keys, one line each below a line that names the columns."""

    def work() -> None:
        found = keys.listing(tenant)
        if not found:
            of_tenant = f" of tenant '{tenant}'" if tenant else ""
            typer.echo(f"There are no keys{of_tenant}. Make one with: agentkeep keys create --name NAME")
            return
        rows = [(key.id, key.tenant, key.role, _day(key.created_at), _state(key), key.name) for key in found]
        for line in _table(_COLUMNS, *rows):
            typer.echo(line)

    return _with_keys(work, place)


def revoke(key: str, place: Place) -> int:
    """Revokes a key, given by its id or whole."""

    def work() -> None:
        match = _WHOLE_KEY.fullmatch(key)
        revoked = keys.revoke(match[1] if match else key)
        typer.echo(f"Key {revoked.id} ({revoked.name}) of tenant '{revoked.tenant}' is revoked.")

    return _with_keys(work, place)


def _with_keys(work: Callable[[], None], place: Place, *, make: bool = False) -> int:
    try:
        with _deployed_table(place) if place.stage else local_tables(place.data, make=make):
            work()
    except (AgentKeepError, StoreNotReachedError) as error:
        typer.echo(error, err=True)
    except (BotoCoreError, ClientError) as error:
        typer.echo(_why_not(error, place), err=True)
    else:
        return 0
    return 1


@contextmanager
def _deployed_table(place: Place) -> Iterator[None]:
    """The system table of a stage, by the name that the data stack gives it."""
    os.environ["AGENTKEEP_SYSTEM_TABLE"] = f"agentkeep-{place.stage}-system"
    os.environ["AWS_DEFAULT_REGION"] = place.region or deployment_region()
    forget_clients()
    yield


def _why_not(error: Exception, place: Place) -> str:
    if isinstance(error, ClientError) and error.response["Error"]["Code"] == "ResourceNotFoundException":
        region = os.environ["AWS_DEFAULT_REGION"]
        return (
            f"There is no stage '{place.stage}' in {region} of this account. Deploy it with"
            f" `npx aws-cdk deploy --all -c stage={place.stage} -c region={region}`, or choose another region with"
            " --region and another account with AWS_PROFILE."
        )
    reason = str(error).rstrip(".")
    return f"DynamoDB could not be asked: {reason}. `agentkeep doctor` says what your AWS credentials look like."


def _table(*rows: Sequence[str]) -> Iterator[str]:
    """The rows with their cells below each other; the last cell ends its line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _day(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()


def _state(key: keys.ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "good" if key.is_good else "expired"
