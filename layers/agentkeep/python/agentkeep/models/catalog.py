"""What is known of well-known models without asking: context windows, output limits, and what they accept.

A provider that states limits in its own model list is believed before this table. Sources, read in November 2026:
OpenAI's model pages (developers.openai.com/api/docs/models) and its reasoning guide; Anthropic's models overview and
"Troubleshooting thinking" (platform.claude.com/docs). OpenAI's windows are the input share where a model has one
(272,000 of the 400,000 tokens of GPT-5). A name is looked up by its longest known prefix, so dated snapshots are found.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DEFAULT_OUTPUT_TOKENS: Final = 16_384


@dataclass(frozen=True)
class Limits:
    """Tokens that a model takes in and gives out at most."""

    context_window: int
    max_output_tokens: int


UNKNOWN_MODEL: Final = Limits(32_768, 4_096)
_MILLION: Final = Limits(1_000_000, 128_000)
_GPT_5: Final = Limits(272_000, 128_000)
_GPT_5_4: Final = Limits(1_050_000, 128_000)
_GPT_CHAT: Final = Limits(128_000, 16_384)

LIMITS: Final[Mapping[str, Limits]] = {
    "demo/memory": Limits(128_000, 4_096),
    "openai/gpt-3.5-turbo": Limits(16_385, 4_096),
    "openai/gpt-4": Limits(8_192, 8_192),
    "openai/gpt-4-turbo": Limits(128_000, 4_096),
    "openai/gpt-4o": _GPT_CHAT,
    "openai/gpt-4.1": Limits(1_047_576, 32_768),
    "openai/gpt-5": _GPT_5,
    "openai/gpt-5-chat": _GPT_CHAT,
    "openai/gpt-5.1-chat": _GPT_CHAT,
    "openai/gpt-5.2-chat": _GPT_CHAT,
    "openai/gpt-5.3-chat": _GPT_CHAT,
    "openai/gpt-5.4": _GPT_5_4,
    "openai/gpt-5.4-mini": _GPT_5,
    "openai/gpt-5.4-nano": _GPT_5,
    "openai/gpt-5.5": _GPT_5_4,
    "openai/gpt-5.6": _GPT_5_4,
    "openai/gpt-6": _GPT_5_4,
    "openai/o1": Limits(200_000, 100_000),
    "openai/o1-mini": Limits(128_000, 65_536),
    "openai/o3": Limits(200_000, 100_000),
    "openai/o4-mini": Limits(200_000, 100_000),
    "anthropic/claude": _MILLION,
    "anthropic/claude-3": Limits(200_000, 4_096),
    "anthropic/claude-3-5": Limits(200_000, 8_192),
    "anthropic/claude-3-7": Limits(200_000, 64_000),
    "anthropic/claude-opus-4": Limits(200_000, 32_000),
    "anthropic/claude-opus-4-5": Limits(200_000, 64_000),
    "anthropic/claude-opus-4-6": Limits(200_000, 128_000),
    "anthropic/claude-opus-4-7": _MILLION,
    "anthropic/claude-opus-4-8": _MILLION,
    "anthropic/claude-sonnet-4": Limits(200_000, 64_000),
    "anthropic/claude-sonnet-4-6": Limits(200_000, 128_000),
    "anthropic/claude-haiku-4-5": Limits(200_000, 64_000),
}

WELL_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "openai": ("gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-4o-mini", "gpt-5.1", "gpt-5.4", "gpt-5.4-mini", "gpt-5.5"),
    "anthropic": ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-4-6", "claude-haiku-4-5"),
}
"""Chat models named when a provider has a key and its list cannot be read."""

EMBEDDING_DIMENSIONS: Final[Mapping[str, int]] = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "bge-m3": 1024,
}

_NO_CHAT = re.compile(
    r"embed|whisper|tts|dall-e|image|moderation|babbage|davinci|realtime|transcribe|audio|sora|rerank|turbo-instruct|-search-"
)
_REASONS = re.compile(r"^(o\d|gpt-[5-9]|codex)")
_CLAUDE = re.compile(
    r"claude-(?:(?P<major>\d)(?:-(?P<minor>\d)(?!\d))?-)?"
    r"(?P<line>opus|sonnet|haiku|fable|mythos)(?:-(?P<major_after>\d)(?!\d)(?:-(?P<minor_after>\d)(?!\d))?)?"
)


def limits(handle: str) -> Limits:
    """The limits of a model by its handle, those of its family, or small ones for a model nobody knows."""
    known = max((name for name in LIMITS if handle.startswith(name)), key=len, default=None)
    return LIMITS[known] if known else UNKNOWN_MODEL


def chats(name: str) -> bool:
    """Whether a model of this name holds conversations, as far as its name tells."""
    return _NO_CHAT.search(name) is None


def embedding_dimension(name: str) -> int | None:
    """The length of an embedding model's vectors, or None for one that is not known."""
    return EMBEDDING_DIMENSIONS.get(name.partition(":")[0])


def openai_reasons(name: str) -> bool:
    """Whether an OpenAI model is of the reasoning kind: `max_completion_tokens`, `reasoning_effort`, no temperature."""
    return _REASONS.match(name) is not None and "-chat" not in name


def openai_tools_stop_reasoning(name: str) -> bool:
    """Whether chat completions refuse function tools on this model unless its reasoning is off (GPT-5.4 and later)."""
    version = re.match(r"^gpt-(\d+)(?:\.(\d+))?", name)
    return openai_reasons(name) and version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 4)


@dataclass(frozen=True)
class Claude:
    """A Claude model by line and generation, which decide what it accepts."""

    line: str
    version: tuple[int, int]

    @property
    def thinks(self) -> bool:
        """Whether it can think at all."""
        return self.version >= (3, 7)

    @property
    def thinks_by_budget(self) -> bool:
        """Whether thinking takes a token budget; later generations decide themselves how much to think."""
        return (3, 7) <= self.version < (4, 6)

    @property
    def thinking_off(self) -> str | None:
        """The `thinking.type` that turns off thinking which is on by default; None where there is nothing to turn."""
        always_on = self.line in ("fable", "mythos") or (self.line == "opus" and self.version >= (5, 5))
        if self.version < (5, 0) or always_on:
            return None
        return "between_tools" if self.line == "sonnet" and self.version >= (5, 5) else "disabled"

    @property
    def binds_thinking(self) -> bool:
        """Whether a thinking block is refused once the system prompt or the tools before it have changed."""
        return self.version >= ((5, 1) if self.line in ("fable", "mythos") else (5, 5))

    @property
    def takes_temperature(self) -> bool:
        """Whether sampling parameters are accepted (under API version 2023-06-01)."""
        return self.version < (4, 7)

    @property
    def takes_forced_tools(self) -> bool:
        """Whether `tool_choice` may demand a tool."""
        return not self.binds_thinking or self.line == "haiku"


def claude(name: str) -> Claude:
    """Line and generation from a model name such as `claude-sonnet-4-20250514`.

    A Claude without a number counts as the newest. Other names, served by compatible servers, count as Claude 4.5.
    """
    found = _CLAUDE.search(name)
    if not found:
        return Claude("", (4, 5))
    major = found["major"] or found["major_after"] or 99
    return Claude(found["line"], (int(major), int(found["minor"] or found["minor_after"] or 0)))
