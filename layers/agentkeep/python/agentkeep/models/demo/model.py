"""One step of the demo model: store what there is to store, then reply."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from agentkeep.models.demo.edits import Call
from agentkeep.models.demo.replies import reply
from agentkeep.models.demo.scene import Scene
from agentkeep.models.interface import ModelAnswer, ModelRequest
from agentkeep.models.tokens import estimate_tokens
from agentkeep.store.content import TextPart, ToolCall, ToolSchema, Usage

PROVIDER: Final = "demo"
SEND_MESSAGE: Final = "send_message"
MOST_CALLS: Final = 8
"""Calls in one turn after which the model replies, whatever is left to store."""


def call(request: ModelRequest, seconds: float) -> ModelAnswer:
    """The next step: memory calls while there is something to store, one at a time unless the settings allow more, then
    a reply, through `send_message` where that tool is offered."""
    scene = Scene(request)
    wanted = scene.calls
    if not wanted or request.tool_choice == "none" or len(scene.done) >= MOST_CALLS:
        return _reply(scene)
    parallel = bool(request.settings.get("parallel_tool_calls"))
    return _answer(scene, "", wanted if parallel else wanted[:1])


def _reply(scene: Scene) -> ModelAnswer:
    spoken = any(done.call.name == SEND_MESSAGE for done in scene.done)
    if SEND_MESSAGE in scene.offered and not spoken and scene.request.tool_choice != "none":
        return _answer(scene, "", [Call(SEND_MESSAGE, {"message": reply(scene)})])
    return _answer(scene, reply(scene), [])


def _answer(scene: Scene, text: str, wanted: Sequence[Call]) -> ModelAnswer:
    calls = [_tool_call(scene, made) for made in wanted]
    prompt = estimate_tokens(scene.request.messages)
    completion = estimate_tokens(text) + sum(estimate_tokens(made.arguments) for made in calls)
    return ModelAnswer(
        content=[TextPart(text=text)] if text else [],
        tool_calls=calls,
        finish="tool_calls" if calls else "stop",
        usage=Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=prompt + completion,
            context_tokens=prompt + completion,
        ),
        provider=PROVIDER,
        model=scene.request.model,
    )


def _tool_call(scene: Scene, made: Call) -> ToolCall:
    """The call, with what a legacy tool asks for besides. Its id is a digest, new for every message and call."""
    text = json.dumps({**_extras(scene.offered[made.tool], made), **made.arguments}, ensure_ascii=False)
    newest = scene.request.messages[-1].id
    digest = hashlib.sha256(f"{newest}|{len(scene.request.messages)}|{made.tool}|{text}".encode()).hexdigest()
    return ToolCall(id=f"call_{digest[:24]}", name=made.tool, arguments=text)


def _extras(schema: ToolSchema, made: Call) -> dict[str, Any]:
    known: dict[str, Any] = {"request_heartbeat": made.tool != SEND_MESSAGE, "thinking": "", "inner_thoughts": ""}
    required = schema.parameters.get("required") or ()
    return {name: value for name, value in known.items() if name in required}
