"""A turn in progress: everything its driver holds in memory between two commits."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agentkeep import clock, ids
from agentkeep.loop.request import Input
from agentkeep.memory.render import Facts, compile_system, fingerprint
from agentkeep.store import blocks as block_store
from agentkeep.store import database, keys
from agentkeep.store import messages as message_store
from agentkeep.store.bodies import unpack
from agentkeep.store.content import Message, TextPart, ToolSchema
from agentkeep.store.conversations import State
from agentkeep.store.entities import Agent, Block, Run
from agentkeep.tools.registry import builtin_by_id, schema


@dataclass
class Turn:
    """What the model sees (`system`, `window`, `pending`), what it may change (`blocks`), and where commits go.

    `state` carries the fence of this holder. `pending` are inputs that enter the history with the first answer.
    `model_calls_ns` is how long each call of the model took that this holder made.
    """

    agent: Agent
    state: State
    run: Run
    blocks: list[Block]
    system: Message
    window: list[Message]
    pending: list[Message] = field(default_factory=list)
    recompiled: bool = False
    model_calls_ns: list[int] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The handle to call: of the request, else of the conversation, else of the agent."""
        return self.run.request.get("override_model") or self.state.conversation.model or self.agent.model

    @property
    def tools(self) -> list[ToolSchema]:
        """The agent's tools as the model sees them."""
        return tool_schemas(self.agent)

    @property
    def settings(self) -> dict[str, object]:
        """Model settings: the agent's, overridden by the conversation's."""
        settings = {**(self.agent.model_settings or {}), **(self.state.conversation.model_settings or {})}
        if self.agent.response_format and not settings.get("response_format"):
            settings["response_format"] = self.agent.response_format
        return settings

    @property
    def committed(self) -> Sequence[Message]:
        """What this run has put into the history so far."""
        return [message for message in self.window if message.run_id == self.run.id]

    @property
    def context(self) -> Sequence[Message]:
        """The messages of the next model call, system message first; the request may bring its own for this turn."""
        own = self.run.request.get("override_system")
        system = self.system.model_copy(update={"content": [TextPart(text=own)]}) if own else self.system
        return [system, *self.window, *self.pending]

    def recompile(self) -> None:
        """Renders the system message anew if what it was rendered from has changed; otherwise leaves every byte."""
        print_now = fingerprint(self.agent, self.blocks)
        window = self.state.window
        if print_now == window.compiled_from:
            return
        self.system = compiled(self.agent, self.blocks, self.state, self.system, clock.now())
        self.state = replace(self.state, window=window.model_copy(update={"compiled_from": print_now}))
        self.recompiled = True

    def place(self, messages: Sequence[Message]) -> list[Message]:
        """The messages with the next sequence numbers of the conversation."""
        first = self.state.next_seq
        return [message.model_copy(update={"seq": first + offset}) for offset, message in enumerate(messages)]


def tool_schemas(agent: Agent) -> list[ToolSchema]:
    """The agent's tools as a model sees them; those that cannot run yet are not offered."""
    found = (builtin_by_id(tool_id) for tool_id in agent.tool_ids)
    return [schema(tool) for tool in found if tool is not None and tool.available]


def compiled(agent: Agent, blocks: Sequence[Block], state: State, system: Message, at: datetime) -> Message:
    """The system message of a conversation, rendered now, under the id it has."""
    facts = Facts(now=at, conversation=state.conversation.id, earlier_messages=state.next_seq - 1)
    return system.model_copy(update={"content": [TextPart(text=compile_system(agent, blocks, facts))]})


def load(agent: Agent, state: State, run: Run) -> Turn:
    """A turn as the store knows it: two reads, whatever the length of the history.

    Both are made under the lease, so that system message and window belong to the same moment as `state`.
    """
    system: tuple[database.TableName, keys.Key] = ("messages", keys.message(state.conversation.id, 0))
    places = block_store.places(agent.block_ids)
    found = database.batch_get([system, *places.values()])
    blocks = list(block_store.among(found, places).values())
    window = message_store.window(state.window.segments)
    pending = _pending(agent, run) if run.first_seq is None else []
    turn = Turn(agent, state, run, blocks, unpack(found[system], Message), window, pending)
    turn.recompile()
    return turn


def _pending(agent: Agent, run: Run) -> list[Message]:
    inputs = [Input.model_validate(fields) for fields in run.request.get("inputs", [])]
    return [
        Message(
            id=ids.new("message"),
            agent_id=agent.id,
            conversation=run.conversation,
            role=message.role,
            content=message.content,
            otid=message.otid,
            name=message.name,
            sender_id=message.sender_id,
            run_id=run.id,
            created_at=run.created_at,
        )
        for message in inputs
    ]
