"""Query and Scan: pages in key order, cut by Limit (before the filter) or at 1 MB, resumed after any key."""

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from infra.local.dynamodb.database import Answer, Database, Request
from infra.local.dynamodb.errors import invalid
from infra.local.dynamodb.expressions.conditions import Test, attributes_of, bound_condition
from infra.local.dynamodb.expressions.key_conditions import KeyCondition, bound_key_condition
from infra.local.dynamodb.expressions.placeholders import Placeholders
from infra.local.dynamodb.expressions.projections import Projection
from infra.local.dynamodb.keys import RowKey
from infra.local.dynamodb.requests import NAMES_AND_VALUES, choice, expect_members, expression, projection
from infra.local.dynamodb.schema import IndexSchema, KeySchema, TableSchema
from infra.local.dynamodb.selection import Selection, admits
from infra.local.dynamodb.values import Item, checked_item, item_size
from infra.local.dynamodb.wire import loaded

PAGE_BYTES: Final = 1024 * 1024
_READ: Final = NAMES_AND_VALUES | {
    "TableName", "IndexName", "Select", "ProjectionExpression", "FilterExpression", "ConsistentRead", "Limit",
    "ExclusiveStartKey",
}  # fmt: skip
_QUERY: Final = _READ | {"KeyConditionExpression", "ScanIndexForward"}
_SCAN: Final = _READ | {"Segment", "TotalSegments"}


@dataclass(frozen=True)
class Source:
    """The table or the index that is read."""

    table: TableSchema
    index: IndexSchema | None

    @property
    def keys(self) -> KeySchema:
        """The keys that order what is read."""
        return self.index.keys if self.index else self.table.keys

    @property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of a LastEvaluatedKey."""
        return tuple(dict.fromkeys(key.name for schema in (self.keys, self.table.keys) for key in schema.attributes))


@dataclass
class _Page:
    """One page as it fills."""

    source: Source
    filter: Test | None
    cut: Projection | None
    limit: int | None
    items: list[Item] = field(default_factory=list)
    count: int = 0
    scanned: int = 0
    size: int = 0
    last: Item | None = None

    def fill(self, rows: Iterable[tuple[str, int | None]]) -> None:
        """Takes rows until the page is full. `last` is set when it was filled before the rows ended."""
        previous: Item | None = None
        for body, size in rows:
            item = loaded(body)
            self.size += size if size is not None else item_size(item)
            if self.size > PAGE_BYTES and previous is not None:
                self.last = previous
                return
            self._take(item)
            previous = item
            if self.scanned == self.limit:
                self.last = item
                return

    def _take(self, item: Item) -> None:
        self.scanned += 1
        if self.filter is None or self.filter(item):
            self.count += 1
            self.items.append(self.cut(item) if self.cut else item)

    def answer(self, *, only_count: bool) -> Answer:
        """The page as the operation answers it."""
        answer: Answer = {"Count": self.count, "ScannedCount": self.scanned}
        if not only_count:
            answer["Items"] = self.items
        if self.last is not None:
            answer["LastEvaluatedKey"] = {name: self.last[name] for name in self.source.key_names}
        return answer


def query(database: Database, request: Request) -> Answer:
    """Query of a table or an index."""
    expect_members(request, _QUERY)
    source = _source(database, request)
    given = Placeholders(request, ("KeyConditionExpression", "FilterExpression", "ProjectionExpression"))
    condition = key_condition(source.keys, request, given)
    page = _page(request, source, given, frozenset(key.name for key in source.keys.attributes))
    forward = request.get("ScanIndexForward", True)
    selection = _selection(database, source, forward=forward)
    selection.within(condition)
    start = _start(source, request)
    if start:
        _expect_start_within(source, condition, start)
        selection.after(source.keys.encoded(start).sort, _primary(source, start))
    return _run(database, request, page, selection)


def key_condition(keys: KeySchema, request: Request, given: Placeholders) -> KeyCondition:
    """The key condition of a Query request."""
    text = request.get("KeyConditionExpression")
    if text is None:
        raise invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    with expression("KeyConditionExpression"):
        return bound_key_condition(text, keys, given)


def scan(database: Database, request: Request) -> Answer:
    """Scan of a table or an index, whole or one of several segments."""
    expect_members(request, _SCAN)
    source = _source(database, request)
    given = Placeholders(request, ("FilterExpression", "ProjectionExpression"))
    page = _page(request, source, given, frozenset())
    selection = _selection(database, source, forward=True)
    start = _start(source, request)
    if start:
        selection.after_everything(source.keys.encoded(start), _primary(source, start))
    return _run(database, request, page, selection, _segment(request))


def _source(database: Database, request: Request) -> Source:
    table = database.table(request["TableName"])
    name = request.get("IndexName")
    if name is not None and request.get("ConsistentRead"):
        raise invalid("Consistent reads are not supported on global secondary indexes")
    return Source(table, table.index(name) if name is not None else None)


def _page(request: Request, source: Source, given: Placeholders, keys: frozenset[str]) -> _Page:
    limit = request.get("Limit")
    if limit is not None and limit < 1:
        raise invalid(
            f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint:"
            " Member must have value greater than or equal to 1"
        )
    page = _Page(source, _filter(request, given, keys), projection(request, given), limit)
    given.expect_all_used()
    _expect_projected(source, request, page.cut)
    return page


def _filter(request: Request, given: Placeholders, keys: frozenset[str]) -> Test | None:
    text = request.get("FilterExpression")
    if text is None:
        return None
    with expression("FilterExpression"):
        test = bound_condition(text, given)
        for name in sorted(attributes_of(text, given) & keys):
            raise invalid(
                f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}"
            )
    return test


def _expect_projected(source: Source, request: Request, cut: Projection | None) -> None:
    options = ("SPECIFIC_ATTRIBUTES",) if cut else ("ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT")
    select = choice(request, "Select", options) if "Select" in request else None
    if source.index is None:
        if select == "ALL_PROJECTED_ATTRIBUTES":
            raise invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
        return
    if select == "ALL_ATTRIBUTES":
        raise invalid(
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global"
            f" secondary index {source.index.name} because its projection type is not ALL"
        )
    missing = sorted(cut.attributes - set(source.key_names)) if cut else []
    if missing:
        raise invalid(
            f"One or more parameter values were invalid: Global secondary index {source.index.name}"
            f" does not project {missing}"
        )


def _start(source: Source, request: Request) -> Item | None:
    start = request.get("ExclusiveStartKey")
    if start is None:
        return None
    item = checked_item(start)
    kinds = {key.name: key.kind for schema in (source.table.keys, source.keys) for key in schema.attributes}
    if item.keys() != kinds.keys() or any(kind not in item[name] for name, kind in kinds.items()):
        raise invalid("The provided starting key is invalid: The provided key element does not match the schema")
    return item


def _expect_start_within(source: Source, condition: KeyCondition, start: Item) -> None:
    if start[source.keys.partition.name] != condition.partition:
        raise invalid("The provided starting key is outside query boundaries based on provided conditions")
    if condition.sort and source.keys.sort and not admits(condition.sort, start[source.keys.sort.name]):
        raise invalid("The provided starting key does not match the range key predicate")


def _primary(source: Source, start: Item) -> RowKey | None:
    return source.table.keys.encoded(start) if source.index else None


def _selection(database: Database, source: Source, *, forward: bool) -> Selection:
    if source.index is None:
        return Selection.of_table(source.table.number, forward=forward)
    return Selection.of_index(
        source.table.number, source.index.number, database.weather.index_horizon_ms(), forward=forward
    )


def _segment(request: Mapping[str, Any]) -> Callable[[bytes], bool]:
    total, segment = request.get("TotalSegments"), request.get("Segment")
    if (total is None) != (segment is None):
        raise invalid("Segment and TotalSegments must be given together")
    if total is None or segment is None:
        return lambda _: True
    if not 0 <= segment < total:
        raise invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments")
    return lambda partition: zlib.crc32(partition) % total == segment


def _run(
    database: Database,
    request: Request,
    page: _Page,
    selection: Selection,
    wanted: Callable[[bytes], bool] = lambda _: True,
) -> Answer:
    with database.storage.reading() as connection:
        cursor = connection.execute(*selection.statement())
        page.fill((body, size) for partition, body, size in cursor if wanted(partition))
        cursor.close()
    database.counters.add(read=page.scanned)
    return page.answer(only_count=request.get("Select") == "COUNT")
