"""Turns worth breaking: what is said, and a model that goes by what its request shows, as after a crash it must."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentkeep.models import ModelAnswer, ModelRequest
from tests.doubles.ledger import unpaired
from tests.doubles.models import both, calls, says
from tests.doubles.system import System


@dataclass(frozen=True)
class Scene:
    """A message and what the model does about it, by the number of tool messages since."""

    name: str
    text: str
    answers: tuple[ModelAnswer, ...]

    def __str__(self) -> str:
        return self.name

    def think(self, request: ModelRequest) -> ModelAnswer:
        """The next answer of the scene; "Acknowledged." to anybody else's message."""
        since: list[str] = []
        for message in request.messages:
            since = [message.text] if message.role == "user" else [*since, message.role]
        if not since or since[0] != self.text:
            return says("Acknowledged.")
        return self.answers[since.count("tool")]

    def new_agent(self, system: System, **fields: Any) -> str:
        """An agent with the blocks that the scene edits, which has been spoken to before."""
        blocks = [{"label": "human", "value": "Unknown."}, {"label": "notes", "value": "None."}]
        agent = system.new_agent(memory_blocks=blocks, model_settings={"parallel_tool_calls": True}, **fields)
        assert system.send(agent["id"], "Good morning.").status == 200
        return str(agent["id"])


TWO_STEPS = Scene(
    "two steps",
    "My name is Priya, and I like tea.",
    (
        calls("memory_insert", {"label": "human", "new_string": "Likes tea."}, id="call_1"),
        calls("memory_replace", {"label": "human", "old_string": "Unknown.", "new_string": "Priya."}, id="call_2"),
        says("Noted, Priya."),
    ),
)
TWO_AT_ONCE = Scene(
    "two at once",
    "I like tea; remind me of the bread.",
    (
        both(
            calls("memory_insert", {"label": "human", "new_string": "Likes tea."}, id="call_1"),
            calls("memory_insert", {"label": "notes", "new_string": "Buy bread."}, id="call_2"),
        ),
        says("Both noted."),
    ),
)
SCENES = (TWO_STEPS, TWO_AT_ONCE)


class Thinker:
    """A model that goes by a function of what it is shown. Notes every request, and every call without its return."""

    def __init__(self, think: Callable[[ModelRequest], ModelAnswer]) -> None:
        self.think = think
        self.requests: list[ModelRequest] = []
        self.unpaired: list[str] = []

    def __call__(self, request: ModelRequest) -> ModelAnswer:
        self.requests.append(request)
        self.unpaired += unpaired(request.messages)
        return self.think(request)
