"""Requests of the loop in the shape of every kind of provider, refused where those would refuse them."""

from dataclasses import replace
from typing import Any, Final

from agentkeep.models import ModelAnswer, ModelRequest, anthropic_request, openai_request
from tests.doubles import provider_rules
from tests.doubles.models import ScriptedModel

OPENAI: Final = ("openai/gpt-4o-mini", "openai/gpt-5.4")
ANTHROPIC: Final = ("anthropic/claude-haiku-4-5", "anthropic/claude-opus-5-5")
VERSION: Final = {"anthropic-version": provider_rules.NEWEST_VERSION}


def bodies(request: ModelRequest) -> dict[str, dict[str, Any]]:
    """The request's body by model handle. Raises RefusedError for one that the provider would not take."""
    built: dict[str, dict[str, Any]] = {}
    for handle in OPENAI:
        built[handle] = openai_request.build(replace(request, handle=handle))
        provider_rules.refuse_openai(built[handle])
    for handle in ANTHROPIC:
        call = anthropic_request.build(replace(request, handle=handle))
        provider_rules.refuse_anthropic(call.body, {**VERSION, **call.headers})
        built[handle] = call.body
    return built


class StrictModel(ScriptedModel):
    """A scripted model that takes only what all providers take. `sent` are the bodies, for each request."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[dict[str, dict[str, Any]]] = []

    def __call__(self, request: ModelRequest) -> ModelAnswer:
        self.sent.append(bodies(request))
        return super().__call__(request)
