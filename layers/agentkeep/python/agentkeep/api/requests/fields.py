"""What the models of requests are made of: strict JSON types, ids, labels, names, pages."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
)

from agentkeep.api.identifiers import check
from agentkeep.errors import InvalidRequestError
from agentkeep.store.pages import PageRequest

MAX_PAGE: Final = 1000
MAX_TAGS: Final = 50
"""Of one agent or block. Each is a list item of its own, written in the same transaction, which holds 100 items."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_LOST_PLUS: Final = re.compile(r"(?<=[\d:]\d\d) (?=\d\d:?\d\d$)")


class Body(BaseModel):
    """The JSON body of a request."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=(), defer_build=True)

    def given(self, *names: str) -> dict[str, Any]:
        """The fields that were sent with a value, all or those named; null means, as in Letta, that nothing changes."""
        wanted = self.model_fields_set & set(names) if names else self.model_fields_set
        values = self.model_dump(include=set(wanted))
        return {name: value for name, value in values.items() if value is not None}


def identifier(*kinds: str) -> AfterValidator:
    """The id of an entity of one of the kinds."""

    def right_kind(value: str) -> str:
        try:
            return check("id", value, *kinds)
        except InvalidRequestError as error:
            raise ValueError(error.message.removeprefix("id: ")) from None

    return AfterValidator(right_kind)


def _one_line(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("should be one line without control characters")
    return value


def _distinct(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


Integer = StrictInt
Boolean = StrictBool
Number = StrictInt | StrictFloat
Json = dict[str, Any]
Count = Annotated[StrictInt, Field(ge=1, le=10**9)]
ContextWindow = Annotated[StrictInt, Field(ge=1_000, le=100_000_000)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=256), AfterValidator(_one_line)]
Label = Annotated[str, StringConstraints(pattern=r"^[\w /.:-]+$", min_length=1, max_length=128)]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_one_line)]
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS), AfterValidator(_distinct)]
AgentId = Annotated[str, identifier("agent")]
BlockId = Annotated[str, identifier("block")]
ToolId = Annotated[str, identifier("tool")]
MessageId = Annotated[str, identifier("message")]
ConversationId = Annotated[str, identifier("conv", "agent", "default")]
IdentityId = Annotated[str, identifier("identity")]
SourceId = Annotated[str, identifier("source")]
Cursor = Annotated[str, StringConstraints(max_length=256)]
Reference = Annotated[str, StringConstraints(max_length=256)]
"""The id of something that is kept elsewhere: a project, a template."""
Handle = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=512)]
Order = Literal["asc", "desc"]


class Query(BaseModel):
    """The query string of a request."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=(), defer_build=True)


def limit_field(default: int) -> Any:
    """How many items a page holds. Above the cap the request is refused: a shorter page would pass for the last."""
    return Field(default=default, ge=1, le=MAX_PAGE)


class Page(Query):
    """A page of a list. `after` and `before` are the ids of items and follow `order`."""

    limit: int = limit_field(50)
    order: Order = "desc"
    after: Cursor | None = None
    before: Cursor | None = None

    @property
    def descending(self) -> bool:
        """Whether the newest come first."""
        return self.order == "desc"

    def page(self) -> PageRequest:
        """The page for the store."""
        return PageRequest(self.limit, self.descending, self.after, self.before)


class ByCreation(Page):
    """A page of a list that has one order."""

    order_by: Literal["created_at"] = "created_at"


class LegacyPage(Page):
    """A page that older clients turn round with `ascending`. `order`, where both are given, counts."""

    ascending: bool = False

    @property
    def descending(self) -> bool:
        """Whether the newest come first."""
        return not self.ascending if "order" not in self.model_fields_set else self.order == "desc"


def _split(values: object) -> object:
    if not isinstance(values, list):
        return values
    return [part.strip() for value in values for part in str(value).split(",") if part.strip()]


Item = TypeVar("Item")
CommaSeparated = Annotated[list[Item], BeforeValidator(_split)]
"""A list that may also come in one value, separated by commas; for items that never hold one."""


def _moment(end_of_day: bool) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if not isinstance(value, str):
            return value
        moment = datetime.fromisoformat(_LOST_PLUS.sub("+", value))
        if len(value) <= len("2026-01-31") and end_of_day:
            moment = datetime.combine(moment, time.max)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    return parse


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("should be a time between the years 1 and 9999 in UTC") from None


Moment = Annotated[datetime, AfterValidator(_in_utc)]
"""A time in UTC; one that comes without a zone is taken for that."""
Since = Annotated[datetime, BeforeValidator(_moment(end_of_day=False))]
Until = Annotated[datetime, BeforeValidator(_moment(end_of_day=True))]
"""ISO 8601; a date alone is the whole day, in UTC. A plus sign that arrived as a space is one again."""
