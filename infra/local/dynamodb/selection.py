"""The SQL of a Query or Scan: a stretch of rows in key order."""

import operator
from collections.abc import Callable
from typing import Any, Final, Self

from infra.local.dynamodb.expressions.key_conditions import KeyCondition, KeyTest
from infra.local.dynamodb.keys import RowKey, after_prefix, encoded
from infra.local.dynamodb.values import AttributeValue

_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_Value = int | bytes


class Selection:
    """Rows of a table or an index in the order of their keys, narrowed step by step."""

    def __init__(
        self, columns: str, where: list[str], values: list[_Value], order: list[str], *, forward: bool
    ) -> None:
        self._columns = columns
        self._where = where
        self._values = values
        self._order = order
        self._direction = "ASC" if forward else "DESC"
        self._beyond = ">" if forward else "<"

    @classmethod
    def of_table(cls, table: int, *, forward: bool) -> Self:
        """The items of a table."""
        return cls("pk, body, size FROM items", ["tab=?"], [table], ["pk", "sk"], forward=forward)

    @classmethod
    def of_index(cls, table: int, index: int, horizon_ms: int | None, *, forward: bool) -> Self:
        """The entries of an index, as they were at `horizon_ms` if that is given."""
        where, values = ["tab=?", "idx=?"], [table, index]
        if horizon_ms is None:
            where.append("died IS NULL")
        else:
            where.append("born<=? AND (died IS NULL OR died>?)")
            values += [horizon_ms, horizon_ms]
        order = ["ipk", "isk", "pk", "sk"]
        return cls("ipk, body, NULL FROM entries", where, [*values], order, forward=forward)

    def within(self, condition: KeyCondition) -> None:
        """Only what the key condition of a Query admits."""
        self._narrow(f"{self._order[0]}=?", encoded(condition.partition))
        if condition.sort is None:
            return
        column = self._order[1]
        bounds = [encoded(value) for value in condition.sort.values]
        match condition.sort.operator:
            case "BETWEEN":
                self._narrow(f"{column} BETWEEN ? AND ?", *bounds)
            case "begins_with":
                self._narrow(f"{column}>=?", *bounds)
                end = after_prefix(*bounds)
                if end is not None:
                    self._narrow(f"{column}<?", end)
            case comparator:
                self._narrow(f"{column}{comparator}?", *bounds)

    def after(self, sort: bytes, primary: RowKey | None) -> None:
        """Only what comes after a place inside of the partition; `primary` settles ties in an index."""
        self._after(self._order[1:], (sort, *(primary or ())))

    def after_everything(self, key: RowKey, primary: RowKey | None) -> None:
        """Only what comes after a place in the whole table or index."""
        self._after(self._order, (*key, *(primary or ())))

    def _after(self, columns: list[str], place: tuple[bytes, ...]) -> None:
        marks = ",".join("?" * len(place))
        self._narrow(f"({','.join(columns)}){self._beyond}({marks})", *place)

    def _narrow(self, clause: str, *values: bytes) -> None:
        self._where.append(clause)
        self._values += values

    def statement(self) -> tuple[str, list[_Value]]:
        """The SELECT, giving partition key, JSON and size of each row."""
        order = ", ".join(f"{column} {self._direction}" for column in self._order)
        sql = f"SELECT {self._columns} WHERE {' AND '.join(self._where)} ORDER BY {order}"
        return sql, self._values


def admits(test: KeyTest, value: AttributeValue) -> bool:
    """Whether a key value passes the test of a key condition."""
    key, bounds = encoded(value), [encoded(bound) for bound in test.values]
    match test.operator:
        case "BETWEEN":
            return bounds[0] <= key <= bounds[1]
        case "begins_with":
            return key.startswith(bounds[0])
        case comparator:
            return _COMPARISONS[comparator](key, bounds[0])
