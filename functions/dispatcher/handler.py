"""What no other function serves: health and readiness, routes that are yet to come, and paths that nobody knows."""

from collections.abc import Mapping
from typing import Any, Final

from agentkeep import __version__
from agentkeep.api.replies import Reply
from agentkeep.api.resolver import Resolver

LETTA_VERSION: Final = "0.16.7"
"""The release of Letta whose API this is. Letta Code warns below 0.16.6."""

app = Resolver()


@app.get("/v1/health", permission=None)
@app.get("/v1/ready", permission=None)
def health() -> dict[str, str]:
    """That the door is open, and to what."""
    return {"version": LETTA_VERSION, "status": "ok", "agentkeep": __version__}


def lambda_handler(event: Mapping[str, Any], context: Any) -> Reply:
    """Answers a proxy event."""
    return app.resolve(event, context)
