"""Which origins a browser may call from. `AGENTKEEP_CORS_ORIGINS` lists them by comma; the default `*` is any."""

import os
from collections.abc import Mapping
from typing import Final

_METHODS: Final = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
_EXPOSED: Final = "x-should-retry, retry-after, x-amzn-requestid"


def headers(request: Mapping[str, str]) -> dict[str, str]:
    """The headers that let the origin of a request read the answer; none for an origin that is not listed."""
    origin = _allowed(request.get("origin"))
    if origin is None:
        return {}
    vary = {} if origin == "*" else {"Vary": "Origin"}
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": _EXPOSED, **vary}


def preflight(request: Mapping[str, str]) -> dict[str, str]:
    """What a browser asks for before a call; it may be remembered for an hour."""
    if _allowed(request.get("origin")) is None:
        return {}
    return {
        "Access-Control-Allow-Methods": _METHODS,
        "Access-Control-Allow-Headers": request.get("access-control-request-headers") or "*",
        "Access-Control-Max-Age": "3600",
    }


def _allowed(origin: str | None) -> str | None:
    origins = [each.strip() for each in os.environ.get("AGENTKEEP_CORS_ORIGINS", "*").split(",")]
    if "*" in origins:
        return "*"
    return origin if origin in origins else None
