"""Says who a request comes from: the REQUEST authorizer of the REST API, for API keys sent as a bearer token."""

import json
import logging
import os
from collections.abc import Mapping
from typing import Any, Final

from agentkeep.errors import UnauthorizedError
from agentkeep.tenancy import keys
from agentkeep.tenancy.context import LOCAL_TENANT, Caller

_log: Final = logging.getLogger(__name__)
_ANYONE: Final = Caller(tenant=LOCAL_TENANT, principal=LOCAL_TENANT, role="admin")


def lambda_handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """The policy for the caller, and `{tenant, principal, role, key_id, limits}` for the functions (`limits` as JSON).

    Raises `Exception("Unauthorized")`: API Gateway turns that text into its 401 (guide, "Lambda authorizers").
    """
    if os.environ.get("AGENTKEEP_REQUIRE_KEYS", "1") == "0":
        return _allow(_ANYONE, event["methodArn"])
    try:
        caller = keys.verify(_token(event)).caller
    except UnauthorizedError as error:
        _log.info("A request was refused: %s", error.message)
        raise Exception("Unauthorized") from error
    return _allow(caller, event["methodArn"])


def _token(event: Mapping[str, Any]) -> str:
    headers: Mapping[str, str] = event.get("headers") or {}
    value = next((text for name, text in headers.items() if name.lower() == "authorization"), "").strip()
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else value


def _allow(caller: Caller, method_arn: str) -> dict[str, Any]:
    return {
        "principalId": caller.principal,
        "policyDocument": {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": _whole_stage(method_arn)}],
        },
        "context": {
            "tenant": caller.tenant,
            "principal": caller.principal,
            "role": caller.role,
            "key_id": caller.key_id or "",
            "limits": json.dumps(dict(caller.limits)),
        },
    }


def _whole_stage(method_arn: str) -> str:
    """`arn:...:api/stage/*`: the answer is cached per key, so it must fit every route, not only the one asked for."""
    api, stage, *_ = method_arn.split("/")
    return f"{api}/{stage}/*"
