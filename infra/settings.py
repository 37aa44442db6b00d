"""The settings of one deployment: `-c name=value`, else `AGENTKEEP_<NAME>` in the environment, else the default."""

import os
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

LogRetention = Literal[1, 3, 7, 14, 30, 60, 90, 180, 365]


def _region() -> str:
    return os.environ.get("CDK_DEFAULT_REGION") or "us-east-1"


class Settings(BaseSettings):
    """One stage. Every field can be given as `npx aws-cdk deploy --all -c stage=dev -c log_retention_days=7`."""

    model_config = SettingsConfigDict(env_prefix="AGENTKEEP_", extra="ignore", frozen=True)

    stage: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{1,15}$")] = "dev"
    """Names the stacks, the secret and the API's stage; several stages live side by side in one account."""

    region: str = Field(default_factory=_region)
    """Concrete, because a table with a customer key is refused without one. Default: the profile's, or us-east-1."""

    removal: Literal["retain", "destroy"] = "retain"
    """What `destroy` does with tables, bucket, key and secret. `destroy` also takes off the deletion protection."""

    cors_origins: Annotated[tuple[str, ...], NoDecode] = ("*",)
    """Origins of pages that may call the API, by comma; `*` for any, which is safe as keys travel in no cookie."""

    log_retention_days: LogRetention = 30
    """How long CloudWatch keeps the logs of functions and API."""

    recovery_days: Annotated[int, Field(ge=1, le=35)] = 35
    """How far back the tables can be restored, and how long S3 keeps an object that was deleted."""

    max_read_units: PositiveInt = 4_000
    """Cap of on-demand reads per second, per table and index: what is above is throttled instead of paid."""

    max_write_units: PositiveInt = 2_000
    """Cap of on-demand writes per second, per table and index."""

    requests_per_second: PositiveInt = 200
    """Steady rate of the whole API; API Gateway answers 429 above it."""

    request_burst: PositiveInt = 400
    """Requests that may arrive at once before the rate applies."""

    authorizer_cache_seconds: Annotated[int, Field(ge=0, le=3600)] = 60
    """How long API Gateway trusts a key without asking again, so also how long a revoked key still works."""

    authorizer_concurrency: PositiveInt | None = None
    """Reserved concurrency of the authorizer: the door, which waiting turns must not starve. None reserves nothing."""

    crud_concurrency: PositiveInt | None = None
    """Reserved concurrency of each function that answers at once (agents, blocks, runs ...)."""

    driver_concurrency: PositiveInt | None = None
    """Reserved concurrency of each function that drives turns, so the number of turns that can run at the same time."""

    @classmethod
    def of(cls, context: Callable[[str], Any]) -> "Settings":
        """The settings that the CDK app was started with; `context` is its `node.try_get_context`.

        Raises pydantic's ValidationError, which names the setting and what it accepts.
        """
        given = {name: context(name) for name in cls.model_fields}
        return cls(**{name: value for name, value in given.items() if value is not None})

    @field_validator("log_retention_days", mode="before")
    @classmethod
    def _as_number(cls, value: Any) -> Any:
        return int(value) if isinstance(value, str) and value.isdecimal() else value

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(origin.strip().rstrip("/") for origin in value.split(",") if origin.strip())
        return value

    @property
    def prefix(self) -> str:
        """`agentkeep-<stage>`: what stacks and aliases are called."""
        return f"agentkeep-{self.stage}"

    @property
    def role_path(self) -> str:
        """The IAM path of the functions' roles; the data role trusts no other."""
        return f"/agentkeep/{self.stage}/"

    @property
    def providers_secret(self) -> str:
        """The Secrets Manager secret with the deployment's model keys, a JSON object by environment name."""
        return f"agentkeep/{self.stage}/providers"
