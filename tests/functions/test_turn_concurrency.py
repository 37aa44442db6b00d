"""Many at once: turns of one conversation, conversations of one agent, agents of one block, tools and the API."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from agentkeep.loop import effects
from agentkeep.models import ModelAnswer, ModelRequest
from tests.doubles.faults import Torn
from tests.doubles.ledger import Ledger
from tests.doubles.models import calls, says
from tests.doubles.scenes import TWO_STEPS
from tests.doubles.system import Answer, System
from tests.functions.turn_stage import Stage, opened, shown

T = TypeVar("T")


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage


def _together(*works: Callable[[], T]) -> list[T]:
    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(work) for work in works]]


def _notes_what_it_hears(request: ModelRequest) -> ModelAnswer:
    """Adds the user's words to the block 'notes' as a line, then says so."""
    newest = request.messages[-1]
    if newest.role == "tool":
        return says("Noted.")
    return calls("memory_insert", {"label": "notes", "new_string": newest.text})


def _lines(stage: Stage, block_id: str) -> list[str]:
    value = stage.system.call("blocks", "GET", f"/v1/blocks/{block_id}").body["value"]
    return sorted(value.split("\n"))


def _new_block(system: System, label: str = "notes") -> str:
    answer = system.call("blocks", "POST", "/v1/blocks", {"label": label, "value": "start"})
    assert answer.status == 200, answer.body
    return str(answer.body["id"])


def test_of_two_turns_at_once_one_runs_and_the_other_learns_which(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    refused: list[Answer] = []

    def think(request: ModelRequest) -> ModelAnswer:
        refused.append(stage.send(agent, "Me too!"))
        return says("Done.")

    stage.model.think = think

    answer = stage.send(agent, "Me first.")

    (busy,) = refused
    run_id = answer.body["messages"][0]["run_id"]
    assert busy.status == 409
    assert busy.headers["x-should-retry"] == "false"
    assert busy.body["detail"]["code"] == "CONVERSATION_BUSY"
    assert "is currently being processed" in busy.body["detail"]["message"]
    assert f"run_id={run_id}" in busy.body["detail"]["message"]
    assert "user: Me too!" not in stage.contents(agent).history


def test_of_ten_turns_that_start_together_exactly_one_runs(stage: Stage) -> None:
    agent = stage.scene.new_agent(stage.system)
    barrier, all_answered = threading.Barrier(10), threading.Event()
    answered: list[Answer] = []

    def think(request: ModelRequest) -> ModelAnswer:
        assert all_answered.wait(30)
        return says("Done.")

    def send(number: int) -> Answer:
        barrier.wait()
        answer = stage.send(agent, f"Message {number}")
        answered.append(answer)
        if len(answered) == 9:
            all_answered.set()
        return answer

    stage.model.think = think
    answers = _together(*(lambda number=number: send(number) for number in range(10)))

    assert sorted(answer.status for answer in answers) == [200, *[409] * 9]
    assert len(stage.contents(agent).history) == 2 + 2


def test_ten_conversations_of_one_agent_run_at_once_and_lose_no_edit_of_their_memory(stage: Stage) -> None:
    block_id = _new_block(stage.system)
    agent = stage.system.new_agent(block_ids=[block_id])["id"]
    conversations = [_new_conversation(stage.system, agent) for _ in range(10)]
    all_ask = threading.Barrier(10)

    def think(request: ModelRequest) -> ModelAnswer:
        if request.messages[-1].role == "user":
            all_ask.wait(30)
        return _notes_what_it_hears(request)

    stage.model.think = think
    texts = [f"line {number}" for number in range(10)]
    answers = _together(
        *(lambda to=to, text=text: stage.send(to, text) for to, text in zip(conversations, texts, strict=True))
    )

    assert [answer.status for answer in answers] == [200] * 10
    returns = [message for answer in answers for message in answer.body["messages"] if "tool_return" in message]
    assert [each["status"] for each in returns] == ["success"] * 10
    assert _lines(stage, block_id) == sorted(["start", *texts])
    assert len(Ledger(stage.system).versions(block_id)) == 11


def _new_conversation(system: System, agent: str) -> str:
    answer = system.call("conversations", "POST", "/v1/conversations", {"agent_id": agent})
    assert answer.status == 200, answer.body
    return str(answer.body["id"])


def test_a_block_shared_by_two_agents_keeps_every_edit_of_their_tools_and_of_the_api(stage: Stage) -> None:
    block_id = _new_block(stage.system)
    agents = [stage.system.new_agent(block_ids=[block_id])["id"] for _ in range(2)]
    stage.model.think = _notes_what_it_hears

    def talk(agent: str) -> list[int]:
        return [stage.send(agent, f"{agent} {number}").status for number in range(6)]

    def patch() -> list[int]:
        path = f"/v1/blocks/{block_id}"
        changes: list[dict[str, Any]] = [{"description": f"Described {n}"} for n in range(6)] + [{"limit": 4_000}]
        return [stage.system.call("blocks", "PATCH", path, change).status for change in changes]

    statuses = _together(lambda: talk(agents[0]), lambda: talk(agents[1]), patch)

    assert {status for each in statuses for status in each} == {200}
    assert _lines(stage, block_id) == sorted(["start", *(f"{agent} {n}" for agent in agents for n in range(6))])
    block = stage.system.call("blocks", "GET", f"/v1/blocks/{block_id}").body
    assert (block["description"], block["limit"]) == ("Described 5", 4_000)
    assert len(Ledger(stage.system).versions(block_id)) == 1 + 12 + 7


def test_a_turn_that_was_accepted_around_another_sees_the_memory_which_that_one_left(stage: Stage) -> None:
    """A batch reads item by item: what was read before the other turn must not be taken for what stands after it."""
    agent = stage.scene.new_agent(stage.system)
    torn = Torn(stage.system.engine, lambda: stage.send(agent, stage.scene.text))
    stage.system.engine.faults = torn  # type: ignore[assignment]

    assert stage.send(agent, "And now?").status == 200

    assert stage.contents(agent).history[-3:] == [
        "assistant: Noted, Priya.",
        "user: And now?",
        "assistant: Acknowledged.",
    ]
    assert "Priya.\nLikes tea." in stage.model.requests[-1].messages[0].text


def test_a_block_that_others_never_leave_alone_is_a_tools_error_not_a_runs(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentkeep.loop.driver._EFFECT_TRIES", 3)
    block_id = _new_block(stage.system)
    agent = stage.system.new_agent(block_ids=[block_id])["id"]
    stage.model.think = _notes_what_it_hears
    run_tools = effects.run_tools

    def too_late(turn: Any, asked: Any) -> Any:
        outcome = run_tools(turn, asked)
        stage.system.call("blocks", "PATCH", f"/v1/blocks/{block_id}", {"value": "Mine."})
        return outcome

    monkeypatch.setattr("agentkeep.loop.effects.run_tools", too_late)

    answer = stage.send(agent, "Note this.")

    (returned,) = [each for each in shown(answer) if each["message_type"] == "tool_return_message"]
    assert returned["status"] == "error"
    assert returned["tool_return"].startswith("Nothing was changed: others kept changing the same memory")
    assert answer.body["stop_reason"]["stop_reason"] == "end_turn"


def test_attaching_a_block_five_times_at_once_attaches_it_once(stage: Stage) -> None:
    block_id = _new_block(stage.system)
    agent = stage.system.new_agent()["id"]
    path = f"/v1/agents/{agent}/core-memory/blocks/attach/{block_id}"

    answers = _together(*(lambda: stage.system.call("agents", "PATCH", path) for _ in range(5)))

    assert [answer.status for answer in answers] == [200] * 5
    listed = stage.system.call("agents", "GET", f"/v1/agents/{agent}/core-memory/blocks").body
    assert [block["id"] for block in listed] == [block_id]


def test_blocks_attached_while_a_tool_creates_one_are_all_there(stage: Stage) -> None:
    agent = stage.system.new_agent()["id"]
    blocks = [_new_block(stage.system, f"block{number}") for number in range(4)]

    def think(request: ModelRequest) -> ModelAnswer:
        if request.messages[-1].role == "tool":
            return says("Done.")
        path = "/memories/travel"
        return calls("memory", {"command": "create", "path": path, "description": "Trips.", "file_text": "Porto"})

    stage.model.think = think
    memory = stage.system.call("tools", "GET", "/v1/tools", query={"name": "memory"}).body[0]["id"]
    assert stage.system.call("agents", "PATCH", f"/v1/agents/{agent}/tools/attach/{memory}").status == 200

    def attach(block_id: str) -> int:
        return stage.system.call("agents", "PATCH", f"/v1/agents/{agent}/core-memory/blocks/attach/{block_id}").status

    statuses = _together(
        lambda: stage.send(agent, "Remember Porto.").status, *(lambda each=each: attach(each) for each in blocks)
    )

    assert statuses == [200] * 5
    listed = stage.system.call("agents", "GET", f"/v1/agents/{agent}/core-memory/blocks").body
    assert {block["label"] for block in listed} == {"travel", "block0", "block1", "block2", "block3"}
