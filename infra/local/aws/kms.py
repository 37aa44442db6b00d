"""KMS with one key in a file: encryption bound to its context."""

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from infra.local.aws.service import AwsError, Operation, Parameters

MayUse = Callable[[Mapping[str, str]], bool]
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_VERSION: Final = b"\x01"


class DamagedKeyError(ValueError):
    """The key file does not hold a key."""

    def __init__(self, file: Path, size: int) -> None:
        super().__init__(
            f"{file} is damaged: it holds {size} bytes instead of {_KEY_BYTES}. Put the file of a backup in its place;"
            " without it the stored secrets are lost."
        )


class Keys:
    """Any key id works and stands for a key of its own, derived from the one in the file, which only the owner reads.

    `may_use` says which encryption contexts the caller may use, as the policy of the data role does in AWS.
    """

    def __init__(self, file: Path, may_use: MayUse) -> None:
        self._master = _load(file)
        self._may_use = may_use

    @property
    def operations(self) -> dict[str, Operation]:
        """What is served, by AWS's name."""
        return {
            "Encrypt": self._encrypt,
            "Decrypt": self._decrypt,
        }

    def _encrypt(self, parameters: Parameters) -> dict[str, Any]:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher(parameters).encrypt(nonce, parameters["Plaintext"], self._context(parameters))
        return {"CiphertextBlob": _VERSION + nonce + sealed, "KeyId": parameters["KeyId"]}

    def _decrypt(self, parameters: Parameters) -> dict[str, Any]:
        from cryptography.exceptions import InvalidTag

        blob, context = parameters["CiphertextBlob"], self._context(parameters)
        nonce, sealed = blob[1 : 1 + _NONCE_BYTES], blob[1 + _NONCE_BYTES :]
        try:
            plaintext = self._cipher(parameters).decrypt(nonce, sealed, context)
        except (InvalidTag, ValueError) as error:
            raise AwsError("InvalidCiphertextException", "The ciphertext does not fit the key and context.") from error
        return {"Plaintext": plaintext, "KeyId": parameters["KeyId"]}

    def _cipher(self, parameters: Parameters) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._derived(parameters))

    def _derived(self, parameters: Parameters) -> bytes:
        return hmac.new(self._master, f"encrypt:{parameters['KeyId']}".encode(), hashlib.sha256).digest()

    def _context(self, parameters: Parameters) -> bytes:
        context = parameters.get("EncryptionContext", {})
        if not self._may_use(context):
            raise AwsError("AccessDeniedException", "The encryption context does not name the tenant at work.")
        return json.dumps(context, sort_keys=True).encode()


def _load(file: Path) -> bytes:
    """The key in the file, which is made at its first use and never replaced."""
    if not file.exists():
        _make(file)
    key = file.read_bytes()
    if len(key) != _KEY_BYTES:
        raise DamagedKeyError(file, len(key))
    return key


def _make(file: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f"{file.name}.") as made:  # created with mode 0600
        made.write(secrets.token_bytes(_KEY_BYTES))
        made.flush()
        os.fsync(made.fileno())
        with suppress(FileExistsError):
            os.link(made.name, file)
