"""A newcomer's first hour with letta-client: memory that fills itself, code that writes into it, two agents that share.

Once with a model of each kind of provider, which follows a script, and once with no key at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from letta_client import Letta
from letta_client.types import AgentState

from tests.doubles.provider import ScriptedProvider
from tests.doubles.provider_replies import Reply, call, say
from tests.local.clients import client_of, kinds, said
from tests.local.servers import LocalServer

BLOCKS: Final[list[Any]] = [
    {"label": "persona", "value": "I am Quill, the notebook of a small workshop. I keep to facts."},
    {
        "label": "human",
        "value": "Nothing yet.",
        "description": "Lasting facts about the person I work with: name, trade.",
    },
    {
        "label": "project",
        "value": "(nothing yet)",
        "description": "Where our project stands: dates, blockers, decisions.",
    },
    {"label": "lessons", "value": "(nothing yet)", "description": "What must not be tried again, a line each."},
]
INTRODUCTION: Final = (
    "Hello, I'm Marta, an electrician at Seabright. We are building 'Beacon', a controller for harbour lamps, due on"
    " 3 March. I prefer short answers. Current blocker: the relay overheats after ten minutes."
)
NEWS: Final = (
    "Decision: switch to a 10 A relay. And remember that we already tried a bigger heat sink and it did not help, so"
    " don't suggest it again."
)
LAB: Final = "[Lab 08:15] lamp 7 is DARK: the burn-in test failed twice."
PROPOSE: Final = (
    "Write your proposed fix for the overheating relay into the bench_notes block, in at most 4 lines, so that the"
    " inspector can read it."
)
REVIEW: Final = (
    "Read bench_notes and review the proposed fix. Cite any rule it violates, then append your verdict to that block."
)
RULES: Final = (
    "1. Nobody works on live circuits.\n2. Every change needs a test report.\n3. Spare parts stay in the building."
)

SCRIPT: Final[tuple[Reply, ...]] = (
    call(
        "memory_replace",
        {
            "label": "human",
            "old_string": "Nothing yet.",
            "new_string": "Marta, electrician at Seabright; short answers",
        },
    ),
    call(
        "memory_replace",
        {
            "label": "project",
            "old_string": "(nothing yet)",
            "new_string": "Beacon, due 3 March. Blocker: the relay overheats",
        },
    ),
    say("Noted, Marta."),
    call("memory_insert", {"label": "project", "new_string": "Decision: switch to a 10 A relay"}),
    call("memory_insert", {"label": "lessons", "new_string": "A bigger heat sink did not help"}),
    say("Noted."),
    say(f"Yes: {LAB}"),
    call("memory_rethink", {"label": "bench_notes", "new_memory": "Quill: switch to a 10 A relay."}),
    call("memory_insert", {"label": "bench_notes", "new_string": "Quill: switch to a 10 A relay."}),
    say("Written."),
    call("memory_insert", {"label": "rules", "new_string": "4. Except Brandt."}),
    call("memory_insert", {"label": "bench_notes", "new_string": "Brandt: changes requested. Violates rule 2."}),
    say("Reviewed."),
)
"""What the scripted model does; it also tries a tool that it has not got, and to write where it must not."""


@dataclass
class Workshop:
    """A server with one model to choose, and what its model was asked where that can be seen."""

    client: Letta
    model: str
    provider: ScriptedProvider | None

    def agent(self, name: str, blocks: list[Any], **fields: Any) -> AgentState:
        """An agent as the tutorial makes it, with an embedding that this server may not have."""
        return self.client.agents.create(
            name=name, model=self.model, embedding="openai/text-embedding-3-small", memory_blocks=blocks, **fields
        )

    def chat(self, agent: AgentState, text: str) -> str:
        """What the agent says."""
        return said(self.client.agents.messages.create(agent.id, input=text, max_steps=12).messages)

    def memory(self, agent: AgentState) -> dict[str, str]:
        """The values of its blocks."""
        return {block.label: block.value for block in self.client.agents.blocks.list(agent.id)}

    def seen(self, text: str) -> bool:
        """Whether the newest request to the model had the text; where nobody looks, it had."""
        return self.provider is None or text in str(self.provider.calls[-1].body)


@pytest.fixture(params=["openai", "anthropic", "demo"])
def workshop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workshop]:
    with ScriptedProvider() as provider:
        kind = request.param
        environment = {n: v for n, v in provider.environment.items() if n.startswith(kind.upper())}
        server = LocalServer(tmp_path / "data", environment).start()
        client = client_of(server.base_url)
        handles = [model.handle for model in client.models.list() if model.handle]
        yield Workshop(
            client,
            next(handle for handle in handles if handle.startswith(kind)),
            None if kind == "demo" else provider,
        )
        server.stop()


def test_from_the_first_hello_to_two_agents_that_share_notes(workshop: Workshop) -> None:
    client = workshop.client
    if workshop.provider:
        workshop.provider.script(*SCRIPT)

    quill = workshop.agent("quill", BLOCKS, tags=["workshop"])
    workshop.chat(quill, INTRODUCTION)
    workshop.chat(quill, NEWS)
    filled = workshop.memory(quill)

    client.agents.blocks.update("project", agent_id=quill.id, value=f"{filled['project']}\n{LAB}")
    morning = workshop.chat(quill, "Is there anything I should know this morning?")
    knew_the_lab = workshop.seen(LAB)

    rules = client.blocks.create(label="rules", value=RULES, description="Read-only: follow them.", read_only=True)
    notes = client.blocks.create(
        label="bench_notes", value="(nothing yet)", description="Shared; begin with your name."
    )
    for block in (rules, notes):
        client.agents.blocks.attach(block.id, agent_id=quill.id)
    inspector = workshop.agent(
        "inspector",
        [{"label": "persona", "value": "I am Brandt, the inspector. I cite the house rules by number."}],
        block_ids=[rules.id, notes.id],
    )
    workshop.chat(quill, PROPOSE)
    proposal = client.blocks.retrieve(notes.id).value
    workshop.chat(inspector, REVIEW)
    reviewed = client.blocks.retrieve(notes.id).value

    assert "Marta" in filled["human"] and "electrician at Seabright" in filled["human"]
    assert "Beacon" in filled["project"] and "3 March" in filled["project"] and "overheats" in filled["project"]
    assert "10 A relay" in filled["project"] and "heat sink" in filled["lessons"]
    assert filled["persona"] == BLOCKS[0]["value"]
    assert LAB in morning and knew_the_lab
    assert "Quill" in proposal and "10 A relay" in proposal
    assert reviewed.startswith(proposal)
    assert "Brandt" in reviewed.removeprefix(proposal) and "2" in reviewed.removeprefix(proposal)
    assert client.blocks.retrieve(rules.id).value == RULES
    assert {agent.name for agent in client.blocks.agents.list(notes.id)} == {"quill", "inspector"}
    assert kinds(client.agents.messages.list(quill.id, limit=8).items)[0] == "assistant_message"
    if workshop.provider:
        assert workshop.seen("Quill: switch to a 10 A relay.")
        assert [seen.status for seen in workshop.provider.calls] == [200] * len(SCRIPT)
