"""The body of a record inside its item, or in S3 when it is too large for one (claim check).

A claim is content-addressed under the tenant's prefix and written before the item that names it, so a crash between
the two leaves an object nobody reads, never an item without its body.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from botocore.exceptions import ClientError

from agentkeep.errors import AgentKeepError
from agentkeep.store.content import Record
from agentkeep.store.database import UNANSWERED, Item, StoreUnavailableError
from agentkeep.tenancy.client import client
from agentkeep.tenancy.context import current_tenant

VERSION: Final = 1
INLINE_BYTES: Final = 128 * 1024
"""Largest body kept in the item: 25 of them fit the 4 MB of a transaction, one is far from an item's 400 KB."""

R = TypeVar("R", bound=Record)


class NewerRecordError(AgentKeepError):
    """The item was written by a release that this one cannot read."""

    status = 503
    code = "NEWER_RECORD"

    def __init__(self, version: int) -> None:
        super().__init__(
            f"This record has version {version}; this release reads up to {VERSION + 1}. Upgrade AgentKeep."
        )


def pack(record: Record, inline: int = INLINE_BYTES) -> Item:
    """The attributes that hold a record: `v`, and `data`, or `claim` for one of more than `inline` bytes."""
    data = record.model_dump_json(exclude_defaults=False)
    if len(data) * 4 <= inline or len(data.encode()) <= inline:
        return {"v": VERSION, "data": data}
    return {"v": VERSION, "claim": _put_claim(data.encode())}


def unpack(item: Item, model: type[R]) -> R:
    """The record an item holds. Reads the version before and after this one, keeping attributes it does not know."""
    if item["v"] > VERSION + 1:
        raise NewerRecordError(item["v"])
    return model.model_validate_json(item["data"] if "data" in item else _get_claim(item["claim"]))


def _put_claim(body: bytes) -> str:
    name = f"{current_tenant.get()}/{hashlib.sha256(body).hexdigest()}"
    with _available("put_object"):
        client("s3").put_object(Bucket=os.environ["AGENTKEEP_BUCKET"], Key=name, Body=body)
    return name


def _get_claim(name: str) -> bytes:
    with _available("get_object"):
        found = client("s3").get_object(Bucket=os.environ["AGENTKEEP_BUCKET"], Key=name)
        body: bytes = found["Body"].read()
    return body


@contextmanager
def _available(operation: str) -> Iterator[None]:
    """Tells an S3 that is not there just now, after botocore's own retries, from a mistake of ours."""
    try:
        yield
    except UNANSWERED as error:
        raise StoreUnavailableError(operation) from error
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] < 500:
            raise
        raise StoreUnavailableError(operation) from error
