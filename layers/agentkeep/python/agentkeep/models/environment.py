"""Where provider keys and addresses come from: one Secrets Manager secret in AWS, the process environment elsewhere."""

import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agentkeep.models.errors import ModelAuthenticationError
from agentkeep.tenancy.client import system_client

SECRET_NAME_VARIABLE: Final = "AGENTKEEP_PROVIDERS_SECRET"
CACHE_SECONDS: Final = 300.0


@dataclass(frozen=True)
class Environment:
    """Provider settings by environment name, such as `OPENAI_API_KEY`. Its values never show in a repr or a log."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, name: str) -> str | None:
        """The value, or None when it is not set or blank."""
        return (self.values.get(name) or "").strip() or None


def current_environment() -> Environment:
    """The deployment's provider settings.

    In AWS they are the JSON object in the secret named by `AGENTKEEP_PROVIDERS_SECRET`, read at most every five
    minutes. Without that variable they are the process environment, read each time.
    Raises ModelAuthenticationError when the secret cannot be read.
    """
    secret = os.environ.get(SECRET_NAME_VARIABLE)
    return _secrets.environment(secret) if secret else Environment(dict(os.environ))


def forget_secrets() -> None:
    """Read every secret anew at its next use."""
    _secrets.forget()


class _SecretCache:
    """The newest reading of each secret, with the time it was read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str, tuple[float, Environment]] = {}

    def environment(self, secret: str) -> Environment:
        with self._lock:
            read_at, environment = self._read.get(secret, (float("-inf"), Environment()))
            if time.monotonic() - read_at < CACHE_SECONDS:
                return environment
            environment = Environment(_read_secret(secret))
            self._read[secret] = (time.monotonic(), environment)
            return environment

    def forget(self) -> None:
        with self._lock:
            self._read.clear()


def _read_secret(secret: str) -> dict[str, str]:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer = system_client("secretsmanager").get_secret_value(SecretId=secret)
        values = json.loads(answer["SecretString"])
    except (BotoCoreError, ClientError, KeyError, ValueError) as error:
        raise _unreadable(secret, type(error).__name__) from error
    if not isinstance(values, dict):
        raise _unreadable(secret, "not a JSON object")
    return {str(name): str(value) for name, value in values.items()}


def _unreadable(secret: str, reason: str) -> ModelAuthenticationError:
    return ModelAuthenticationError(
        f"The provider keys in the secret '{secret}' could not be read ({reason})."
        ' It must hold a JSON object such as {"OPENAI_API_KEY": "..."} that this function may read.'
    )


_secrets = _SecretCache()
