"""Settings of a model as agents and conversations take them: what is read of them has the right type, the rest is kept.

Letta's clients send unions of settings by provider, and providers add to theirs. So nothing unknown is refused.
"""

import json
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from agentkeep.api.requests.fields import Boolean, ContextWindow, Count, Integer, Json, Number

MAX_CHARACTERS: Final = 200_000
"""Of settings, as JSON. An agent's state shows some of them several times."""


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow", protected_namespaces=(), defer_build=True)


class _Reasoning(_Open):
    reasoning_effort: str | None = None


class _Thinking(_Open):
    type: str | None = None
    budget_tokens: Integer | None = None


class _ModelSettings(_Open):
    max_output_tokens: Count | None = None
    parallel_tool_calls: Boolean | None = None
    temperature: Number | None = None
    strict: Boolean | None = None
    effort: str | None = None
    verbosity: str | None = None
    reasoning: _Reasoning | None = None
    thinking: _Thinking | None = None
    response_format: Json | None = None


class _LlmConfig(_Open):
    handle: str | None = None
    model: str | None = None
    model_endpoint_type: str | None = None
    context_window: ContextWindow | None = None
    max_tokens: Count | None = None
    temperature: Number | None = None


class _CompactionSettings(_Open):
    mode: Literal["all", "sliding_window", "self_compact_all", "self_compact_sliding_window"] | None = None
    model: str | None = None
    model_settings: Json | None = None
    prompt: str | None = None
    prompt_acknowledgement: Boolean | None = None
    clip_chars: Count | None = None
    sliding_window_percentage: Annotated[Number, Field(ge=0, le=1)] | None = None


class _EmbeddingConfig(_Open):
    handle: str | None = None
    embedding_model: str | None = None
    embedding_endpoint_type: str | None = None


def _small(value: Json) -> Json:
    if len(json.dumps(value)) > MAX_CHARACTERS:
        raise ValueError(f"should be settings of at most {MAX_CHARACTERS:,} characters")
    return value


def _fits(model: type[BaseModel]) -> AfterValidator:
    def check(value: Json) -> Json:
        _small(value)
        try:
            model.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            path = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"'{path}' does not fit: {first['msg']}") from None
        return value

    return AfterValidator(check)


Settings = Annotated[Json, AfterValidator(_small)]
ModelSettings = Annotated[Json, _fits(_ModelSettings)]
CompactionSettings = Annotated[Json, _fits(_CompactionSettings)]
LlmConfig = Annotated[Json, _fits(_LlmConfig)]
EmbeddingConfig = Annotated[Json, _fits(_EmbeddingConfig)]
"""The last two are what older clients send in place of handles."""
