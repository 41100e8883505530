"""Rows in the order in which people read them: numbers by size, symbols by code points,
records field by field."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.program.syntax import Kind
from tidelog.program.table import Column, SymbolColumn, Table
from tidelog.program.terms import TermKind, order_key


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
