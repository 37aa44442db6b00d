"""By what a request is recognised when it comes again."""

from dataclasses import replace
from typing import Any

import pytest

from agentkeep.loop.request import Input, TurnRequest
from agentkeep.store.content import ImagePart, TextPart


def request(*texts: str, otid: str | None = None, **fields: Any) -> TurnRequest:
    inputs = [Input(content=[TextPart(text=text)], otid=otid) for text in texts]
    return TurnRequest("agent-1", "conv-1", inputs, **fields)


def test_a_repetition_has_the_same_digest() -> None:
    assert request("Hello.", "Are you there?").digest == request("Hello.", "Are you there?").digest


def test_how_it_came_and_how_it_is_answered_does_not_matter() -> None:
    first = request("Hello.", otid="otid-1")
    again = request(
        "Hello.", otid="otid-2", retried=True, background=True, idempotency_key="k", deadline=9.0,
        config={"use_assistant_message": False},
    )  # fmt: skip

    assert first.digest == again.digest


@pytest.mark.parametrize(
    "other",
    [
        request("Hello!"),
        request("Hello.", ""),
        request("Hel", "lo."),
        request("Hello.", max_steps=1),
        request("Hello.", override_model="openai/gpt"),
        request("Hello.", override_system="Be brief."),
        replace(request("Hello."), inputs=[Input(role="system", content=[TextPart(text="Hello.")])]),
        replace(request("Hello."), inputs=[Input(content=[TextPart(text="Hello."), ImagePart(data="AAAA")])]),
    ],
)
def test_what_is_asked_matters(other: TurnRequest) -> None:
    assert request("Hello.").digest != other.digest


def test_an_idempotency_key_goes_before_an_otid() -> None:
    assert request("Hello.", otid="otid-1", idempotency_key="key-1").key == "key:key-1"
    assert request("Hello.", otid="otid-1").key == "otid:otid-1"
    assert request("Hello.").key is None


def test_the_first_otid_of_several_messages_counts() -> None:
    inputs = [Input(content=[TextPart(text=text)], otid=otid) for text, otid in [("a", None), ("b", "2"), ("c", "3")]]

    assert TurnRequest("agent-1", "conv-1", inputs).key == "otid:2"


def test_a_stored_request_is_enough_to_go_on_with_it() -> None:
    stored = request("Hello.", otid="otid-1", max_steps=3, override_system="Be brief.").stored()

    assert (stored["max_steps"], stored["override_system"], stored["key"]) == (3, "Be brief.", "otid:otid-1")
    (restored,) = [Input.model_validate(fields) for fields in stored["inputs"]]
    assert restored == request("Hello.", otid="otid-1").inputs[0]
