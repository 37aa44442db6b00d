"""Refusals of providers, as clients are told them; and what is tried again."""

import pytest

from agentkeep.models import errors, failures, retries
from agentkeep.models.answers import not_empty
from agentkeep.models.environment import Environment
from agentkeep.models.errors import ModelError
from agentkeep.models.interface import ModelAnswer, ModelRequest
from agentkeep.store.content import Part, ReasoningPart, TextPart, Usage

REQUEST = ModelRequest("openai/gpt-4o-mini", [], environment=Environment())


def answer(*content: Part, finish: str = "stop") -> ModelAnswer:
    usage = Usage(completion_tokens=7)
    return ModelAnswer(list(content), [], finish, usage, "openai", "gpt-4o-mini")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("provider_status", "body", "status", "error_type", "stop_reason"),
    [
        (400, {"message": "bad"}, 400, "llm_bad_request", "llm_api_error"),
        (401, {"message": "no"}, 401, "llm_authentication", "llm_api_error"),
        (402, {"message": "pay"}, 402, "llm_insufficient_credits", "insufficient_credits"),
        (403, {"message": "no"}, 403, "llm_permission_denied", "llm_api_error"),
        (404, {"message": "no"}, 404, "llm_not_found", "llm_api_error"),
        (422, {"message": "no"}, 422, "llm_unprocessable_entity", "llm_api_error"),
        (429, {"message": "slow"}, 429, "llm_rate_limit", "llm_api_error"),
        (429, {"code": "insufficient_quota"}, 402, "llm_insufficient_credits", "insufficient_credits"),
        (400, {"message": "Your credit balance is too low"}, 402, "llm_insufficient_credits", "insufficient_credits"),
        (400, {"code": "context_length_exceeded"}, 400, "context_window_exceeded", "llm_api_error"),
        (400, {"message": "prompt is too long: 2 > 1"}, 400, "context_window_exceeded", "llm_api_error"),
        (400, {"message": "`max_tokens` exceed context limit"}, 400, "context_window_exceeded", "llm_api_error"),
        (413, "too large", 400, "context_window_exceeded", "llm_api_error"),
        (418, None, 400, "llm_bad_request", "llm_api_error"),
        (500, {"message": "oops"}, 500, "llm_error", "llm_api_error"),
        (503, "<html>", 503, "llm_error", "llm_api_error"),
        (504, None, 504, "llm_timeout", "llm_api_error"),
        (520, None, 500, "llm_error", "llm_api_error"),
        (529, {"message": "Overloaded"}, 503, "llm_error", "llm_api_error"),
    ],
)  # fmt: skip
def test_statuses_of_providers(
    provider_status: int, body: object, status: int, error_type: str, stop_reason: str
) -> None:
    wrapped = {"type": "error", "error": body}

    for said in (body, wrapped):
        error = failures.from_response("openai", provider_status, said, {})
        assert (error.status, error.error_type, error.stop_reason) == (status, error_type, stop_reason)


def test_the_error_names_the_provider_and_quotes_it() -> None:
    error = failures.from_response("anthropic", 401, {"error": {"message": "invalid x-api-key"}}, {})

    assert "'anthropic'" in error.message
    assert error.detail == "401: invalid x-api-key"
    assert error.extra == {"detail": "401: invalid x-api-key"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_how_long_a_provider_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert failures.from_response("openai", 429, None, headers).retry_after == seconds


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, which take no time."""
    waited: list[float] = []
    monkeypatch.setattr(retries, "pause", waited.append)
    return waited


class Attempts:
    """A call that fails as it is told before it answers."""

    def __init__(self, *failures: ModelError) -> None:
        self._failures = list(failures)
        self.count = 0

    def __call__(self, seconds: float) -> ModelAnswer:
        self.count += 1
        if self._failures:
            raise self._failures.pop(0)
        return answer(TextPart(text="Hi"))


def test_what_may_succeed_later_is_tried_twice_more_with_growing_waits(pauses: list[float]) -> None:
    call = Attempts(errors.ModelRateLimitError("slow"), errors.ProviderUnavailableError("down"))

    assert retries.with_retries(call, 60).content == [TextPart(text="Hi")]
    assert 0.25 <= pauses[0] <= 0.5 and 0.5 <= pauses[1] <= 1.0


def test_the_third_failure_is_raised(pauses: list[float]) -> None:
    call = Attempts(*[errors.ProviderFailedError("oops")] * 5)

    with pytest.raises(errors.ProviderFailedError):
        retries.with_retries(call, 60)
    assert call.count == 3


@pytest.mark.parametrize(
    "failure",
    [
        errors.ModelBadRequestError("x"),
        errors.ModelAuthenticationError("x"),
        errors.InsufficientCreditsError("x"),
        errors.ModelPermissionError("x"),
        errors.ModelNotFoundError("x"),
        errors.ModelUnprocessableError("x"),
        errors.InvalidAnswerError("x"),
    ],
)
def test_what_cannot_succeed_later_is_raised_at_once(failure: ModelError, pauses: list[float]) -> None:
    call = Attempts(failure)

    with pytest.raises(type(failure)):
        retries.with_retries(call, 60)
    assert call.count == 1


def test_an_empty_answer_is_tried_once_more(pauses: list[float]) -> None:
    call = Attempts(*[errors.EmptyAnswerError("openai/x")] * 3)

    with pytest.raises(errors.EmptyAnswerError, match="empty content in"):
        retries.with_retries(call, 60)
    assert call.count == 2


def test_the_provider_says_how_long_to_wait(pauses: list[float]) -> None:
    retries.with_retries(Attempts(errors.ModelRateLimitError("slow", retry_after=2.5)), 60)

    assert pauses == [2.5]


@pytest.mark.parametrize(("retry_after", "timeout"), [(120.0, 600.0), (5.0, 3.0)])
def test_a_wait_that_is_too_long_is_not_taken(retry_after: float, timeout: float, pauses: list[float]) -> None:
    call = Attempts(errors.ModelRateLimitError("slow", retry_after=retry_after))

    with pytest.raises(errors.ModelRateLimitError):
        retries.with_retries(call, timeout)
    assert call.count == 1


@pytest.mark.parametrize("content", [[], [TextPart(text=" \n")], [ReasoningPart(reasoning="hm")]])
def test_answers_that_say_nothing_are_errors(content: list[Part]) -> None:
    with pytest.raises(errors.EmptyAnswerError, match="empty content in"):
        not_empty(answer(*content), REQUEST)


def test_an_answer_that_used_up_its_limit_on_reasoning_says_so() -> None:
    with pytest.raises(errors.OutputLimitError, match=r"empty content in .* after 7 tokens") as raised:
        not_empty(answer(finish="length"), REQUEST)
    assert raised.value.stop_reason == "max_tokens_exceeded"
    assert raised.value.retries == 0


def test_a_long_list_of_handles_is_cut_in_the_sentence_and_whole_beside_it() -> None:
    error = errors.UnknownModelError("openai/none", [f"openai/m{number}" for number in range(100)])

    assert error.message.startswith("Handle openai/none not found, must be one of [openai/m0, ")
    assert "and 40 more" in error.message
    assert len(error.extra["handles"]) == 100
