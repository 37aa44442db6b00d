"""Input that no client should send and some do, for every route and every field of its body and query."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from pydantic import BaseModel

from agentkeep import clock, ids
from agentkeep.api import resolver
from agentkeep.store import database, providers
from agentkeep.store.entities import Provider
from infra.routes import ROUTES, Route
from tests.doubles.system import Answer, System

Json = dict[str, Any]

VALUES: Final[dict[str, Any]] = {
    "null": None,
    "true": True,
    "zero": 0,
    "minus one": -1,
    "a huge integer": 10**40,
    "a fraction": 1.5,
    "a great float": 1.7e308,
    "nothing": "",
    "a space": " ",
    "NUL": "\0",
    "NUL inside": "a\0b",
    "half a pair": "a\ud800b",
    "a newline": "a\nb",
    "2,000 emoji": "🙂" * 2_000,
    "5,000 letters": "x" * 5_000,
    "a path": "../../etc/passwd",
    "a number in text": "12",
    "an id of a block": "block-123e4567-e89b-42d3-8456-426614174000",
    "an id of an agent": "agent-123e4567-e89b-42d3-8456-426614174000",
    "an id of a message": "message-123e4567-e89b-42d3-8456-426614174000",
    "an empty array": [],
    "an empty object": {},
    "an array of null": [None],
    "an array of text": ["a\0b"],
    "an array of everything": [1, "a", {}, [], None, "🙂" * 300],
    "an array of objects": [{"a": 1}],
    "an object": {"a": "b"},
    "an object of odd types": {"type": 1, "tool_name": [], "text": {}, "role": None, "": "\0", "context_window": "x"},
    "an object of arrays": {
        "reasoning": [1],
        "thinking": "x",
        "handle": [],
        "temperature": [],
        "max_output_tokens": {},
    },
    "deep": {"a": [[[[[[[[{"b": [[[[]]]]}]]]]]]]]},
}
"""One value for every field, by what is wrong with it."""

BUILT: Final = [route for route in ROUTES if route.state == "built"]


def named(route: Route) -> str:
    """A route as test ids show it."""
    return f"{route.method} {route.path}"


class Models:
    """Records which models a route reads its body and its query as."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.body: type[BaseModel] | None = None
        self.query: type[BaseModel] | None = None
        read_body, read_query = resolver.parse_body, resolver.parse_query

        def body(event: Any, model: type[BaseModel]) -> BaseModel:
            self.body = model
            return read_body(event, model)

        def query(event: Any, model: type[BaseModel]) -> BaseModel:
            self.query = model
            return read_query(event, model)

        monkeypatch.setattr(resolver, "parse_body", body)
        monkeypatch.setattr(resolver, "parse_query", query)


def fields(model: type[BaseModel]) -> Iterator[str]:
    """The names by which a model's fields come in."""
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        yield from (str(choice) for choice in getattr(alias, "choices", [alias or name]))


class Place:
    """Entities of one tenant that requests can name. `block_id` is of the block on the agent, labelled `human`."""

    def __init__(self, system: System) -> None:
        self.system = system
        block = _made(system.call("blocks", "POST", "/v1/blocks", {"label": "human", "value": "x"}))
        spare = _made(system.call("blocks", "POST", "/v1/blocks", {"label": "spare", "value": "x"}))
        agent = system.new_agent(name="a", block_ids=[block["id"]])
        tools = system.call("tools", "GET", "/v1/tools").body
        talk = _made(system.call("conversations", "POST", "/v1/conversations", {"agent_id": agent["id"]}))
        assert system.send(agent["id"], "hello").status == 200
        run = system.call("runs", "GET", "/v1/runs").body[0]
        step = system.call("runs", "GET", "/v1/steps").body[0]
        message = system.call("messages", "GET", "/v1/messages").body[0]
        self.block_id = block["id"]
        self.arguments = {
            "agent_id": agent["id"],
            "block_id": spare["id"],
            "block_label": "human",
            "tool_id": tools[0]["id"],
            "conversation_id": talk["id"],
            "message_id": message["id"],
            "run_id": run["id"],
            "step_id": step["id"],
            "provider_id": _provider(system),
        }

    def path(self, route: Route, **other: str) -> str:
        """The route's path with entities that are there, but for the arguments named."""
        return re.sub(r"{(\w+)}", lambda found: {**self.arguments, **other}[found[1]], route.path)

    def body(self, route: Route) -> Json | None:
        """A body that the route takes."""
        if route.method == "GET" or route.method == "DELETE":
            return None
        if route.path.endswith("/messages"):
            return {"input": "hello", "streaming": False}
        known = {
            "POST /v1/agents": {"model": "demo/memory"},
            "POST /v1/blocks": {"label": "other", "value": "y"},
            "POST /v1/providers": {"name": "fresh", "provider_type": "ollama", "api_key": ""},
            "POST /v1/providers/check": {"provider_type": "ollama", "api_key": ""},
            "POST /v1/conversations": {"agent_id": self.arguments["agent_id"]},
        }
        return known.get(named(route), {})


def _made(answer: Answer) -> Json:
    assert answer.status == 200, answer.body
    made: Json = answer.body
    return made


def _provider(system: System) -> str:
    """The id of a provider that is there, made without asking it for its models."""
    with system.acting():
        found = providers.named("hostile")
        if found is None:
            stamp = {"created_at": clock.now(), "updated_at": clock.now()}
            found = Provider(id=ids.new("provider"), name="hostile", provider_type="ollama", **stamp)
            database.transact(list(providers.create_writes(found, ())))
    return found.id


def contents(system: System) -> list[tuple[Any, ...]]:
    """Every item of every table, byte for byte."""
    with system.engine.database.storage.reading() as connection:
        return connection.execute("SELECT tab, pk, sk, body FROM items ORDER BY tab, pk, sk").fetchall()


def expect_answered(system: System, route: Route, path: str, body: Any = None, query: Json | None = None) -> Answer:
    """Sends a request, which may be refused with a sentence and then has written nothing; it never ends in a 5xx."""
    system.engine.counters.reset()
    answer = system.call(route.function, route.method, path, body, query=query)
    told = (named(route), ascii(body)[:300], ascii(query)[:300], answer.status, ascii(answer.body)[:300])
    assert answer.status < 500, told
    if answer.status >= 400:
        detail = answer.body["detail"]
        assert isinstance(detail, str) or detail["message"], told
        assert system.engine.counters.counts.items_written == 0, told
    return answer
