"""Requests about providers of a tenant."""

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from agentkeep.api.requests.fields import Body, ByCreation

LONGEST_KEY: Final = 4_000
ProviderName = Annotated[
    str, StringConstraints(strip_whitespace=True, pattern=r"^[\w .:@+-]+$", min_length=1, max_length=128)
]
Url = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_048)]
TypeName = Annotated[str, StringConstraints(max_length=128)]


def _fit_for_a_header(value: str) -> str:
    """Refused without pydantic's own words, which would show the value."""
    key = value.strip()
    if len(key) > LONGEST_KEY or not (key.isascii() and key.isprintable()):
        raise ValueError(f"should be at most {LONGEST_KEY} printable ASCII characters")
    return key


Secret = Annotated[str, AfterValidator(_fit_for_a_header)]


class CreateProvider(Body):
    """The body of providers.create. An empty `api_key` is for servers that ask for none."""

    name: ProviderName
    provider_type: TypeName
    api_key: Secret = Field(repr=False)
    base_url: Url | None = None


class UpdateProvider(Body):
    """The body of providers.update; what it leaves out stays. An empty `base_url` is the usual one of the type again,
    an empty `api_key` none."""

    api_key: Secret | None = Field(default=None, repr=False)
    base_url: Url | None = None


class CheckProvider(Body):
    """The body of providers.check: a provider that is not kept."""

    provider_type: TypeName
    api_key: Secret = Field(repr=False)
    base_url: Url | None = None


class ListProviders(ByCreation):
    """The query of providers.list."""

    name: str | None = None
    provider_type: str | None = None
