"""API keys: `ak_<tenant>_<id>.<secret>`. The system table keeps a digest of the secret, which is shown once.

A key names its tenant, because whoever looks it up must not need to know the tenant first. Items: `key#{id}`, and an
index entry that lists the keys of the deployment tenant by tenant, oldest first. A key's use is not written down.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from agentkeep import clock
from agentkeep.errors import InvalidRequestError, NotFoundError, UnauthorizedError
from agentkeep.tenancy.client import system_client
from agentkeep.tenancy.context import Caller, is_tenant_id
from agentkeep.tenancy.roles import ROLES

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_VERSION: Final = 1
_ID_LENGTH: Final = 16
_SECRET_LENGTH: Final = 40
_BATCH: Final = 100
_FORM: Final = re.compile(r"ak_([a-z0-9]{5,32})_([a-z0-9]{8,40})\.([A-Za-z0-9]{20,80})")
_REFUSED: Final = "The API key is not known, was revoked or has expired. Create one with `agentkeep keys create`."


@dataclass(frozen=True)
class ApiKey:
    """A key without its secret. Times are milliseconds since 1970; None means never."""

    id: str
    tenant: str
    role: str
    name: str
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > clock.epoch_ms())

    @property
    def caller(self) -> Caller:
        """Who a request with this key comes from."""
        return Caller(self.tenant, f"key-{self.id}", self.role, self.id, self.limits)


def create(
    tenant: str,
    role: str,
    name: str,
    *,
    limits: Mapping[str, int] | None = None,
    expires_at: int | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its full text, which cannot be shown again. Raises InvalidRequestError for an unknown role."""
    if not is_tenant_id(tenant):
        raise InvalidRequestError("tenant", f"'{tenant}' must be 8 to 32 lower-case letters and digits, or 'local'.")
    if role not in ROLES:
        raise InvalidRequestError("role", f"'{role}' is not one of {', '.join(ROLES)}.")
    key_id = _random(string.ascii_lowercase + string.digits, _ID_LENGTH)
    secret = _random(string.ascii_letters + string.digits, _SECRET_LENGTH)
    key = ApiKey(key_id, tenant, role, name, clock.epoch_ms(), expires_at, limits=limits or {})
    system_client("dynamodb").put_item(TableName=_table(), Item=_to_item(key, secret))
    return key, f"ak_{tenant}_{key_id}.{secret}"


def verify(text: str) -> ApiKey:
    """The key that `text` is. Raises UnauthorizedError, always with the same words, for any other text."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise UnauthorizedError(_REFUSED)
    tenant, key_id, secret = match.groups()
    answer = system_client("dynamodb").get_item(TableName=_table(), Key=_key(key_id), ConsistentRead=True)
    item = answer.get("Item")
    if item is None or not hmac.compare_digest(_digest(secret), _text(item, "digest")):
        raise UnauthorizedError(_REFUSED)
    key = _from_item(item)
    if key.tenant != tenant or not key.is_good:
        raise UnauthorizedError(_REFUSED)
    return key


def listing(tenant: str | None = None) -> list[ApiKey]:
    """The keys of a tenant, or of the deployment: by tenant, oldest first, revoked ones included.

    Read through an index: a key made a moment ago may be missing.
    """
    ids = list(_ids(tenant))
    found = {key.id: key for start in range(0, len(ids), _BATCH) for key in _fetch(ids[start : start + _BATCH])}
    return [found[key_id] for key_id in ids if key_id in found]


def revoke(key_id: str) -> ApiKey:
    """Makes the key useless, once the authorizer's answer for it is forgotten.

    The gateway keeps that for `authorizer_cache_seconds` of the deployment's settings, 60 unless set otherwise.
    """
    client = system_client("dynamodb")
    try:
        answer = client.update_item(
            TableName=_table(),
            Key=_key(key_id),
            UpdateExpression="SET revoked_at = if_not_exists(revoked_at, :now)",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeValues={":now": {"N": str(clock.epoch_ms())}},
            ReturnValues="ALL_NEW",
        )
    except client.exceptions.ConditionalCheckFailedException as error:
        raise NotFoundError("Key", key_id) from error
    return _from_item(answer["Attributes"])


def _ids(tenant: str | None) -> Iterator[str]:
    condition, values = "gsi1pk = :all", {":all": {"S": "keys"}}
    if tenant is not None:
        condition, values = condition + " AND begins_with(gsi1sk, :tenant)", values | {":tenant": {"S": f"{tenant}#"}}
    pages = system_client("dynamodb").get_paginator("query").paginate(
        TableName=_table(), IndexName="gsi1", KeyConditionExpression=condition, ExpressionAttributeValues=values
    )  # fmt: skip
    for page in pages:
        yield from (_text(item, "pk").removeprefix("key#") for item in page["Items"])


def _fetch(ids: Sequence[str]) -> Iterator[ApiKey]:
    request: Any = {_table(): {"Keys": [_key(key_id) for key_id in ids], "ConsistentRead": True}}
    while request:
        answer = system_client("dynamodb").batch_get_item(RequestItems=request)
        yield from map(_from_item, answer["Responses"].get(_table(), []))
        request = answer.get("UnprocessedKeys")


def _to_item(key: ApiKey, secret: str) -> "dict[str, AttributeValueTypeDef]":
    item: dict[str, AttributeValueTypeDef] = {
        **_key(key.id),
        "v": {"N": str(_VERSION)},
        "tenant": {"S": key.tenant},
        "role": {"S": key.role},
        "name": {"S": key.name},
        "digest": {"S": _digest(secret)},
        "limits": {"S": json.dumps(dict(key.limits))},
        "created_at": {"N": str(key.created_at)},
        "gsi1pk": {"S": "keys"},
        "gsi1sk": {"S": f"{key.tenant}#{key.created_at:013d}#{key.id}"},
    }
    if key.expires_at is not None:
        item["good_until"] = {"N": str(key.expires_at)}
    return item


def _from_item(item: "Mapping[str, AttributeValueTypeDef]") -> ApiKey:
    return ApiKey(
        id=_text(item, "pk").removeprefix("key#"),
        tenant=_text(item, "tenant"),
        role=_text(item, "role"),
        name=_text(item, "name"),
        created_at=int(item["created_at"]["N"]),
        expires_at=_time(item, "good_until"),
        revoked_at=_time(item, "revoked_at"),
        limits=json.loads(_text(item, "limits")),
    )


def _text(item: "Mapping[str, AttributeValueTypeDef]", name: str) -> str:
    return item[name]["S"]


def _time(item: "Mapping[str, AttributeValueTypeDef]", name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None


def _key(key_id: str) -> "dict[str, AttributeValueTypeDef]":
    return {"pk": {"S": f"key#{key_id}"}, "sk": {"S": "key"}}


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _random(alphabet: str, length: int) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))


def _table() -> str:
    return os.environ["AGENTKEEP_SYSTEM_TABLE"]
