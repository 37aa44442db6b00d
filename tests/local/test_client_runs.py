"""Runs, steps and models by the official client: what a turn leaves behind."""

from typing import Any
from uuid import uuid4

import pytest
from letta_client import APIStatusError, Letta, NotFoundError
from letta_client.types import AgentState

from tests.local.clients import kinds

MODEL = "openai/gpt-4o-mini"
INSERT = '@call memory_insert {"label": "human", "new_string": "Likes tea."}\n@then\n@say Noted.'


@pytest.fixture
def agent(client: Letta) -> AgentState:
    """An agent with three turns behind it: a text, one with a tool, and one whose provider refused."""
    agent = client.agents.create(model=MODEL, memory_blocks=[{"label": "human", "value": "Ada"}])
    client.agents.messages.create(agent.id, input="@say Hello.")
    client.agents.messages.create(agent.id, input=INSERT)
    with pytest.raises(APIStatusError):
        client.agents.messages.create(agent.id, input="@fail 400")
    return agent


class TestRuns:
    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_are_walked_once_each_in_order(self, client: Letta, agent: AgentState, order: Any) -> None:
        walked = [run.status for run in client.runs.list(agent_id=agent.id, limit=1, order=order)]

        assert walked == (
            ["completed", "completed", "failed"] if order == "asc" else ["failed", "completed", "completed"]
        )

    @pytest.mark.parametrize(
        ("filters", "count"),
        [
            ({"statuses": ["completed"]}, 2),
            ({"statuses": ["failed"]}, 1),
            ({"stop_reason": "end_turn"}, 2),
            ({"active": True}, 0),
            ({"background": True}, 0),
        ],
    )
    def test_are_found_by_any_filter(self, client: Letta, agent: AgentState, filters: Any, count: int) -> None:
        found = list(client.runs.list(agent_id=agent.id, limit=1, **filters))

        assert len(found) == count

    def test_are_found_by_their_conversation(self, client: Letta, agent: AgentState) -> None:
        conversation = client.conversations.create(agent_id=agent.id)
        list(client.conversations.messages.create(conversation.id, input="@say Here."))

        (run,) = client.runs.list(conversation_id=conversation.id)

        assert (run.agent_id, run.conversation_id, run.status) == (agent.id, conversation.id, "completed")

    def test_keep_what_was_said_used_and_done(self, client: Letta, agent: AgentState) -> None:
        _, run, _ = client.runs.list(agent_id=agent.id)

        messages = list(client.runs.messages.list(run.id, limit=1, order="asc"))
        steps = list(client.runs.steps.list(run.id, limit=1, order="asc"))
        usage = client.runs.usage.retrieve(run.id)
        metrics: Any = client.get(f"/v1/runs/{run.id}/metrics", cast_to=object)

        assert client.runs.retrieve(run.id).stop_reason == "end_turn"
        assert kinds(messages) == ["user_message", "tool_call_message", "tool_return_message", "assistant_message"]
        assert [step.run_id for step in steps] == [run.id, run.id]
        assert usage.completion_tokens == sum(step.completion_tokens or 0 for step in steps) == 20
        assert metrics["num_steps"] == 2

    def test_a_failed_one_says_why(self, client: Letta, agent: AgentState) -> None:
        failed = next(iter(client.runs.list(agent_id=agent.id)))

        run = client.runs.retrieve(failed.id)

        assert (run.status, run.stop_reason) == ("failed", "llm_api_error")
        assert run.metadata is not None
        assert "llm_bad_request" in str(run.metadata["error"])

    def test_unknown_ones_are_not_found(self, client: Letta) -> None:
        with pytest.raises(NotFoundError):
            client.runs.retrieve(f"run-{uuid4()}")
        with pytest.raises(NotFoundError):
            client.runs.messages.list(f"run-{uuid4()}")


class TestSteps:
    def test_are_walked_and_read(self, client: Letta, agent: AgentState) -> None:
        steps = list(client.steps.list(agent_id=agent.id, limit=2, order="asc"))

        assert len({step.id for step in steps}) == 3
        assert client.steps.retrieve(steps[0].id).model == steps[0].model
        assert kinds(client.steps.messages.list(steps[0].id, order="asc")) == ["user_message", "assistant_message"]

    def test_are_timed(self, client: Letta, agent: AgentState) -> None:
        step = next(iter(client.steps.list(agent_id=agent.id)))

        metrics = client.steps.metrics.retrieve(step.id)

        assert metrics.step_ns is not None
        assert 0 < (metrics.llm_request_ns or 0) <= metrics.step_ns

    def test_take_feedback(self, client: Letta, agent: AgentState) -> None:
        first, *_ = client.steps.list(agent_id=agent.id)

        rated = client.steps.feedback.create(first.id, feedback="positive", tags=["short"])

        assert (rated.feedback, rated.tags) == ("positive", ["short"])
        assert [step.id for step in client.steps.list(agent_id=agent.id, has_feedback=True)] == [first.id]
        assert [step.id for step in client.steps.list(agent_id=agent.id, feedback="negative")] == []


class TestModels:
    def test_are_those_of_the_providers_and_the_demo(self, client: Letta) -> None:
        handles = {model.handle: model for model in client.models.list()}

        assert {"openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"} <= set(handles)
        assert handles["openai/gpt-4.1"].max_context_window == 1_047_576
        assert "openai/text-embedding-3-small" not in handles
        assert "openai/whisper-1" not in handles

    def test_are_filtered_by_provider(self, client: Letta) -> None:
        handles = [model.handle for model in client.models.list(provider_name="anthropic")]

        assert handles
        assert all(str(handle).startswith("anthropic/") for handle in handles)

    def test_embedding_models_are_a_list_of_their_own(self, client: Letta) -> None:
        assert "openai/text-embedding-3-small" in [model.handle for model in client.models.embeddings.list()]
