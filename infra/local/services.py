"""What stands in for AWS on one machine, put behind the clients of the library."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from botocore.session import Session

from agentkeep.tenancy.client import Scope, adopt, forget_clients
from agentkeep.tenancy.context import current_tenant
from infra.local.aws.kms import DamagedKeyError, Keys
from infra.local.aws.s3 import Objects
from infra.local.aws.secretsmanager import Secrets
from infra.local.aws.service import serve
from infra.local.data_directory import DataDirectory, StartError
from infra.local.dynamodb.engine import Engine, create_tables
from infra.local.dynamodb.errors import NewerDataFormat, UnreadableData
from infra.local.dynamodb.hook import install
from infra.local.environment import table_name
from infra.local.weather import CALM, Weather

_REGION: Final = "us-east-1"
_OWN_SETTINGS: Final = {
    "profile": (None, None, None, None),
    "region": (None, None, _REGION, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}
"""In place of the user's AWS configuration: nothing is sent to AWS, and a broken profile must not stop the server."""

NOT_OPENED: Final = (StartError, NewerDataFormat, UnreadableData, DamagedKeyError)
"""Why a data directory cannot be opened, each with a sentence for the user; one that is in use is another matter."""


@contextmanager
def services(directory: DataDirectory, *, fast: bool = False, weather: Weather = CALM) -> Iterator[Engine]:
    """Opens the data directory and leads all clients of the library to it, until the end of the block.

    Raises one of NOT_OPENED, or DataDirectoryLocked while another process has it open.
    """
    directory.create()
    with Engine(directory.store, fast=fast) as engine:
        create_tables(engine, table_name)
        engine.weather = weather
        adopt(_sessions(directory, engine))
        try:
            yield engine
        finally:
            forget_clients()


def _sessions(directory: DataDirectory, engine: Engine) -> dict[Scope, Session]:
    """One session with the rights of the tenant at work, and one with those of the deployment, as in AWS."""
    tenant, system = new_session(), new_session()
    install(engine, tenant, "tenant")
    serve(tenant, "s3", Objects(directory.objects, _is_led_by_tenant).operations)
    serve(tenant, "kms", Keys(directory.key, _names_tenant).operations)
    install(engine, system, "system")
    serve(system, "kms", Keys(directory.key, lambda context: True).operations)
    serve(system, "secrets-manager", Secrets(directory.secrets).operations)
    return {"tenant": tenant, "system": system}


def new_session() -> Session:
    """A session that knows nothing of the user's AWS configuration."""
    session = Session(session_vars=_OWN_SETTINGS)
    session.set_credentials("local", "local")
    return session


def _is_led_by_tenant(key: str) -> bool:
    tenant = current_tenant.get(None)
    return tenant is not None and key.startswith(f"{tenant}/")


def _names_tenant(context: Mapping[str, str]) -> bool:
    tenant = current_tenant.get(None)
    return tenant is not None and context.get("tenant") == tenant
