"""Values that must not be readable in a table: encrypted by KMS, bound to the tenant at work by encryption context."""

import base64
import binascii
import os
from typing import Final

from botocore.exceptions import ClientError

from agentkeep.errors import AgentKeepError, InvalidRequestError
from agentkeep.tenancy.client import client
from agentkeep.tenancy.context import tenant_at_work

LIMIT_BYTES: Final = 4096  # of the plaintext (KMS API reference, Encrypt)
_FORM: Final = "kms1:"
_FOREIGN: Final = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})


class UnreadableSecretError(AgentKeepError):
    """A sealed value cannot be opened: damaged, of another tenant, or sealed with a key that is gone."""

    status = 500
    code = "UNREADABLE_SECRET"

    def __init__(self) -> None:
        super().__init__("A stored secret cannot be decrypted. Set it again.")


def seal(plaintext: str) -> str:
    """`plaintext` (at most 4,096 bytes of UTF-8) encrypted for the tenant at work, as ASCII text for an item."""
    data = plaintext.encode()
    if not 0 < len(data) <= LIMIT_BYTES:
        raise InvalidRequestError("secret", f"must be 1 to {LIMIT_BYTES} bytes long, not {len(data)}.")
    answer = client("kms").encrypt(KeyId=_key(), Plaintext=data, EncryptionContext=_context())
    return _FORM + base64.b64encode(answer["CiphertextBlob"]).decode()


def unseal(sealed: str) -> str:
    """What `seal` was given. Raises UnreadableSecretError for another tenant's or a damaged value."""
    try:
        blob = base64.b64decode(sealed.removeprefix(_FORM), validate=True)
        answer = client("kms").decrypt(KeyId=_key(), CiphertextBlob=blob, EncryptionContext=_context())
    except binascii.Error as error:
        raise UnreadableSecretError from error
    except ClientError as error:
        if error.response["Error"]["Code"] not in _FOREIGN:
            raise
        raise UnreadableSecretError from error
    return answer["Plaintext"].decode()


def _key() -> str:
    return os.environ["AGENTKEEP_KMS_KEY_ID"]


def _context() -> dict[str, str]:
    return {"tenant": tenant_at_work()}
