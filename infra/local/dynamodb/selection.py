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
_Bound = tuple[str, tuple[bytes, ...]]


class Selection:
    """Rows of a table or an index in the order of their keys, between two bounds.

    A place to go on after takes the place of the bound behind it, so that SQLite starts there and not at the bound.
    """

    def __init__(
        self, columns: str, where: str, values: list[_Value], order: tuple[str, ...], *, forward: bool
    ) -> None:
        self._columns = columns
        self._where = where
        self._values = values
        self._order = order
        self._forward = forward
        self._lower: _Bound = ("TRUE", ())
        self._upper: _Bound = ("TRUE", ())

    @classmethod
    def of_table(cls, table: int, *, forward: bool) -> Self:
        """The items of a table."""
        return cls("pk, body, size FROM items", "tab=?", [table], ("pk", "sk"), forward=forward)

    @classmethod
    def of_index(cls, table: int, index: int, horizon_ms: int | None, *, forward: bool) -> Self:
        """The entries of an index, as they were at `horizon_ms` if that is given."""
        where, values = "tab=? AND idx=? AND died IS NULL", [table, index]
        if horizon_ms is not None:
            where = "tab=? AND idx=? AND born<=? AND (died IS NULL OR died>?)"
            values += [horizon_ms, horizon_ms]
        order = ("ipk", "isk", "pk", "sk")
        return cls("ipk, body, NULL FROM entries", where, [*values], order, forward=forward)

    def within(self, condition: KeyCondition) -> None:
        """Only what the key condition of a Query admits."""
        self._where += f" AND {self._order[0]}=?"
        self._values.append(encoded(condition.partition))
        if condition.sort:
            self._bind(condition.sort.operator, [encoded(value) for value in condition.sort.values])

    def _bind(self, operator_: str, values: list[bytes]) -> None:
        column, first, last = self._order[1], values[0], values[-1]
        match operator_:
            case "=" | "BETWEEN":
                self._lower, self._upper = (f"{column}>=?", (first,)), (f"{column}<=?", (last,))
            case "begins_with":
                end = after_prefix(first)
                self._lower = (f"{column}>=?", (first,))
                self._upper = (f"{column}<?", (end,)) if end is not None else self._upper
            case "<" | "<=":
                self._upper = (f"{column}{operator_}?", (last,))
            case _:
                self._lower = (f"{column}{operator_}?", (first,))

    def after(self, sort: bytes, primary: RowKey | None) -> None:
        """Only what comes after a place inside of the partition; `primary` settles ties in an index."""
        self._after(self._order[1:], (sort, *(primary or ())))

    def after_everything(self, key: RowKey, primary: RowKey | None) -> None:
        """Only what comes after a place in the whole table or index."""
        self._after(self._order, (*key, *(primary or ())))

    def _after(self, columns: tuple[str, ...], place: tuple[bytes, ...]) -> None:
        marks = ",".join("?" * len(place))
        if self._forward:
            self._lower = (f"({','.join(columns)})>({marks})", place)
        else:
            self._upper = (f"({','.join(columns)})<({marks})", place)

    def statement(self) -> tuple[str, list[_Value]]:
        """The SELECT, giving partition key, JSON and size of each row."""
        direction = "ASC" if self._forward else "DESC"
        order = ", ".join(f"{column} {direction}" for column in self._order)
        where = f"{self._where} AND {self._lower[0]} AND {self._upper[0]}"
        return f"SELECT {self._columns} WHERE {where} ORDER BY {order}", [
            *self._values,
            *self._lower[1],
            *self._upper[1],
        ]


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
