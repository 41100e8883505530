"""Facts as columns: the form in which they travel between files, frames and engines."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.program.syntax import Kind, Value

DTYPES: dict[Kind, type[np.generic]] = {
    "number": np.int64,
    "unsigned": np.uint64,
    "float": np.float64,
}


@dataclass(frozen=True, slots=True)
class SymbolColumn:
    """Strings by code: row i holds `words[codes[i]]`. Words need not be distinct or all used.

    In a column of records or of an algebraic type, the words are those values.
    """

    codes: NDArray[np.int64]
    words: Sequence[Any]

    def tolist(self) -> list[Any]:
        words = self.words
        return [words[code] for code in self.codes.tolist()]


Column = NDArray[Any] | SymbolColumn


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one relation. A nullary relation has no columns, so `size` is stored.

    >>> Table.from_rows(("number", "symbol"), [(1, "a"), (2, "b")]).rows()
    [(1, 'a'), (2, 'b')]
    """

    kinds: tuple[Kind, ...]
    columns: tuple[Column, ...]
    size: int

    @staticmethod
    def from_rows(kinds: tuple[Kind, ...], rows: Iterable[Sequence[Value]]) -> Table:
        """Rows of Python values, already of the right kinds."""
        rows = list(rows)
        if not rows:
            return Table(kinds, tuple(_column(kind, []) for kind in kinds), 0)
        parts = columns_of(rows, len(kinds))
        columns = tuple(_column(k, part) for k, part in zip(kinds, parts, strict=True))
        return Table(kinds, columns, len(rows))

    def rows(self) -> list[tuple[Value, ...]]:
        if not self.columns:
            return [()] * self.size
        return list(zip(*map(python_values, self.columns), strict=True))


def python_values(column: Column) -> list[Any]:
    """A column as Python values. Every NaN is `math.nan`, so that equal rows compare equal.

    >>> row, = Table.from_rows(("float",), [(-float("nan"),)]).rows()
    >>> row == (math.nan,)
    True
    """
    values = column.tolist()
    if not isinstance(column, SymbolColumn) and column.dtype.kind == "f":
        for place in np.flatnonzero(np.isnan(column)).tolist():
            values[place] = math.nan
    return values


def columns_of(rows: Collection[Sequence[Any]], arity: int) -> list[list[Any]]:
    """The values of rows, column by column.

    Not by zip(*rows), which makes an iterator for each row: where there are millions, the garbage
    collector then looks at all of them again and again.
    """
    return [list(map(itemgetter(c), rows)) for c in range(arity)]


def _column(kind: Kind, values: list[Any]) -> Column:
    if kind in DTYPES:
        return np.array(values, dtype=DTYPES[kind])
    ids: dict[Any, int] = {}
    codes = np.array([ids.setdefault(v, len(ids)) for v in values], dtype=np.int64)
    return SymbolColumn(codes, list(ids))
