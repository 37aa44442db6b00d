"""Agents whose context window fills up, and what a model was shown of it."""

from dataclasses import replace
from typing import Any

from agentkeep.models import ContextWindowExceededError, ModelAnswer, ModelRequest
from agentkeep.store.content import Usage
from tests.doubles.models import ScriptedModel, says
from tests.doubles.system import Answer, System

WINDOW = 4_000
PADDING = " lorem" * 400
"""About 600 tokens."""


def sized(answer: ModelAnswer, prompt: int, completion: int = 10) -> ModelAnswer:
    """The answer with these tokens reported for it."""
    total = prompt + completion
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total, context_tokens=total)
    return replace(answer, usage=usage)


def overflow() -> ContextWindowExceededError:
    """What a provider says to a context that is too long for it."""
    return ContextWindowExceededError("The conversation is too long for openai/scripted.")


def full_agent(system: System, model: ScriptedModel, /, turns: int = 6, **fields: Any) -> str:
    """An agent with a small window that has heard `turns` long messages; the script is empty afterwards."""
    given = {"system": "Be brief.", "context_window_limit": WINDOW, "tools": ["conversation_search"]} | fields
    agent = str(system.new_agent(include_base_tools=False, memory_blocks=[], **given)["id"])
    for number in range(1, turns + 1):
        model.script = [says(f"Heard {number}.")]
        assert system.send(agent, f"Story {number}.{PADDING}").status == 200
    model.requests.clear()
    return agent


def send(system: System, agent: str, text: str, **fields: Any) -> Answer:
    """Sends a message and wants to see what is done to the window."""
    return system.send(agent, text, include_compaction_messages=True, **fields)


def shown_to(request: ModelRequest) -> list[str]:
    """What a request showed, the system message left out, each message by its first words."""
    return [" ".join(message.text.split()[:2]) for message in request.messages[1:]]


def is_for_a_summary(request: ModelRequest) -> bool:
    """Whether a request asks for a summary."""
    return "summary" in request.messages[-1].text and "write the summary" in request.messages[-1].text


def window_of(system: System, agent: str) -> list[dict[str, Any]]:
    """The messages in the window of an agent, the system message left out."""
    context = system.call("agents", "GET", f"/v1/agents/{agent}/context").body
    messages: list[dict[str, Any]] = context["messages"][1:]
    return messages
