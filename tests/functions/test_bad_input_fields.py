"""Every field of every body and query of every built route, with everything that does not belong there."""

from collections.abc import Iterator
from typing import Any

import pytest

from infra.routes import Route
from tests.doubles.hostile import BUILT, VALUES, Models, Place, expect_answered, fields, named
from tests.doubles.models import ScriptedModel
from tests.doubles.system import System, running

REFUSED_AS_IT_IS = {
    "PATCH /v1/agents/{agent_id}/core-memory/blocks/detach/{block_id}": 404,
    "PATCH /v1/agents/{agent_id}/tools/detach/{tool_id}": 404,
    "POST /v1/blocks/{block_id}/undo": 400,
}
"""Routes that the entities of a `Place` do not allow: nothing hangs there yet."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with running(tmp_path_factory.mktemp("fields")) as system:
        yield system


@pytest.mark.parametrize("route", sorted(BUILT, key=lambda route: route.method), ids=named)
def test_no_value_of_a_field_ends_in_a_500_or_a_half_stored_answer(
    shared: System, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, route: Route
) -> None:
    place, models = Place(shared), Models(monkeypatch)
    path, body = place.path(route), place.body(route)
    valid = expect_answered(shared, route, path, body)
    assert valid.status == REFUSED_AS_IT_IS.get(named(route), 200), valid.body

    for field in fields(models.body) if models.body else ():
        for value in VALUES.values():
            expect_answered(shared, route, path, {**(body or {}), field: value})
    for field in fields(models.query) if models.query else ():
        for value in VALUES.values():
            expect_answered(shared, route, path, body, query={field: _as_query(value)})

    if route.method != "GET":
        expect_everything_readable(shared)


def _as_query(value: Any) -> Any:
    return [str(item) for item in value] if isinstance(value, list) and value else str(value)


def expect_everything_readable(system: System) -> None:
    """What was taken in can be shown: one odd entity never breaks the lists that hold it."""
    everything = {"include": ["agent.blocks", "agent.tools", "agent.tags", "agent.secrets"], "limit": 1000}
    shown = {
        "/v1/agents": ("agents", everything | {"show_hidden_agents": "true"}),
        "/v1/blocks": ("blocks", {"limit": 1000, "show_hidden_blocks": "true"}),
        "/v1/providers": ("providers", {"limit": 1000}),
        "/v1/models": ("models", {"provider_category": "byok"}),
        "/v1/tags": ("agents", {"limit": 1000}),
        "/v1/conversations": ("conversations", {"limit": 1000, "archive_status": "all"}),
        "/v1/messages": ("messages", {"limit": 100}),
        "/v1/runs": ("runs", {"limit": 100}),
        "/v1/steps": ("runs", {"limit": 100}),
    }
    for path, (function, query) in shown.items():
        answer = system.call(function, "GET", path, query=query)
        assert answer.status == 200, (path, answer.status, ascii(answer.body)[:300])
