"""The AWS clients of the library, one per service: bound to the tenant at work, or to the system's own rights.

Plain botocore, not boto3, whose import costs 0.1 s more for resources and transfer managers that nothing here uses.
"""

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, overload

if TYPE_CHECKING:
    from botocore.session import Session
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_kms.client import KMSClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

Scope = Literal["tenant", "system"]

_lock: Final = threading.RLock()
_sessions: Final[dict[Scope, "Session"]] = {}
_clients: Final[dict[tuple[Scope, str], Any]] = {}


@overload
def client(service: Literal["dynamodb"]) -> "DynamoDBClient": ...
@overload
def client(service: Literal["s3"]) -> "S3Client": ...
@overload
def client(service: Literal["kms"]) -> "KMSClient": ...
def client(service: str) -> Any:
    """The client for tenant data. Each request is signed with the credentials of the tenant at work.

    Without AGENTKEEP_DATA_ROLE_ARN (one machine, unit tests) it signs like any other, and the local engine compares
    the keys with the tenant instead.
    """
    return _client("tenant", service)


@overload
def system_client(service: Literal["dynamodb"]) -> "DynamoDBClient": ...
@overload
def system_client(service: Literal["secretsmanager"]) -> "SecretsManagerClient": ...
def system_client(service: str) -> Any:
    """The client for what belongs to the deployment (system table, secrets), with the function's own rights."""
    return _client("system", service)


def adopt(sessions: "Mapping[Scope, Session]") -> None:
    """Makes all clients from these sessions from now on: so one machine puts its own services behind them."""
    with _lock:
        _clients.clear()
        _sessions.clear()
        _sessions.update(sessions)


def forget_clients() -> None:
    """Drops clients and sessions, so that the next use reads the environment again."""
    adopt({})


def _client(scope: Scope, service: str) -> Any:
    found = _clients.get((scope, service))
    return found if found is not None else _new_client(scope, service)


def _new_client(scope: Scope, service: str) -> Any:
    from botocore.config import Config

    settings: Config = Config(
        connect_timeout=2,
        read_timeout=10,
        retries={"mode": "standard", "total_max_attempts": 3},
        max_pool_connections=50,
        tcp_keepalive=True,
    )
    with _lock:
        if (scope, service) not in _clients:
            _clients[scope, service] = _session(scope).create_client(service, config=settings)
        return _clients[scope, service]


def _session(scope: Scope) -> "Session":
    if scope not in _sessions:
        _sessions[scope] = _new_session(scope)
    return _sessions[scope]


def _new_session(scope: Scope) -> "Session":
    from botocore.session import Session

    created = Session()
    role_arn = os.environ.get("AGENTKEEP_DATA_ROLE_ARN")
    if scope == "tenant" and role_arn:
        created.register_component("credential_provider", _TenantProvider(role_arn))
    return created


class _TenantProvider:
    """Hands botocore our credentials in place of its chain of providers."""

    def __init__(self, role_arn: str) -> None:
        self._role_arn = role_arn

    def load_credentials(self) -> Any:
        from agentkeep.tenancy.credentials import TenantCredentials, assuming

        return TenantCredentials(assuming(self._role_arn, _client("system", "sts")))
