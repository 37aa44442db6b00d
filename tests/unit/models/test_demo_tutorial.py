"""The demo model in the tutorial of a copilot and a reviewer who share a block."""

from tests.doubles.demo_agent import DemoAgent, block

COPILOT = block("persona", "I am Mnemo, an engineering copilot. I am terse, and I never invent facts.")
REVIEWER = block("persona", "I am Argus, a paranoid staff reviewer, and I cite the team policies by number.")
HUMAN = block("human", "Unknown so far.", "Durable facts about the engineer: name, role, stack, preferences.")
PROJECT = block("project_state", "(empty)", "Live state of the project: milestones, blockers, decisions.")
LESSONS = block("lessons", "(empty)", "Hard-won lessons and mistakes to never repeat. One line each.")
PAD = block("team_scratchpad", "(empty)", "Shared working notes; keep entries prefixed with your name.")
POLICIES = block(
    "policies",
    "1. No direct pushes to main.\n2. Every fix ships with a regression test.\n3. Customer data never leaves the EU.",
    "Non-negotiable engineering policies. Obey, never edit.",
    read_only=True,
)
INTRODUCTION = (
    "Hi, I'm Tove, lead developer at Fjord. We're shipping 'Tern', a Go gateway, on Mar 9. I dislike meetings — send me"
    " notes. Current blocker: the cache evicts hot keys every ~2 minutes under load."
)
UPDATE = (
    "Update: we traced the eviction to a 64 MB limit with large values. Decision: compress values before caching. Also"
    " remember we already tried raising the limit and it did nothing — don't suggest that again."
)
ASSIGNMENT = (
    "Write your proposed fix for the eviction issue into the team_scratchpad block so the reviewer can see it."
    " Keep it to 4 lines."
)
REVIEW = (
    "Read team_scratchpad and review the proposed fix. Cite any policy it violates, then append your verdict to the"
    " same block."
)


def briefed() -> DemoAgent:
    copilot = DemoAgent(COPILOT, HUMAN, PROJECT, LESSONS, PAD, POLICIES)
    copilot.say(INTRODUCTION)
    copilot.say(UPDATE)
    return copilot


def test_two_turns_fill_three_blocks() -> None:
    copilot = briefed()

    assert copilot.value("human").splitlines() == [
        "Name: Tove",
        "Role: lead developer at Fjord",
        'Preference: "I dislike meetings — send me notes"',
    ]
    assert copilot.value("project_state").splitlines() == [
        "Project: 'Tern', a Go gateway",
        "Ship date: Mar 9",
        "Blocker: the cache evicts hot keys every ~2 minutes under load",
        "Update: we traced the eviction to a 64 MB limit with large values",
        "Decision: compress values before caching",
    ]
    assert copilot.value("lessons") == "Do not suggest again: we already tried raising the limit and it did nothing"


def test_what_the_application_wrote_into_a_block_is_told_first() -> None:
    copilot = briefed()
    alert = "[CI 09:41Z] main is RED: integration/cache_test failing"
    copilot.workspace.change_value("project_state", lambda value: f"{value}\n{alert}")

    reply = copilot.say("Anything I should know before I start the day?")

    assert reply.splitlines()[1] == f"- {alert}"


def test_the_proposal_goes_into_the_shared_block_in_four_lines() -> None:
    copilot = briefed()

    copilot.say(ASSIGNMENT)

    written = copilot.value("team_scratchpad").splitlines()
    assert written[0] == "Mnemo: proposed fix for the eviction issue"
    assert written[1] == "- Decision: compress values before caching"
    assert len(written) <= 4


def test_the_reviewer_cites_the_policy_and_appends_its_verdict() -> None:
    copilot = briefed()
    copilot.say(ASSIGNMENT)
    proposal = copilot.value("team_scratchpad")
    reviewer = DemoAgent(REVIEWER, POLICIES, copilot.workspace.get("team_scratchpad"))

    reply = reviewer.say(REVIEW)

    assert reviewer.value("team_scratchpad").startswith(
        f"{proposal}\nArgus: verdict on team_scratchpad: changes requested."
    )
    assert 'Violates policy 2 ("Every fix ships with a regression test")' in reply
    assert [call.name for call in reviewer.calls] == ["memory_insert"]


def test_a_proposal_that_keeps_the_policies_is_approved() -> None:
    pad = block("team_scratchpad", "Mnemo: compress values, with a regression test.")
    reviewer = DemoAgent(REVIEWER, POLICIES, pad)

    reply = reviewer.say(REVIEW)

    assert "verdict on team_scratchpad: approved." in reply
    assert "Nothing in it goes against policies 1, 2, 3." in reply


def test_a_proposal_that_does_what_a_policy_forbids_is_sent_back() -> None:
    pad = block("team_scratchpad", "Mnemo: a direct push to main, then a regression test.")

    assert "Violates policy 1" in DemoAgent(REVIEWER, POLICIES, pad).say(REVIEW)


def test_there_must_be_something_to_review() -> None:
    assert "nothing to review in team_scratchpad yet" in DemoAgent(REVIEWER, POLICIES, PAD).say(REVIEW)


def test_no_policies_is_said() -> None:
    pad = block("team_scratchpad", "Mnemo: compress values.")

    assert "no numbered policies" in DemoAgent(REVIEWER, pad).say(REVIEW)
