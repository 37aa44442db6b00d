"""S3 on a directory: one file per object, written whole or not at all."""

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import quote

from botocore.response import StreamingBody

from infra.local.aws.service import AwsError, Operation, Parameters

MayUse = Callable[[str], bool]
_OBJECT: Final = "%object"
_EMPTY: Final = "%empty"


class Objects:
    """The objects of all buckets. Keys become paths; a suffix that no encoded key holds tells objects from prefixes.

    A file begins with one line of JSON, its metadata. `may_use` says which keys the caller may touch, as the policy of
    the data role does in AWS.
    """

    def __init__(self, directory: Path, may_use: MayUse) -> None:
        self._directory = directory
        self._may_use = may_use

    @property
    def operations(self) -> dict[str, Operation]:
        """What is served, by AWS's name."""
        return {"PutObject": self._put, "GetObject": self._get}

    def _put(self, parameters: Parameters) -> dict[str, Any]:
        path, body = self._path(parameters), _bytes(parameters.get("Body", b""))
        etag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
        head = {
            "ETag": etag,
            "ContentType": parameters.get("ContentType", "binary/octet-stream"),
            "Metadata": parameters.get("Metadata", {}),
        }
        _write(path, json.dumps(head).encode() + b"\n" + body)
        return {"ETag": etag}

    def _get(self, parameters: Parameters) -> dict[str, Any]:
        path = self._path(parameters)
        with self._opened(path) as file:
            head, body = json.loads(file.readline()), file.read()
        return {
            **head,
            "ContentLength": len(body),
            "LastModified": _modified(path),
            "Body": StreamingBody(io.BytesIO(body), len(body)),
        }

    def _path(self, parameters: Parameters) -> Path:
        self._check(parameters["Key"])
        *prefixes, name = (_encoded(part) for part in parameters["Key"].split("/"))
        return self._directory.joinpath(parameters["Bucket"], *prefixes, name + _OBJECT)

    def _check(self, key: str) -> None:
        if not self._may_use(key):
            raise AwsError("AccessDenied", f"The key '{key}' is not led by the tenant at work.", 403)

    def _opened(self, path: Path) -> BinaryIO:
        try:
            return path.open("rb")
        except FileNotFoundError as error:
            raise AwsError("NoSuchKey", "The specified key does not exist.", 404) from error


def _write(path: Path, content: bytes) -> None:
    """Replaces the file, on disk before it is there: a crash leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix="%writing", delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)
    _sync(path.parent)


def _sync(directory: Path) -> None:
    """Makes the new name of a file outlive a power loss, as what it holds does."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _bytes(body: Any) -> bytes:
    if isinstance(body, str):
        return body.encode()
    return bytes(body) if isinstance(body, bytes | bytearray) else bytes(body.read())


def _encoded(part: str) -> str:
    return quote(part, safe="").replace(".", "%2E") or _EMPTY


def _modified(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
