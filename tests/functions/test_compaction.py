"""A window that fills up in the course of turns: when it is compacted, what the model sees then, what clients see."""

from typing import Any

import pytest

from agentkeep.models import ModelAnswer, ModelRequest
from tests.doubles.models import ScriptedModel, calls, says
from tests.doubles.system import System
from tests.doubles.windows import WINDOW, full_agent, is_for_a_summary, overflow, send, shown_to, sized, window_of


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    return [message["message_type"] for message in messages]


class TestAfterAStep:
    def test_a_prompt_larger_than_the_window_is_compacted_before_the_next_call(
        self, system: System, model: ScriptedModel
    ) -> None:
        agent = full_agent(system, model)
        model.script = [sized(says("Yes."), prompt=WINDOW + 1)]
        system.send(agent, "Are you there?")
        model.script = [says("They told six stories."), sized(says("Six."), prompt=900)]

        answer = send(system, agent, "How many stories?")

        expected = ["[Note from", "Heard 5.", "Story 6.", "Heard 6.", "Are you", "Yes.", "How many"]
        event, summary, text = answer.body["messages"]
        assert kinds([event, summary, text]) == ["event_message", "summary_message", "assistant_message"]
        assert event["event_type"] == "compaction"
        assert event["event_data"] == {
            "trigger": "post_step_context_check", "context_token_estimate": WINDOW + 1, "context_window": WINDOW,
        }  # fmt: skip
        assert summary["summary"] == "They told six stories."
        assert summary["compaction_stats"]["context_tokens_before"] == WINDOW + 1
        assert summary["compaction_stats"]["context_tokens_after"] < WINDOW / 2
        assert (summary["compaction_stats"]["messages_count_before"], text["content"]) == (15, "Six.")
        assert shown_to(model.requests[-1]) == expected

    def test_a_turn_compacts_between_its_steps(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model)
        search = calls("conversation_search", {"query": "Story"}, id="call_1")
        model.script = [sized(search, prompt=WINDOW + 1), says("Stories."), sized(says("Done."), prompt=900)]

        answer = send(system, agent, "Look it up.")

        assert kinds(answer.body["messages"]) == [
            "tool_call_message", "tool_return_message", "event_message", "summary_message", "assistant_message",
        ]  # fmt: skip
        asked = model.requests[-1].messages
        assert (asked[-2].tool_calls[0].id, asked[-1].tool_returns[0].tool_call_id) == ("call_1", "call_1")
        assert [message.text[:17] for message in asked[1:3]] == ["[Note from the sy", "Look it up."]
        assert "12 messages" in asked[1].text
        run = system.call("runs", "GET", f"/v1/runs/{answer.body['messages'][0]['run_id']}/messages").body
        assert kinds(run)[-2:] == ["summary_message", "assistant_message"]

    def test_what_the_model_writes_or_thinks_does_not_count(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model, turns=2)

        for _ in range(10):
            model.script = [sized(says("Yes."), prompt=2_000, completion=WINDOW * 2)]
            assert kinds(send(system, agent, "Go on.").body["messages"]) == ["assistant_message"]

        assert not any(map(is_for_a_summary, model.requests))

    def test_a_provider_that_counts_too_much_causes_one_compaction_a_step_at_most(
        self, system: System, model: ScriptedModel
    ) -> None:
        agent = full_agent(system, model)

        def answer(request: ModelRequest) -> ModelAnswer:
            return says("A summary.") if is_for_a_summary(request) else sized(says("Yes."), prompt=WINDOW * 2)

        for _ in range(10):
            model.script = [answer, answer]
            assert system.send(agent, "Go on.").status == 200

        assert sum(map(is_for_a_summary, model.requests)) <= 3

    def test_a_smaller_window_is_kept_to_from_the_next_turn_on(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model, context_window_limit=100_000)
        model.script = [sized(says("Yes."), prompt=4_500)]
        system.send(agent, "Are you there?")
        system.call("agents", "PATCH", f"/v1/agents/{agent}", {"context_window_limit": WINDOW})

        assert "summary_message" in kinds(send(system, agent, "And now?").body["messages"])

    def test_without_being_asked_for_nothing_of_it_is_shown(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model)
        model.script = [overflow(), says("Stories."), says("Six.")]

        answer = system.send(agent, "How many stories?")

        assert kinds(answer.body["messages"]) == ["assistant_message"]

    def test_a_stream_tells_that_it_begins_and_what_came_of_it(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model)
        model.script = [overflow(), says("Stories."), says("Six.")]

        frames = send(system, agent, "How many stories?", streaming=True).body

        assert kinds(frames)[1:4] == ["event_message", "summary_message", "assistant_message"]


class TestOverflow:
    def test_the_call_is_made_once_more_on_a_smaller_context(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model)
        model.script = [overflow(), says("They told stories."), says("Six.")]

        answer = send(system, agent, "How many stories?")

        assert (answer.status, answer.body["messages"][-1]["content"]) == (200, "Six.")
        assert answer.body["messages"][0]["event_data"]["trigger"] == "context_window_exceeded"
        refused, _, again = model.requests
        assert len(again.messages) < len(refused.messages)
        assert shown_to(again)[-1] == shown_to(refused)[-1] == "How many"

    def test_a_second_overflow_ends_the_run(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model)
        model.script = [overflow(), says("They told stories."), overflow()]

        answer = send(system, agent, "How many stories?")

        assert (answer.status, answer.body["error"]["type"]) == (400, "context_window_exceeded")
        assert len(model.requests) == 3
        assert "How many stories?" not in str(window_of(system, agent))
        model.script = [says("Still here.")]
        assert send(system, agent, "Hello?").status == 200

    def test_a_message_too_long_for_the_window_costs_no_history(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model, turns=3)
        model.script = [overflow()]

        answer = system.send(agent, "x" * WINDOW * 5)

        assert (answer.status, len(model.requests)) == (400, 1)
        assert len(window_of(system, agent)) == 6

    def test_a_system_prompt_that_fills_the_window_is_said_to_do_so(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model, turns=0, system="rule " * WINDOW)
        model.script = [overflow()]

        answer = system.send(agent, "Hello?")

        error = answer.body["error"]
        assert (answer.status, error["type"]) == (400, "context_window_overflow_in_system_prompt")
        assert f"the context window has {WINDOW}" in error["message"]
        run = system.call("runs", "GET", "/v1/runs", query={"agent_id": agent}).body[0]
        assert (run["status"], run["stop_reason"]) == ("failed", "context_window_overflow_in_system_prompt")
        assert len(model.requests) == 1

    def test_a_system_prompt_that_grew_too_large_costs_no_call_until_it_is_shorter(
        self, system: System, model: ScriptedModel
    ) -> None:
        agent = full_agent(system, model, turns=1)
        system.call("agents", "PATCH", f"/v1/agents/{agent}", {"system": "rule " * WINDOW})
        model.script = [overflow()]

        refused = [system.send(agent, "Hello?").status for _ in range(3)]
        system.call("agents", "PATCH", f"/v1/agents/{agent}", {"system": "Be brief."})

        assert (refused, len(model.requests)) == ([400, 400, 400], 1)
        assert system.send(agent, "Hello?").status == 200
        assert len(model.requests) == 2

    def test_a_provider_that_takes_such_a_system_prompt_is_asked_once(
        self, system: System, model: ScriptedModel
    ) -> None:
        agent = full_agent(system, model, turns=0, system="rule " * WINDOW)
        model.script = [sized(says("Yes."), prompt=WINDOW + 1_000)]

        statuses = [system.send(agent, "Hello?").status for _ in range(3)]

        assert (statuses, len(model.requests)) == ([200, 400, 400], 1)


class TestWindow:
    def test_a_second_summary_takes_the_place_of_the_first(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model)
        model.script = [overflow(), says("Six stories."), says("Yes."), overflow(), says("It goes on."), says("No.")]
        send(system, agent, "one")

        send(system, agent, f"two{' word' * 2_000}")

        assert "[earlier summary] Six stories." in model.requests[-2].messages[-1].text
        first, *rest = window_of(system, agent)
        assert first["content"][-1]["text"] == "It goes on."
        assert "Six stories." not in str(rest)

    def test_the_window_of_an_agent_names_its_summary_and_can_be_chosen_again(
        self, system: System, model: ScriptedModel
    ) -> None:
        agent = full_agent(system, model)
        model.script = [overflow(), says("Six stories."), says("Yes.")]
        summary = send(system, agent, "one").body["messages"][1]
        ids = system.call("agents", "GET", f"/v1/agents/{agent}").body["message_ids"]
        before = window_of(system, agent)

        chosen = system.call("agents", "PATCH", f"/v1/agents/{agent}", {"message_ids": ids})

        assert ids[1] == summary["id"]
        assert chosen.body["message_ids"] == ids
        assert window_of(system, agent) == before

    def test_older_messages_are_listed_and_found(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model)
        model.script = [
            overflow(),
            says("Six stories."),
            calls("conversation_search", {"query": "Story 1"}),
            says("1."),
        ]

        answer = system.send(agent, "Find the first story.")

        listed = system.call("messages", "GET", f"/v1/agents/{agent}/messages", query={"limit": 200}).body
        assert kinds(listed).count("user_message") == 7
        assert kinds(listed).count("summary_message") == 1
        returned = next(each for each in answer.body["messages"] if each["message_type"] == "tool_return_message")
        assert "Story 1." in returned["tool_return"]
        assert "Six stories." not in returned["tool_return"]

    def test_the_overview_counts_as_the_provider_does(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model)
        model.script = [overflow(), says("Six stories."), sized(says("Yes."), prompt=1_234)]
        send(system, agent, "one")

        context = system.call("agents", "GET", f"/v1/agents/{agent}/context").body

        assert 1_234 < context["context_window_size_current"] < 1_250
        assert "Six stories." in context["summary_memory"]
        assert 20 < context["num_tokens_summary_memory"] < 120

    def test_a_buffer_that_clears_itself_keeps_the_history(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model, turns=2, message_buffer_autoclear=True)

        assert window_of(system, agent) == []
        system.send(agent, "And now?")
        assert shown_to(model.requests[-1]) == ["And now?"]
        listed = system.call("messages", "GET", f"/v1/agents/{agent}/messages").body
        assert kinds(listed).count("user_message") == 3

    def test_a_buffer_that_clears_itself_holds_the_whole_of_a_turn(self, system: System, model: ScriptedModel) -> None:
        agent = full_agent(system, model, turns=1, message_buffer_autoclear=True)
        model.script = [calls("conversation_search", {"query": "Story"}), overflow()]
        system.send(agent, "Look it up.")

        system.send(agent, "And now?")

        assert len(model.requests[1].messages) == 4
        assert shown_to(model.requests[-1]) == ["And now?"]


class TestAnotherModel:
    """U27: a model of the conversation's or the request's own changes nothing about the window."""

    @pytest.fixture(autouse=True)
    def _handles(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("agentkeep.operations.sending.find_model", lambda handle: None)
        monkeypatch.setattr("agentkeep.operations.conversations.find_model", lambda handle: None)

    def _step(self, system: System, run_id: str) -> dict[str, Any]:
        steps = system.call("runs", "GET", f"/v1/runs/{run_id}/steps").body
        return {name: steps[0][name] for name in ("model", "context_window_limit")}

    def test_of_a_request(self, system: System, model: ScriptedModel) -> None:
        agent = system.new_agent(context_window_limit=64_000)["id"]

        answer = system.send(agent, "Hello.", override_model="openai/gpt-4")

        assert model.requests[-1].handle == "openai/gpt-4"
        step = self._step(system, answer.body["messages"][0]["run_id"])
        assert step["context_window_limit"] == 64_000
        state = system.call("agents", "GET", f"/v1/agents/{agent}").body
        assert (state["model"], state["llm_config"]["context_window"]) == ("demo/memory", 64_000)
        system.send(agent, "Hello again.")
        assert model.requests[-1].handle == "demo/memory"

    @pytest.mark.parametrize(("own", "expected"), [({}, 64_000), ({"context_window_limit": 9_000}, 9_000)])
    def test_of_a_conversation(self, system: System, model: ScriptedModel, own: dict[str, int], expected: int) -> None:
        agent = system.new_agent(context_window_limit=64_000)["id"]
        given = {"agent_id": agent, "model": "openai/gpt-4", **own}
        talk = system.call("conversations", "POST", "/v1/conversations", given).body["id"]
        body = {"input": "Hello.", "streaming": False}

        answer = system.call("messages", "POST", f"/v1/conversations/{talk}/messages", body)

        assert model.requests[-1].handle == "openai/gpt-4"
        step = self._step(system, answer.body["messages"][0]["run_id"])
        assert step["context_window_limit"] == expected
        context = system.call("agents", "GET", f"/v1/agents/{agent}/context", query={"conversation_id": talk}).body
        assert context["context_window_size_max"] == expected
