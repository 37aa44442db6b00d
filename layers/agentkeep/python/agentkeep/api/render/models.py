"""Models and embedding models, and how an agent is set up with them."""

from collections.abc import Mapping
from typing import Any, Final

from agentkeep.models.address import without_user
from agentkeep.models.interface import EmbeddingInfo, ModelInfo

Json = dict[str, Any]

CHUNK_SIZE: Final = 300
_ENDPOINT_TYPES: Final = frozenset({"openai", "anthropic"})


def provider_type(info: ModelInfo | EmbeddingInfo) -> str:
    """The provider's type as clients know it; the builtin demo counts as the server's own."""
    return "letta" if info.provider_type == "demo" else info.provider_type


def model(info: ModelInfo) -> Json:
    """An entry of models.list."""
    config = llm_config(info, info.context_window, {})
    names = ("model", "model_endpoint_type", "model_endpoint", "provider_category", *_TUNING)
    return {
        "handle": info.handle,
        "name": info.name,
        "display_name": info.display_name,
        "provider_type": provider_type(info),
        "provider_name": info.provider_name,
        "model_type": "llm",
        "context_window": info.context_window,
        "max_context_window": info.context_window,
        **{name: config[name] for name in names},
    }


_TUNING: Final = (
    "model_wrapper", "put_inner_thoughts_in_kwargs", "temperature", "max_tokens", "enable_reasoner", "reasoning_effort",
    "max_reasoning_tokens", "effort", "frequency_penalty", "compatibility_type", "verbosity", "tier",
    "parallel_tool_calls", "response_format", "strict", "return_logprobs", "top_logprobs", "return_token_ids",
    "tool_call_parser",
)  # fmt: skip


def llm_config(info: ModelInfo, context_window: int, settings: Mapping[str, Any]) -> Json:
    """The older form of a model's settings, which agents still show. `settings` are an agent's `model_settings`."""
    reasoning = settings.get("reasoning") or {}
    thinking = settings.get("thinking") or {}
    return {
        "model": info.name,
        "display_name": info.display_name,
        "model_endpoint_type": info.endpoint_type,
        "model_endpoint": without_user(info.endpoint),
        "provider_name": info.provider_name,
        "provider_category": info.provider_category,
        "model_wrapper": None,
        "context_window": context_window,
        "put_inner_thoughts_in_kwargs": False,
        "handle": info.handle,
        "temperature": settings.get("temperature", 1.0),
        "max_tokens": settings.get("max_output_tokens") or info.max_output_tokens,
        "enable_reasoner": info.reasoning,
        "reasoning_effort": reasoning.get("reasoning_effort"),
        "max_reasoning_tokens": thinking.get("budget_tokens") or 0,
        "effort": settings.get("effort"),
        "frequency_penalty": None,
        "compatibility_type": None,
        "verbosity": settings.get("verbosity"),
        "tier": None,
        "parallel_tool_calls": bool(settings.get("parallel_tool_calls")),
        "response_format": settings.get("response_format"),
        "strict": bool(settings.get("strict")),
        "return_logprobs": False,
        "top_logprobs": None,
        "return_token_ids": False,
        "tool_call_parser": None,
    }


def model_settings(info: ModelInfo, settings: Mapping[str, Any]) -> Json:
    """An agent's `model_settings`, what it leaves open filled in."""
    return {
        "max_output_tokens": info.max_output_tokens,
        "parallel_tool_calls": False,
        "temperature": 1.0,
        "response_format": None,
        "strict": False,
        **settings,
        "provider_type": info.endpoint_type,
    }


def embedding_model(info: EmbeddingInfo) -> Json:
    """An entry of models.embeddings.list."""
    return {
        "handle": info.handle,
        "name": info.name,
        "display_name": info.name,
        "provider_type": provider_type(info),
        "provider_name": info.provider_name,
        "model_type": "embedding",
        **_embedding(info),
    }


def embedding_config(info: EmbeddingInfo) -> Json:
    """The older form of an embedding model's settings, which agents still show."""
    return {"handle": info.handle, **_embedding(info)}


def _embedding(info: EmbeddingInfo) -> Json:
    return {
        "embedding_endpoint_type": info.provider_type if info.provider_type in _ENDPOINT_TYPES else "openai",
        "embedding_endpoint": without_user(info.endpoint),
        "embedding_model": info.name,
        "embedding_dim": info.dimension,
        "embedding_chunk_size": CHUNK_SIZE,
        "batch_size": 32,
        "azure_endpoint": None,
        "azure_version": None,
        "azure_deployment": None,
    }
