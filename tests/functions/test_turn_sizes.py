"""Turns larger than an item or a transaction of DynamoDB: what does not fit is in S3, and the history reads as ever."""

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from botocore.exceptions import ConnectionClosedError

from agentkeep.models import ModelAnswer, ModelRequest
from infra.local.aws.service import _answer
from tests.doubles.ledger import Ledger
from tests.doubles.models import both, calls, says
from tests.doubles.scenes import TWO_STEPS, Scene
from tests.doubles.system import Answer, System
from tests.functions.turn_stage import Stage, opened, shown

LONG: Final = "Tea in 32 languages: \N{TEACUP WITHOUT HANDLE}! " * 10_000
ITEM_BYTES: Final = 400 * 1024


@pytest.fixture
def stage(system: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with opened(system, TWO_STEPS, monkeypatch) as stage:
        yield stage
        assert max(len(json.dumps(item)) for item in Ledger(system).entities) < ITEM_BYTES
        assert max(len(json.dumps(item)) for item in Ledger(system).messages) < ITEM_BYTES


@pytest.fixture
def agent(stage: Stage) -> str:
    return stage.scene.new_agent(stage.system)


def _send(stage: Stage, agent: str, *contents: Any, **fields: Any) -> Answer:
    messages = [{"role": "user", "content": content} for content in contents]
    return stage.system.call("messages", "POST", f"/v1/agents/{agent}/messages", {"messages": messages, **fields})


def _listed(stage: Stage, agent: str) -> list[dict[str, Any]]:
    query = {"limit": 1000, "order": "asc"}
    answer = stage.system.call("messages", "GET", f"/v1/agents/{agent}/messages", query=query)
    assert answer.status == 200, answer.body
    return list(answer.body)


def test_a_text_of_300_kilobytes_is_heard_answered_and_listed_whole(stage: Stage, agent: str) -> None:
    stage.model.think = lambda request: says(request.messages[-1].text)

    answer = _send(stage, agent, LONG)

    assert len(LONG.encode()) > 2 * 128 * 1024
    assert [message["content"] for message in shown(answer)] == [LONG]
    assert [message["content"] for message in _listed(stage, agent)[-2:]] == [LONG, LONG]


def test_several_images_reach_the_model_as_they_were_sent(stage: Stage, agent: str) -> None:
    pictures = [base64.b64encode(bytes([number]) * 700_000).decode() for number in range(3)]
    sources = [{"type": "base64", "media_type": "image/png", "data": picture} for picture in pictures]
    content = [{"type": "text", "text": "See:"}, *({"type": "image", "source": source} for source in sources)]

    assert _send(stage, agent, content).status == 200
    assert stage.send(agent, "And?").status == 200

    (heard,) = [each for each in stage.model.requests[-1].messages if each.text == "See:"]
    assert [getattr(part, "data", None) for part in heard.content] == [None, *pictures]


def test_forty_messages_of_120_kilobytes_fit_one_turn(stage: Stage, agent: str) -> None:
    texts = [f"{number}: " + "x" * 120_000 for number in range(40)]

    assert _send(stage, agent, *texts).status == 200

    assert [message["content"] for message in _listed(stage, agent)[-41:-1]] == texts


def test_a_large_turn_is_gone_on_with_after_a_death(stage: Stage, agent: str) -> None:
    for write in (2, 3, 4):
        stage.scene = Scene("long", f"{LONG}{write}", TWO_STEPS.answers)
        stage.model.think = stage.scene.think
        stage.die_at(write, agent, f"otid-{write}")
        stage.start_again()
        assert shown(stage.send(agent, stage.scene.text, f"otid-{write}"))[-1]["content"] == "Noted, Priya."


def _makes_blocks(count: int, value: str) -> Any:
    def think(request: ModelRequest) -> ModelAnswer:
        if request.messages[-1].role == "tool":
            return says("Done.")
        return both(
            *(
                calls(
                    "memory",
                    {"command": "create", "path": f"/memories/b{n}", "description": "d", "file_text": value},
                    id=f"call_{n}",
                )
                for n in range(count)
            )
        )

    return think


@pytest.mark.parametrize(("count", "value"), [(60, "small"), (16, "\N{LATIN SMALL LETTER E WITH ACUTE}" * 60_000)])
def test_more_memory_than_a_step_can_store_is_refused_to_the_model_not_to_the_user(
    stage: Stage, agent: str, count: int, value: str
) -> None:
    memory = stage.system.call("tools", "GET", "/v1/tools", query={"name": "memory"}).body[0]["id"]
    stage.system.call("agents", "PATCH", f"/v1/agents/{agent}/tools/attach/{memory}")
    stage.model.think = _makes_blocks(count, value)

    answer = stage.send(agent, "Make blocks.")

    *_, returned, done = shown(answer)
    assert done["content"] == "Done."
    assert {each["status"] for each in returned["tool_returns"]} == {"error"}
    assert returned["tool_returns"][0]["tool_return"].startswith("Nothing was changed: these calls together")
    listed = stage.system.call("agents", "GET", f"/v1/agents/{agent}/core-memory/blocks").body
    assert sorted(block["label"] for block in listed) == ["human", "notes"]

    stage.model.think = _makes_blocks(5, value)
    *_, returned, _ = shown(stage.send(agent, "Then fewer."))
    assert {each["status"] for each in returned["tool_returns"]} == {"success"}


def test_arguments_of_300_kilobytes_are_kept_as_the_model_wrote_them(stage: Stage, agent: str) -> None:
    def think(request: ModelRequest) -> ModelAnswer:
        if request.messages[-1].role == "tool":
            return says("Done.")
        return calls("memory_insert", {"label": "human", "new_string": LONG})

    stage.model.think = think

    answer = stage.send(agent, "Remember all of it.")

    call = shown(answer)[0]["tool_call"]
    assert json.loads(call["arguments"])["new_string"] == LONG
    assert shown(answer)[-1]["content"] == "Done."


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_object_store_that_does_not_answer_costs_nothing(
    stage: Stage, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of its calls in turn; then the same message comes again."""
    stage.scene = Scene("long", LONG, TWO_STEPS.answers)
    stage.model.think = stage.scene.think
    whole, undisturbed = stage.scene.new_agent(stage.system), _Unanswered(0, moment)
    monkeypatch.setattr("infra.local.aws.service._answer", undisturbed)
    first = shown(stage.send(whole, LONG))
    assert undisturbed.counted >= 2

    for at in range(1, undisturbed.counted + 1):
        agent, broken = stage.scene.new_agent(stage.system), _Unanswered(at, moment)
        monkeypatch.setattr("infra.local.aws.service._answer", broken)
        assert stage.send(agent, LONG, "otid-1").status == 503
        assert broken.counted == at
        assert shown(stage.send(agent, LONG, "otid-1")) == first
        assert stage.contents(agent) == stage.contents(whole)


class _Unanswered:
    """Stands where S3 is called, and loses call number `at`, or what it answered."""

    def __init__(self, at: int, moment: str) -> None:
        self.counted = 0
        self._at, self._moment, self._answer = at, moment, _answer

    def __call__(self, operation: Any, parameters: Any) -> Any:
        self.counted += 1
        if self.counted != self._at:
            return self._answer(operation, parameters)
        if self._moment == "after":
            self._answer(operation, parameters)
        raise ConnectionClosedError(endpoint_url="https://s3.invalid/")
