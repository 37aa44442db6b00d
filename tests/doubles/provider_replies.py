"""What a scripted provider answers: replies to build in a test, or to ask for in the message itself."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Arguments = Mapping[str, Any] | str


@dataclass(frozen=True)
class Reply:
    """One answer. `calls` are (tool name, arguments), arguments as an object or as raw text.

    `status` other than 200 is a refusal with `text` as its message; `cut` breaks the connection in the body; `trickle`
    sends spaces for ever; `body` is sent as it is. `wait` is seconds before the answer.
    """

    text: str | None = None
    calls: tuple[tuple[str, Arguments], ...] = ()
    thinking: str | None = None
    redacted: str | None = None
    finish: Literal["stop", "length", "refusal"] = "stop"
    usage: Mapping[str, int] = field(default_factory=dict)
    status: int = 200
    code: str | None = None
    retry_after_ms: int | None = 5
    wait: float = 0.0
    cut: bool = False
    trickle: bool = False
    body: bytes | None = None
    call_id: str | None = None

    def and_also(self, other: "Reply") -> "Reply":
        """Both replies' texts and calls in one."""
        text = "\n".join(filter(None, (self.text, other.text))) or None
        return replace(self, text=text, calls=self.calls + other.calls)


def say(text: str, **fields: Any) -> Reply:
    """A text."""
    return Reply(text=text, **fields)


def call(name: str, arguments: Arguments | None = None, **fields: Any) -> Reply:
    """A tool call; `arguments` may be raw text, valid JSON or not."""
    return Reply(calls=((name, arguments if arguments is not None else {}),), **fields)


def fail(status: int, message: str = "scripted failure", **fields: Any) -> Reply:
    """A refusal with this HTTP status."""
    return Reply(text=message, status=status, **fields)


def overflow() -> Reply:
    """The refusal of a context that is too long."""
    return Reply(text="too long", status=400, code="context_length_exceeded")


ACKNOWLEDGED = say("Acknowledged.")
_DIRECTIVE = re.compile(r"^@(?P<what>say|call|fail|think|empty|then)\b ?(?P<rest>.*)$")


def asked_for(text: str, step: int) -> Reply | None:
    """The reply that a user message asks for in its lines, for its `step`th model call (from 0), or None.

    `@say TEXT`, `@call NAME {json}`, `@think TEXT`, `@fail STATUS`, `@empty`; `@then` begins the next step. After the
    last step the answer is "Done.".
    """
    steps: list[Reply | None] = [None]
    for line in text.splitlines():
        found = _DIRECTIVE.match(line.strip())
        if found and found["what"] == "then":
            steps.append(None)
        elif found:
            reply = _directed(found["what"], found["rest"])
            steps[-1] = steps[-1].and_also(reply) if steps[-1] else reply
    if steps == [None]:
        return None
    return (steps[step] if step < len(steps) else None) or say("Done.")


def _directed(what: str, rest: str) -> Reply:
    if what == "call":
        name, _, arguments = rest.partition(" ")
        return call(name, arguments or "{}")
    if what == "fail":
        return fail(int(rest))
    if what == "think":
        return Reply(thinking=rest)
    return say(rest) if what == "say" else Reply()


def newest_request(messages: Sequence[Mapping[str, Any]]) -> tuple[str, int]:
    """The text of the newest message of the user, and how many answers it has had."""
    step = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            step += 1
        text = _text(message["content"]) if message["role"] == "user" else ""
        if text:
            return text, step
    return "", step


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def arguments_text(arguments: Arguments) -> str:
    """Arguments as a model writes them."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
