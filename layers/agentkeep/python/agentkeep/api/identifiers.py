"""Entity ids that come from outside: each must be of the kind that its place asks for."""

from typing import Final

from agentkeep import ids
from agentkeep.errors import InvalidRequestError, NotFoundError

_EXAMPLE: Final = "123e4567-e89b-42d3-8456-426614174000"
PATH_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "agent_id": ("agent",),
    "block_id": ("block",),
    "tool_id": ("tool",),
    "message_id": ("message",),
    "step_id": ("step",),
    "provider_id": ("provider",),
    "conversation_id": ("conv", "agent", "default"),
}
"""What the path parameters of Letta's API may hold. `default` is an agent's own conversation."""


def check_path(arguments: dict[str, str]) -> None:
    """Raises InvalidRequestError for a path parameter of another kind, NotFoundError for what cannot be a run."""
    for name, value in arguments.items():
        if kinds := PATH_KINDS.get(name):
            check(name, value, *kinds)
        elif name == "run_id" and not ids.is_id(value, "run"):
            raise NotFoundError("Run", value[:100])


def check(field: str, value: str, *kinds: str) -> str:
    """The id itself. Raises InvalidRequestError, which names the field, when it is of none of the kinds."""
    if value in kinds or any(ids.is_id(value, kind) for kind in kinds):
        return value
    raise InvalidRequestError(field, f"should look like '{kinds[0]}-{_EXAMPLE}', not {value[:100]!r}.")
