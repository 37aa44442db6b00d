"""The bodies and queries of the API: their defaults, their aliases, and what they refuse in which words."""

from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from agentkeep.api.parsing import parse_body, parse_query
from agentkeep.api.requests.agents import (
    CountAgents,
    CreateAgent,
    IncludeQuery,
    ListAgents,
    ListTags,
    UpdateAgent,
)
from agentkeep.api.requests.blocks import CreateBlock, ListBlocks, UpdateBlock
from agentkeep.api.requests.conversations import CreateConversation, ListConversations, UpdateConversation
from agentkeep.api.requests.messages import (
    ApprovalCreate,
    ListAllMessages,
    ListMessages,
    ListRunMessages,
    MessageCreate,
    SendMessages,
    SendToConversation,
    ToolReturnCreate,
)
from agentkeep.api.requests.models import ListModels
from agentkeep.api.requests.runs import ListRuns, ListSteps, StepFeedback
from agentkeep.api.requests.tools import ListAgentTools, ListTools
from agentkeep.errors import InvalidRequestError
from agentkeep.store.content import ImagePart, TextPart
from tests.unit.api.proxy import proxy_event

M = TypeVar("M", bound=BaseModel)
UUID = "019a1b2c-3d4e-4f60-8a7b-0123456789ab"


def body(model: type[M], /, **fields: Any) -> M:
    return parse_body(proxy_event("POST", "/v1/x", fields), model)


def query(model: type[M], text: str = "") -> M:
    return parse_query(proxy_event("GET", f"/v1/x?{text}"), model)


def refusal(model: type[BaseModel], /, **fields: Any) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        body(model, **fields)
    return caught.value.message


def test_an_agent_is_made_from_nothing_with_the_defaults_of_the_api() -> None:
    request = body(CreateAgent)

    assert (request.agent_type, request.include_base_tools, request.name) == ("letta_v1_agent", True, None)
    assert request.given() == {}


def test_what_letta_code_creates_is_understood() -> None:
    request = body(
        CreateAgent,
        agent_type="letta_v1_agent",
        system="You code.",
        name="Letta Code",
        description="A coding agent",
        model="anthropic/claude-sonnet-4-5",
        context_window_limit=200_000,
        memory_blocks=[{"label": "persona", "value": "", "limit": 20_000, "description": "Who I am"}],
        tags=["origin:letta-code"],
        include_base_tools=False,
        include_base_tool_rules=False,
        initial_message_sequence=[],
        parallel_tool_calls=True,
        compaction_settings={"model": "letta/auto"},
        tools=["web_search", "fetch_webpage"],
        enable_sleeptime=False,
    )

    assert [block.label for block in request.memory_blocks or []] == ["persona"]
    assert (request.tags, request.tools) == (["origin:letta-code"], ["web_search", "fetch_webpage"])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "name: String should have at least 1 character"),
        ({"name": "a\nb"}, "name: should be one line without control characters"),
        ({"name": "x" * 257}, "name: String should have at most 256 characters"),
        ({"tags": "one"}, 'tags: Input should be a valid list; it was "one".'),
        ({"tags": ["a", ""]}, "tags.1: String should have at least 1 character"),
        ({"tags": [f"t{n}" for n in range(51)]}, "tags: List should have at most 50 items"),
        ({"block_ids": ["block-1"]}, "block_ids.0: should look like 'block-123e4567-e89b-42d3-8456-426614174000'"),
        ({"tool_ids": [f"block-{UUID}"]}, "tool_ids.0: should look like 'tool-"),
        ({"timezone": "Mars/Olympus"}, "timezone: 'Mars/Olympus' is not a time zone"),
        ({"timezone": "../../etc/passwd"}, "timezone: '../../etc/passwd' is not a time zone"),
        ({"tool_rules": [{"type": "sometimes"}]}, "tool_rules.0: a tool rule's 'type' should be one of"),
        ({"tool_rules": [{"type": "run_first"}]}, "tool_rules.0: a tool rule needs 'tool_name'"),
        (
            {"tool_rules": [{"type": "constrain_child_tools", "tool_name": "a"}]},
            "tool_rules.0: the rule 'constrain_child_tools' needs 'children'.",
        ),
        ({"agent_type": "robot"}, "agent_type: Input should be 'memgpt_agent'"),
        ({"memory_blocks": [{"label": "x"}]}, "memory_blocks.0.value: Field required."),
        ({"memory_blocks": [{"label": "<b>", "value": ""}]}, "memory_blocks.0.label: String should match pattern"),
        ({"context_window_limit": 0}, "context_window_limit: Input should be greater than or equal to 1000"),
        ({"secrets": {"KEY": 5}}, "secrets.KEY: Input should be a valid string; it was 5."),
        ({"hidden": "yes"}, 'hidden: Input should be a valid boolean; it was "yes".'),
        ({"metadata": []}, "metadata: Input should be a valid dictionary; it was an array."),
    ],
)
def test_an_agent_that_does_not_fit_is_refused_by_field(fields: dict[str, Any], words: str) -> None:
    assert refusal(CreateAgent, **fields).startswith(words)


def test_names_and_tags_take_any_language() -> None:
    request = body(CreateAgent, name=" Émile 😀 ", tags=["日本", "a b", "日本"])

    assert (request.name, request.tags) == ("Émile 😀", ["日本", "a b"])


def test_an_update_holds_what_was_sent_and_null_changes_nothing() -> None:
    request = body(UpdateAgent, name="new", description=None, tags=[], metadata={"a": None})

    assert request.given() == {"name": "new", "tags": [], "metadata": {"a": None}}
    assert request.given("name", "system") == {"name": "new"}


def test_a_block_has_the_limit_of_the_api() -> None:
    request = body(CreateBlock, label="human", value="Bob")

    assert (request.limit, request.read_only) == (100_000, False)


def test_template_name_is_the_name_of_a_block() -> None:
    assert body(UpdateBlock, template_name="bob").given() == {"name": "bob"}


def test_a_block_over_its_limit_is_taken() -> None:
    assert len(body(UpdateBlock, value="x" * 200_000, limit=10).value or "") == 200_000


def test_blocks_are_listed_oldest_first_and_agents_newest_first() -> None:
    assert query(ListBlocks).page().descending is False
    assert query(ListAgents).page().descending is True


def test_the_filters_of_blocks_reach_the_store() -> None:
    filters = query(
        ListBlocks,
        "label=human&value_search=tea&connected_to_agents_count_gt=1&connected_to_agents_count_eq=2,3&tags=a",
    ).filters()

    assert (filters.label, filters.value_search, filters.tags) == ("human", "tea", ["a"])
    assert (filters.agents_gt, filters.agents_eq, filters.show_hidden) == (1, [2, 3], False)


def test_the_filters_of_agents_are_those_of_their_count() -> None:
    text = "name=ann&tags=a&tags=b&match_all_tags=true&query_text=x&last_stop_reason=error&show_hidden_agents=1"

    assert query(ListAgents, text).filters() == query(CountAgents, text).filters()
    assert query(ListAgents, text).filters().tags == ["a", "b"]
    assert query(ListAgents, text).filters().show_hidden is True


@pytest.mark.parametrize(
    ("text", "ordering"),
    [
        ("", "created_at"),
        ("order_by=last_run_completion", "last_run_completion"),
        ("sort_by=updated_at", "updated_at"),
        ("sort_by=updated_at&order_by=created_at", "created_at"),
    ],
)
def test_the_older_name_of_order_by_is_understood(text: str, ordering: str) -> None:
    assert query(ListAgents, text).ordering == ordering


@pytest.mark.parametrize(
    "text",
    [
        "include=agent.tools&include=agent.blocks",
        "include=agent.tools,agent.blocks",
        "include_relationships=tools&include_relationships=memory",
    ],
)
def test_include_is_understood_in_all_its_forms(text: str) -> None:
    assert query(IncludeQuery, text).included() == {"agent.tools", "agent.blocks"}


def test_an_unknown_include_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"include\.0: Input should be 'agent\.blocks'"):
        query(IncludeQuery, "include=agent.soul")


def test_tags_are_listed_by_name() -> None:
    read = query(ListTags, "query_text=a&limit=2")

    assert (read.containing, read.page().descending, read.page().limit) == ("a", False, 2)


def test_lists_have_the_lengths_of_the_api() -> None:
    lists: list[tuple[type[Any], int]] = [
        (ListAgents, 50), (ListBlocks, 50), (ListTools, 50), (ListAgentTools, 10), (ListMessages, 100),
        (ListAllMessages, 100), (ListRunMessages, 100), (ListRuns, 100), (ListSteps, 50), (ListConversations, 50),
    ]  # fmt: skip

    assert [(model, query(model).page().limit) for model, _ in lists] == lists


def test_messages_of_a_run_come_oldest_first() -> None:
    assert query(ListRunMessages).page().descending is False
    assert query(ListRunMessages).view().newest_first is False
    assert query(ListMessages).view().newest_first is True


def test_a_message_may_be_text_or_parts() -> None:
    request = body(
        SendMessages,
        messages=[
            {"role": "user", "content": "Hi."},
            {
                "type": "message",
                "role": "user",
                "otid": "o1",
                "content": [
                    {"type": "text", "text": "See:"},
                    {"type": "text", "text": ""},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                    {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}},
                    {"type": "image", "source": {"type": "url", "url": "data:image/gif;base64,aGk="}},
                ],
            },
        ],
    )

    first, second = request.incoming
    assert isinstance(first, MessageCreate)
    assert isinstance(second, MessageCreate)
    assert first.parts() == [TextPart(text="Hi.")]
    assert second.otid == "o1"
    assert second.parts() == [
        TextPart(text="See:"),
        ImagePart(media_type="image/png", data="aGk="),
        ImagePart(url="https://a.example/b.png"),
        ImagePart(media_type="image/gif", data="aGk="),
    ]


@pytest.mark.parametrize("sent", ["Hi.", [{"type": "text", "text": "Hi."}]])
def test_input_is_one_message_of_the_user(sent: object) -> None:
    [message] = body(SendMessages, input=sent).incoming

    assert isinstance(message, MessageCreate)
    assert (message.role, message.parts(), message.otid) == ("user", [TextPart(text="Hi.")], None)


MESSAGE = {"role": "user", "content": "Hi."}


def said(content: object) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}]}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "body: Must specify either 'input' or 'messages'."),
        ({"input": "a", "messages": [MESSAGE]}, "body: Must specify either 'input' or 'messages', not both."),
        ({"messages": []}, "messages: List should have at least 1 item"),
        ({"messages": "Hi."}, 'messages: Input should be a valid list; it was "Hi.".'),
        ({"messages": ["Hi."]}, "messages.0: "),
        ({"input": ""}, "input: must not be empty."),
        ({"input": []}, "input: must not be empty."),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "messages.0.role: Input should be 'user', 'system'"),
        (said(5), "messages.0.content: should be text, or an array of parts"),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required."),
        (said([{"type": "text"}]), "messages.0.content.0.text: Field required."),
        (said([{"type": "film"}]), "messages.0.content.0: should be of type 'text' or 'image'"),
        ({"messages": [{"type": "letter"}]}, "messages.0: should be of type 'message', 'approval' or 'tool_return'"),
        ({"messages": [{"type": "tool_return", "tool_returns": []}]}, "messages.0.tool_returns: List should have"),
        ({"input": "x", "max_steps": 0}, "max_steps: Input should be greater than or equal to 1"),
        ({"input": "x", "streaming": "yes"}, 'streaming: Input should be a valid boolean; it was "yes".'),
        ({"input": "x", "include_return_message_types": ["all"]}, "include_return_message_types.0: Input should be"),
    ],
)
def test_a_message_that_does_not_fit_is_refused_by_field(fields: dict[str, Any], words: str) -> None:
    assert refusal(SendMessages, **fields).startswith(words)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"type": "url", "url": "file:///etc/passwd"}, "url: should be an http or https address"),
        ({"type": "url", "url": "//host/x"}, "url: should be an http or https address"),
        ({"type": "base64", "media_type": "text/html", "data": "aGk="}, "media_type: 'text/html' is no image"),
        ({"type": "base64", "media_type": "image/png", "data": "no!"}, "data: should be the image in base64"),
        ({"type": "film"}, "should be of type 'base64', 'url' or 'letta'"),
    ],
)
def test_an_image_that_cannot_be_sent_is_refused(source: dict[str, str], words: str) -> None:
    refused = refusal(SendMessages, input=[{"type": "image", "source": source}])

    assert refused.startswith("input.0.source")
    assert words in refused


def test_a_stream_is_the_default_of_conversations_only() -> None:
    assert body(SendMessages, input="x").streaming is False
    assert body(SendToConversation, input="x").streaming is True


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (
            {"type": "approval", "approvals": [{"type": "approval", "tool_call_id": "c", "approve": True}]},
            ApprovalCreate,
        ),
        (
            {"type": "approval", "approvals": [{"type": "tool", "tool_call_id": "c", "tool_return": "x"}]},
            ApprovalCreate,
        ),
        ({"approve": False, "approval_request_id": "message-1"}, ApprovalCreate),
        ({"type": "tool_return", "tool_returns": [{"tool_call_id": "c", "tool_return": "x"}]}, ToolReturnCreate),
    ],
)
def test_answers_to_an_agent_that_waits_are_understood(sent: dict[str, Any], kind: type) -> None:
    assert isinstance(body(SendMessages, messages=[sent]).incoming[0], kind)


def test_how_answers_are_shown_is_part_of_the_request() -> None:
    view = body(
        SendMessages, input="x", include_return_message_types=["assistant_message"], use_assistant_message=False
    ).view()

    assert (view.types, view.use_assistant_message) == (frozenset({"assistant_message"}), False)
    assert query(ListMessages, "include_return_message_types=tool_call_message,user_message").view().types == frozenset(
        {"tool_call_message", "user_message"}
    )
    assert query(ListMessages).view().types is None


def test_what_letta_code_sends_is_understood() -> None:
    request = body(
        SendToConversation,
        messages=[{"role": "user", "content": [{"type": "text", "text": "hello"}], "otid": "o", "type": "message"}],
        streaming=True,
        stream_tokens=True,
        include_pings=True,
        background=True,
        client_skills=[{"name": "s", "description": "d", "location": "/s"}],
        client_tools=[{"name": "Bash", "description": "runs", "parameters": {"type": "object", "properties": {}}}],
        include_compaction_messages=True,
        agent_id=f"agent-{UUID}",
    )

    assert (request.background, request.max_steps) == (True, 50)
    assert [tool.name for tool in request.client_tools or []] == ["Bash"]


def test_conversations_name_their_agent_and_update_what_was_sent() -> None:
    created = body(CreateConversation, isolated_block_labels=[], hidden=True)
    updated = body(UpdateConversation, summary="About tea", archived=True, model=None)

    assert (created.isolated_block_labels, created.hidden) == ([], True)
    assert updated.given() == {"summary": "About tea", "archived": True}
    assert query(ListConversations).archive_status == "unarchived"


def test_runs_of_one_or_several_agents_are_asked_for() -> None:
    read = query(ListRuns, f"agent_ids=agent-{UUID}&agent_id=agent-{UUID}&statuses=running,created&active=true")

    assert read.agents == [f"agent-{UUID}"] * 2
    assert (read.statuses, read.active) == (["running", "created"], True)


def test_feedback_on_a_step_may_be_taken_back() -> None:
    assert body(StepFeedback, feedback=None).feedback is None
    assert refusal(StepFeedback, feedback="great").startswith("feedback: Input should be 'positive' or 'negative'")


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("", True),
        ("provider_name=openai", True),
        ("provider_type=anthropic", False),
    ],
)
def test_models_are_filtered_by_provider(text: str, fits: bool) -> None:
    assert query(ListModels, text).fits("openai", "openai") is fits


@pytest.mark.parametrize(
    ("text", "categories"),
    [
        ("", ("base", "byok")),
        ("provider_category=byok&provider_category=base", ("base", "byok")),
        ("provider_category=byok", ("byok",)),
        ("provider_category=none", ()),
    ],
)
def test_models_are_asked_for_by_whose_provider_it_is(text: str, categories: tuple[str, ...]) -> None:
    assert query(ListModels, text).categories() == categories
