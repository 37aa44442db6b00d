"""Messages and conversations by the official client: answers whole and as events, histories in pages, tool calls."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from letta_client import APIStatusError, AsyncLetta, BadRequestError, Letta, NotFoundError
from letta_client.types import AgentState

from tests.doubles.provider import ScriptedProvider
from tests.local.clients import history, in_threads, kinds, said, unpaired_calls
from tests.local.servers import LocalServer

INSERT = '@call memory_insert {"label": "human", "new_string": "Likes tea."}\n@then\n@say Noted.'


@pytest.fixture(params=["openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"])
def agent(client: Letta, request: pytest.FixtureRequest) -> AgentState:
    """An agent of each kind of provider, with a block `human`."""
    return client.agents.create(model=request.param, memory_blocks=[{"label": "human", "value": "Ada"}])


class TestAnswers:
    def test_a_text(self, client: Letta, agent: AgentState) -> None:
        answer = client.agents.messages.create(agent.id, input="@say Good morning.")

        assert kinds(answer.messages) == ["assistant_message"]
        assert said(answer.messages) == "Good morning."
        assert answer.stop_reason.stop_reason == "end_turn"
        assert (answer.usage.step_count, answer.usage.completion_tokens) == (1, 10)
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + 10

    def test_a_memory_tool_and_then_a_text(self, client: Letta, agent: AgentState) -> None:
        answer = client.agents.messages.create(agent.id, input=INSERT)

        call, returned, text = answer.messages
        assert (call.tool_call.name, returned.status) == ("memory_insert", "success")
        assert call.tool_call.tool_call_id == returned.tool_call_id
        assert text.content == "Noted."
        assert answer.usage.step_count == 2
        assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "Ada\nLikes tea."

    def test_the_model_sees_memory_and_history(
        self, client: Letta, agent: AgentState, provider: ScriptedProvider
    ) -> None:
        client.agents.messages.create(agent.id, input=INSERT)

        client.agents.messages.create(agent.id, input="@say Yes.")

        seen = str(provider.calls[-1].body)
        assert "Likes tea." in seen
        assert "Noted." in seen

    def test_messages_of_several_kinds_and_an_image(self, client: Letta, agent: AgentState) -> None:
        pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        content: list[Any] = [
            {"type": "text", "text": "@say A dot."},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}},
        ]

        answer = client.agents.messages.create(
            agent.id, messages=[{"role": "system", "content": "Look."}, {"role": "user", "content": content}]
        )

        assert said(answer.messages) == "A dot."

    def test_only_the_asked_message_types(self, client: Letta, agent: AgentState) -> None:
        answer = client.agents.messages.create(
            agent.id, input=INSERT, include_return_message_types=["assistant_message"]
        )

        assert kinds(answer.messages) == ["assistant_message"]

    def test_a_failing_tool_call_is_told_to_the_model(self, client: Letta, agent: AgentState) -> None:
        answer = client.agents.messages.create(
            agent.id, input='@call memory_insert {"label": "nowhere", "new_string": "x"}\n@then\n@call no_such_tool {}'
        )

        returns = [each for each in answer.messages if each.message_type == "tool_return_message"]
        assert [each.status for each in returns] == ["error", "error"]
        assert said(answer.messages) == "Done."

    def test_max_steps_ends_a_turn(self, client: Letta, agent: AgentState) -> None:
        answer = client.agents.messages.create(agent.id, input=INSERT, max_steps=1)

        assert answer.stop_reason.stop_reason == "max_steps"
        assert unpaired_calls(history(client, agent.id)) == set()

    def test_an_approval_that_nobody_waits_for_is_refused(self, client: Letta, agent: AgentState) -> None:
        with pytest.raises(BadRequestError, match="No tool call is currently awaiting approval"):
            client.agents.messages.create(
                agent.id, messages=[{"type": "approval", "approve": True, "approval_request_id": f"message-{uuid4()}"}]
            )


class TestStreams:
    def test_events_of_a_turn(self, client: Letta, agent: AgentState) -> None:
        events = list(client.agents.messages.create(agent.id, input=INSERT, streaming=True))

        assert kinds(events) == [
            "ping",
            "tool_call_message",
            "tool_return_message",
            "assistant_message",
            "stop_reason",
            "usage_statistics",
        ]
        assert len({event.run_id for event in events[:4]}) == 1

    def test_a_conversation_streams_by_itself(self, client: Letta, agent: AgentState) -> None:
        conversation = client.conversations.create(agent_id=agent.id)

        events = list(client.conversations.messages.create(conversation.id, input="@say Here."))

        assert said(events) == "Here."

    def test_a_conversation_answers_whole_when_asked(self, client: Letta, agent: AgentState) -> None:
        conversation = client.conversations.create(agent_id=agent.id)

        answer: Any = client.post(
            f"/v1/conversations/{conversation.id}/messages",
            body={"input": "@say Here.", "streaming": False},
            cast_to=object,
        )

        assert [message["content"] for message in answer["messages"]] == ["Here."]

    def test_the_default_conversation_of_an_agent(self, client: Letta, agent: AgentState) -> None:
        events = client.conversations.messages.create("default", agent_id=agent.id, input="@say Home.")

        assert said(events) == "Home."
        assert said(history(client, agent.id)) == "Home."

    def test_a_failing_provider_ends_the_stream_with_its_error(self, client: Letta, agent: AgentState) -> None:
        stream = client.agents.messages.create(agent.id, input="@fail 400", streaming=True)

        with pytest.raises(APIStatusError, match="llm_bad_request"):
            list(stream)

        assert kinds(history(client, agent.id)) == ["system_message"]

    def test_the_async_client(self, shared_server: LocalServer, agent: AgentState) -> None:
        async def talk() -> tuple[str, list[str]]:
            async with AsyncLetta(base_url=shared_server.base_url, api_key="any") as client:
                answer = await client.agents.messages.create(agent.id, input="@say First.")
                stream = await client.agents.messages.create(agent.id, input="@say Second.", streaming=True)
                return said(answer.messages), kinds([event async for event in stream])

        assert asyncio.run(talk()) == ("First.", ["ping", "assistant_message", "stop_reason", "usage_statistics"])


class TestHistories:
    @pytest.fixture
    def talk(self, client: Letta) -> AgentState:
        """An agent with five turns behind it."""
        agent = client.agents.create(model="openai/gpt-4o-mini")
        for number in range(5):
            client.agents.messages.create(agent.id, input=f"@say answer {number}")
        return agent

    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_are_walked_once_each_in_order(self, client: Letta, talk: AgentState, order: Any) -> None:
        walked = [message.id for message in client.agents.messages.list(talk.id, limit=3, order=order)]

        whole = [message.id for message in history(client, talk.id)]
        assert len(whole) == len(set(whole)) == 11
        assert walked == (whole if order == "asc" else whole[::-1])

    def test_are_newest_first_unless_asked(self, client: Letta, talk: AgentState) -> None:
        newest = next(iter(client.agents.messages.list(talk.id)))

        assert said([newest]) == "answer 4"

    def test_a_message_is_read_by_its_id(self, client: Letta, talk: AgentState) -> None:
        message = history(client, talk.id)[-1]

        assert [found.id for found in client.messages.retrieve(message.id)] == [message.id]
        with pytest.raises(NotFoundError):
            client.messages.retrieve(f"message-{uuid4()}")

    def test_the_newest_of_a_tenant(self, client: Letta, talk: AgentState) -> None:
        newest = client.messages.list(limit=2)

        assert said(newest[:1]) == "answer 4"

    def test_reset_leaves_what_was_said_and_forgets_it(
        self, client: Letta, talk: AgentState, provider: ScriptedProvider
    ) -> None:
        client.agents.messages.reset(talk.id)
        client.agents.messages.create(talk.id, input="@say Anew.")

        assert "answer 4" not in str(provider.calls[-1].body)
        assert said(history(client, talk.id)).startswith("answer 0")


class TestConversations:
    def test_are_created_read_changed_listed_and_deleted(self, client: Letta, agent: AgentState) -> None:
        conversation = client.conversations.create(agent_id=agent.id, summary="first")
        changed = client.conversations.update(conversation.id, summary="second")
        read = client.conversations.retrieve(conversation.id)
        listed = client.conversations.list(agent_id=agent.id)
        client.conversations.delete(conversation.id)

        assert (conversation.agent_id, conversation.summary) == (agent.id, "first")
        assert changed.summary == read.summary == "second"
        assert conversation.id in [found.id for found in listed]
        with pytest.raises(NotFoundError):
            client.conversations.retrieve(conversation.id)

    def test_ten_of_one_agent_run_side_by_side_and_keep_apart(self, client: Letta, agent: AgentState) -> None:
        conversations = [client.conversations.create(agent_id=agent.id) for _ in range(10)]

        in_threads(
            10, lambda n: list(client.conversations.messages.create(conversations[n].id, input=f"@say number {n}"))
        )

        for number, conversation in enumerate(conversations):
            assert said(history(client, agent.id, conversation.id)) == f"number {number}"
        assert said(history(client, agent.id)) == ""

    def test_share_their_agents_memory(self, client: Letta, agent: AgentState, provider: ScriptedProvider) -> None:
        one, other = (client.conversations.create(agent_id=agent.id) for _ in range(2))
        list(client.conversations.messages.create(one.id, input=INSERT))

        list(client.conversations.messages.create(other.id, input="@say Yes."))

        seen = str(provider.calls[-1].body)
        assert "Likes tea." in seen
        assert "Noted." not in seen
