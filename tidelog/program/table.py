"""Facts as columns: the form in which they travel between files, frames and engines."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.program.syntax import Kind, Value
from tidelog.program.terms import TermKind, order_key

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


def sorted_table(table: Table) -> Table:
    """The same rows sorted by value, first column first; words that no row uses are dropped.

    >>> sorted_table(Table.from_rows(("symbol", "number"), [("b", 1), ("a", 10), ("a", 9)])).rows()
    [('a', 9), ('a', 10), ('b', 1)]
    """
    if not table.columns or not table.size:
        return table
    ranked = [
        _ranked(c, kind) if isinstance(c, SymbolColumn) else c
        for c, kind in zip(table.columns, table.kinds, strict=True)
    ]
    keys = [c.codes if isinstance(c, SymbolColumn) else c for c in ranked]
    packed = _packed(keys)
    order = np.lexsort(keys[::-1]) if packed is None else np.argsort(packed, kind="stable")
    return Table(table.kinds, tuple(_take(column, order) for column in ranked), table.size)


def _ranked(column: SymbolColumn, kind: Kind) -> SymbolColumn:
    """The column with its distinct words in order, so that codes compare as words do."""
    # The words may be those of a whole database, the rows a few of them.
    used, codes = np.unique(column.codes, return_inverse=True)
    words = [column.words[code] for code in used.tolist()]
    keys = [*map(order_key, words)] if isinstance(kind, TermKind) else words
    order = sorted(range(len(words)), key=keys.__getitem__)
    words = [words[i] for i in order]
    # Equal words are now adjacent; only the first counts.
    new = np.ones(len(words), dtype=np.bool_)
    new[1:] = [a != b for a, b in pairwise(words)]
    ranks = np.empty(len(words), dtype=np.int64)
    ranks[order] = np.cumsum(new) - 1
    if not new.all():
        words = [word for word, first in zip(words, new.tolist(), strict=True) if first]
    return SymbolColumn(ranks[codes], words)


def _packed(keys: list[NDArray[Any]]) -> NDArray[np.uint64] | None:
    """All keys of a row in one word, if they fit: far faster to sort than column by column."""
    if any(key.dtype.kind == "f" for key in keys):
        return None
    spans = [(int(key.min()), int(key.max())) for key in keys]
    if sum((most - least).bit_length() for least, most in spans) > 64:
        return None
    packed = np.zeros(len(keys[0]), dtype=np.uint64)
    for key, (least, most) in zip(keys, spans, strict=True):
        width = (most - least).bit_length()
        # Subtraction in 64 bits wraps around to the right distance, whatever the signs.
        distance = key.astype(np.uint64) - np.uint64(least % 2**64)
        packed = distance if width == 64 else (packed << np.uint64(width)) | distance
    return packed


def _take(column: Column, order: NDArray[np.int64]) -> Column:
    if isinstance(column, SymbolColumn):
        return SymbolColumn(column.codes[order], column.words)
    return column[order]
