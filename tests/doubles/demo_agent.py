"""An agent of the builtin demo model, with memory rendered and tools run by the real code, and nothing stored."""

from collections.abc import Sequence

from agentkeep.memory.render import core_memory
from agentkeep.memory.workspace import BlockWorkspace
from agentkeep.models.calls import complete
from agentkeep.models.environment import Environment
from agentkeep.models.interface import ModelAnswer, ModelRequest
from agentkeep.store.content import Message, ToolCall
from agentkeep.store.entities import Block
from agentkeep.tools.builtin import ToolContext, run_builtin
from agentkeep.tools.registry import BUILTIN, schema
from tests.doubles.messages import AT, message

TOOLS = ("memory_insert", "memory_replace", "conversation_search")
MOST_STEPS = 12


def block(label: str, value: str = "", description: str = "", read_only: bool = False) -> Block:
    """A block as an agent is created with it."""
    fields = {"label": label, "value": value, "description": description, "read_only": read_only}
    return Block(id=f"block-{label}", created_at=AT, updated_at=AT, **fields)


class DemoAgent:
    """Talks with the demo model. `calls` are the tool calls of the newest turn, `said` its last text."""

    def __init__(
        self, *blocks: Block, tools: Sequence[str] = TOOLS, parallel: bool = False, recompiles: bool = True
    ) -> None:
        self.workspace = BlockWorkspace(blocks, now=AT)
        self.tools = [schema(BUILTIN[name]) for name in tools]
        self.settings = {"parallel_tool_calls": parallel}
        self.recompiles = recompiles
        self.history: list[Message] = []
        self.calls: list[ToolCall] = []
        self.said = ""

    def say(self, text: str) -> str:
        """The model's reply to a message, after its tools have run."""
        self.history.append(message("user", text))
        self.calls = []
        shown = core_memory(self.workspace.blocks)
        for _ in range(MOST_STEPS):
            shown = core_memory(self.workspace.blocks) if self.recompiles else shown
            answer = self.answer(shown)
            self.history.append(message("assistant", *answer.content, tool_calls=answer.tool_calls))
            if not answer.tool_calls:
                self.said = "".join(part.text for part in answer.content if part.type == "text")
                return self.said
            self.calls += answer.tool_calls
            self._run(answer.tool_calls)
        raise AssertionError(f"no reply after {MOST_STEPS} steps: {self.calls}")

    def answer(self, shown: str) -> ModelAnswer:
        """One step of the model, with memory as shown."""
        system = message("system", f"You remember. Blocks stand between <memory_blocks> tags.\n\n{shown}")
        request = ModelRequest(
            "demo/memory", [system, *self.history], self.tools, self.settings, environment=Environment()
        )
        return complete(request)

    def value(self, label: str) -> str:
        """What a block says now."""
        return self.workspace.get(label).value

    def _run(self, calls: Sequence[ToolCall]) -> None:
        names = tuple(tool.name for tool in self.tools)
        context = ToolContext(self.workspace, search=lambda query: [], now=AT, tool_names=names)
        self.history.append(message("tool", tool_returns=[run_builtin(call, context) for call in calls]))


PERSONA = block("persona", "I am Mnemo, a helper.")
HUMAN = block("human", "Unknown so far.", "Facts about the user: name, role, preferences.")
PROJECT = block("project_state", "(empty)", "State of the project: milestones, blockers, decisions.")
LESSONS = block("lessons", "", "Mistakes to never repeat.")


def new_mnemo(parallel: bool = False, recompiles: bool = True) -> DemoAgent:
    """An agent with blocks of every kind that the model tells apart."""
    return DemoAgent(PERSONA, HUMAN, PROJECT, LESSONS, parallel=parallel, recompiles=recompiles)
