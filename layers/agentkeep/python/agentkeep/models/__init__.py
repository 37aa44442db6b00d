"""Models: handles, providers (OpenAI-shaped, Anthropic, the builtin demo), histories, token counts.

Importing this package imports no SDK.
"""

from agentkeep.models.calls import complete, warm
from agentkeep.models.environment import Environment, current_environment
from agentkeep.models.errors import (
    ContextWindowExceededError,
    EmptyAnswerError,
    ModelAuthenticationError,
    ModelError,
    UnknownModelError,
)
from agentkeep.models.interface import EmbeddingInfo, Finish, ModelAnswer, ModelInfo, ModelRequest
from agentkeep.models.listing import find_model, forget_models, list_embedding_models, list_models
from agentkeep.models.tokens import estimate_tokens

__all__ = [
    "ContextWindowExceededError",
    "EmbeddingInfo",
    "EmptyAnswerError",
    "Environment",
    "Finish",
    "ModelAnswer",
    "ModelAuthenticationError",
    "ModelError",
    "ModelInfo",
    "ModelRequest",
    "UnknownModelError",
    "complete",
    "current_environment",
    "estimate_tokens",
    "find_model",
    "forget_models",
    "list_embedding_models",
    "list_models",
    "warm",
]
