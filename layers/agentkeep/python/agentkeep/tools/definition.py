"""What a builtin tool is, and short ways to write down its parameters as JSON Schema."""

import hashlib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agentkeep import ids

ToolType = Literal[
    "letta_core", "letta_memory_core", "letta_sleeptime_core", "letta_voice_sleeptime_core", "letta_multi_agent_core",
    "letta_files_core", "letta_builtin",
]  # fmt: skip
Effects = Literal["memory", "recall", "reply", "none"]

RETURN_CHAR_LIMIT: Final = 50_000
_RANDOM_BITS: Final = (1 << 74) - 1


@dataclass(frozen=True)
class BuiltinTool:
    """A tool that comes with AgentKeep. Its id follows from its name: the same for every tenant and deployment.

    `parameters` is a JSON Schema of type object. A tool that is not `available` can be named, attached and listed, and
    answers a call with an error. `effects`: it edits memory blocks, reads recall memory, speaks to the user, or none.
    `parallel` says whether it may run beside other calls of the same step.
    """

    name: str
    tool_type: ToolType
    description: str
    parameters: dict[str, Any]
    effects: Effects = "none"
    available: bool = True
    parallel: bool = False
    return_char_limit: int = RETURN_CHAR_LIMIT
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", builtin_id(self.name))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the API's tool: its type, as 0.16.7 has it."""
        return (self.tool_type,)

    @property
    def json_schema(self) -> dict[str, Any]:
        """`json_schema` of the API's tool: name, description and parameters; a copy, free to be changed."""
        return {"name": self.name, "description": self.description, "parameters": deepcopy(self.parameters)}


def builtin_id(name: str) -> str:
    """`tool-` and a digest of `name` in the shape of a uuid4."""
    digest = int.from_bytes(hashlib.sha256(f"agentkeep builtin tool {name}".encode()).digest()[:16])
    return f"tool-{ids.format_uuid(digest >> 80, digest & _RANDOM_BITS)}"


def parameters(properties: dict[str, dict[str, Any]], required: Sequence[str] = ()) -> dict[str, Any]:
    """A JSON Schema of type object."""
    return {"type": "object", "properties": properties, "required": list(required)}


def string(description: str, choices: Sequence[str] = ()) -> dict[str, Any]:
    """A text, one of `choices` if there are any."""
    return {"type": "string", **({"enum": list(choices)} if choices else {}), "description": description}


def integer(description: str) -> dict[str, Any]:
    """A whole number."""
    return {"type": "integer", "description": description}


def boolean(description: str) -> dict[str, Any]:
    """True or false."""
    return {"type": "boolean", "description": description}


def strings(description: str, choices: Sequence[str] = ()) -> dict[str, Any]:
    """A list of texts, each one of `choices` if there are any."""
    items = {"type": "string", **({"enum": list(choices)} if choices else {})}
    return {"type": "array", "items": items, "description": description}


def objects(description: str, properties: dict[str, dict[str, Any]], required: Sequence[str]) -> dict[str, Any]:
    """A list of objects."""
    return {"type": "array", "items": parameters(properties, required), "description": description}
