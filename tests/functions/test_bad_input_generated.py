"""Bodies generated from the models of requests, and from the shapes that Letta's own API description gives them."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agentkeep.api.requests.agents import CreateAgent, ResetMessages, UpdateAgent
from agentkeep.api.requests.blocks import CreateBlock, UndoBlock, UpdateBlock
from agentkeep.api.requests.conversations import CreateConversation, UpdateConversation
from agentkeep.api.requests.messages import SendMessages, SendToConversation
from agentkeep.api.requests.runs import StepFeedback
from tests.doubles.hostile import BUILT, Place, expect_answered, named
from tests.doubles.models import ScriptedModel
from tests.doubles.shapes import values
from tests.doubles.system import System, running

Json = dict[str, Any]

TOOL_RULE = {
    "type": "object",
    "properties": {
        "type": {
            "enum": ["run_first", "exit_loop", "continue_loop", "conditional", "constrain_child_tools", "no such"]
        },
        "tool_name": {"type": "string"},
        "children": {"type": "array", "items": {"type": "string"}},
        "child_output_mapping": {"type": "object"},
        "default_child": {"type": "string"},
        "max_count_limit": {"type": "integer"},
        "prompt_template": {"type": "string"},
    },
    "required": ["type", "tool_name"],
}
MODEL_SETTINGS = {
    "type": "object",
    "properties": {
        "provider_type": {"enum": ["openai", "anthropic", "google_ai", "no such"]},
        "max_output_tokens": {"type": "integer", "minimum": 1},
        "temperature": {"type": "number"},
        "parallel_tool_calls": {"type": "boolean"},
        "reasoning": {"type": "object", "properties": {"reasoning_effort": {"enum": ["none", "low", "xhigh"]}}},
        "thinking": {
            "type": "object",
            "properties": {"type": {"enum": ["enabled", "disabled"]}, "budget_tokens": {"type": "integer"}},
        },
        "response_format": {"type": "object", "properties": {"type": {"enum": ["text", "json_schema", "json_object"]}}},
    },
}
AGENT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "model": {"const": "demo/memory"},
        "tool_rules": {"type": "array", "items": TOOL_RULE},
        "model_settings": MODEL_SETTINGS,
        "compaction_settings": {
            "type": "object",
            "properties": {"mode": {"type": "string"}, "model": {"type": "string"}},
        },
        "llm_config": {
            "type": "object",
            "properties": {
                "model": {"type": "string"},
                "model_endpoint_type": {"enum": ["openai", "anthropic"]},
                "context_window": {"type": "integer", "minimum": 1_000},
            },
        },
        "memory_blocks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "label": {"enum": ["human", "persona"]},
                    "value": {"type": "string"},
                    "limit": {"type": "integer"},
                },
                "required": ["label", "value"],
            },
        },
    },
}
CONTENT = {
    "anyOf": [
        {"type": "object", "properties": {"type": {"const": "text"}, "text": {"type": "string"}}, "required": ["text"]},
        {
            "type": "object",
            "properties": {
                "type": {"const": "image"},
                "source": {
                    "type": "object",
                    "properties": {
                        "type": {"const": "base64"},
                        "media_type": {"const": "image/png"},
                        "data": {"const": "aGk="},
                    },
                    "required": ["type", "media_type", "data"],
                },
            },
            "required": ["type", "source"],
        },
    ]
}
MESSAGES = {
    "type": "object",
    "properties": {
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "role": {"enum": ["user", "system", "assistant"]},
                    "content": {"anyOf": [{"type": "string"}, {"type": "array", "items": CONTENT}]},
                    "otid": {"type": "string"},
                    "type": {"const": "message"},
                },
                "required": ["role", "content"],
            },
        },
        "streaming": {"const": False},
        "max_steps": {"type": "integer", "minimum": 1},
    },
    "required": ["messages"],
}


def schema(model: type[BaseModel]) -> Json:
    described: Json = model.model_json_schema()
    return described


SHAPES: list[tuple[str, Json]] = [
    ("POST /v1/agents", schema(CreateAgent)),
    ("POST /v1/agents", AGENT),
    ("PATCH /v1/agents/{agent_id}", schema(UpdateAgent)),
    ("PATCH /v1/agents/{agent_id}", AGENT),
    ("PATCH /v1/agents/{agent_id}/reset-messages", schema(ResetMessages)),
    ("PATCH /v1/agents/{agent_id}/core-memory/blocks/{block_label}", schema(UpdateBlock)),
    ("POST /v1/blocks", schema(CreateBlock)),
    ("PATCH /v1/blocks/{block_id}", schema(UpdateBlock)),
    ("POST /v1/blocks/{block_id}/undo", schema(UndoBlock)),
    ("POST /v1/conversations", schema(CreateConversation)),
    ("PATCH /v1/conversations/{conversation_id}", schema(UpdateConversation)),
    ("POST /v1/agents/{agent_id}/messages", schema(SendMessages)),
    ("POST /v1/agents/{agent_id}/messages", MESSAGES),
    ("POST /v1/conversations/{conversation_id}/messages", schema(SendToConversation)),
    ("PATCH /v1/steps/{step_id}/feedback", schema(StepFeedback)),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with running(tmp_path_factory.mktemp("generated")) as system:
        yield system


@pytest.fixture
def places(shared: System) -> Callable[[], Place]:
    """A place that is kept for all bodies of one test."""
    return cache(lambda: Place(shared))


@pytest.mark.parametrize(("name", "shape"), SHAPES, ids=[f"{number} {name}" for number, (name, _) in enumerate(SHAPES)])
@settings(
    max_examples=40, derandomize=True, deadline=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(data=st.data())
def test_a_generated_body_is_taken_whole_or_refused_whole(
    shared: System, places: Callable[[], Place], model: ScriptedModel, name: str, shape: Json, data: st.DataObject
) -> None:
    (route,) = [route for route in BUILT if named(route) == name]
    path = places().path(route)

    query = {"agent_id": places().arguments["agent_id"]} if route.path == "/v1/conversations" else None

    answer = expect_answered(shared, route, path, data.draw(values(shape)), query)

    if "{block_label}" in route.path:  # it may have another label now
        shared.call("blocks", "PATCH", f"/v1/blocks/{places().block_id}", {"label": "human"})

    if answer.status == 200 and name == "POST /v1/agents":
        again = shared.call("agents", "GET", f"/v1/agents/{answer.body['id']}", query={"include": "agent.blocks"})
        assert again.body["blocks"] == answer.body["blocks"]
