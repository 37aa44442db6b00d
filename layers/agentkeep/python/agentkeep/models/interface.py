"""What a caller hands to a model and what it gets back, the same for every provider."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agentkeep.models.endpoints import Category, Shape
from agentkeep.models.environment import Environment, current_environment
from agentkeep.store.content import Message, Part, ToolCall, ToolSchema, Usage

Finish = Literal["stop", "tool_calls", "length", "refusal"]


@dataclass(frozen=True)
class ModelRequest:
    """One call of a model.

    `messages` is the context window, system message first; it may hold what a crash left behind, since the history is
    made acceptable for the provider on the way out. `settings` are the agent's `model_settings`: `temperature`,
    `max_output_tokens`, `parallel_tool_calls` (false when absent, as Letta has it), `reasoning`, `thinking`, `effort`,
    `verbosity`, `response_format`; a setting that the model does not take is left out. `tool_choice` is `auto`, `none`,
    `required` or the name of a tool. `timeout_seconds` bounds the whole call, retries included.
    """

    handle: str
    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str | None = None
    timeout_seconds: float = 600.0
    environment: Environment = field(default_factory=current_environment)

    @property
    def model(self) -> str:
        """The model's name at its provider: the handle without the provider."""
        return self.handle.partition("/")[2]

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.handle.partition("/")[0]


@dataclass(frozen=True)
class ModelAnswer:
    """What a model answered: text, images and reasoning in `content`, calls in `tool_calls`, in the model's order.

    Tool call ids are unique within the request's conversation. `arguments` is the model's own text, JSON or not.
    `usage.context_tokens` is the size of the context after this answer; `usage.step_count` is left to the caller.
    """

    content: list[Part]
    tool_calls: list[ToolCall]
    finish: Finish
    usage: Usage
    provider: str
    model: str
    request_id: str | None = None


@dataclass(frozen=True)
class ModelInfo:
    """A model that can be called here. `endpoint_type` is the API's shape, `endpoint` its address.

    `provider_category` is `base` for the deployment's own providers, `byok` for the tenant's.

    `context_window` and `max_output_tokens` are tokens. `reasoning` says whether the model can think before answering.
    """

    handle: str
    name: str
    provider_type: str
    provider_name: str
    endpoint: str
    endpoint_type: Shape
    context_window: int
    max_output_tokens: int
    reasoning: bool
    display_name: str
    provider_category: Category = "base"


@dataclass(frozen=True)
class EmbeddingInfo:
    """An embedding model that can be called here. `dimension` is the length of its vectors."""

    handle: str
    name: str
    provider_type: str
    provider_name: str
    endpoint: str
    dimension: int
    provider_category: Category = "base"
