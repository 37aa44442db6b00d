"""The environment variables of the functions on one machine, the same names as in AWS."""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from infra.tables import TABLES

STAGE: Final = "local"
BUCKET: Final = "agentkeep-local"
_ABSENT: Final = ("AGENTKEEP_DATA_ROLE_ARN", "AGENTKEEP_PROVIDERS_SECRET")


def table_name(name: str) -> str:
    """What a table of `infra.tables` is called here, as the data stack would call it."""
    return f"agentkeep-{STAGE}-{name}"


def function_environment(*, require_keys: bool, allow_private_urls: bool = False) -> dict[str, str]:
    """The variables, with an epoch of its own for each start: by it a server knows what the one before left behind."""
    return {
        "AGENTKEEP_STAGE": STAGE,
        **{table.environment: table_name(table.name) for table in TABLES},
        "AGENTKEEP_BUCKET": BUCKET,
        "AGENTKEEP_KMS_KEY_ID": f"alias/agentkeep-{STAGE}",
        "AGENTKEEP_REQUIRE_KEYS": str(int(require_keys)),
        "AGENTKEEP_ALLOW_PRIVATE_URLS": str(int(allow_private_urls)),
        "AGENTKEEP_PROCESS_EPOCH": secrets.token_hex(8),
    }


@contextmanager
def applied(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets the variables for the time inside, and leaves out those that only exist in AWS."""
    before = {name: os.environ.get(name) for name in (*variables, *_ABSENT)}
    for name in _ABSENT:
        os.environ.pop(name, None)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
