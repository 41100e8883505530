"""Rows as columns of 64-bit words, and what users may say about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.dbsp.kernels.zset_joins import FOUND, GIVEN
from tidelog.dbsp.trace import Match, Words

Function = Callable[..., Any]  # of columns, to a column or a tuple of them
Predicate = Callable[..., Any]  # of columns, to a column of truth values
Expansion = Callable[..., Iterable[Sequence[int]]]  # of one row's integers, to rows
LIMIT = 2.0**62  # sums below it fit, however the bound itself was rounded


def words(values: Any, width: int | None = None, *, what: str = "rows") -> Words:
    """Rows as an array of their own, if they are integers and of one width."""
    try:
        found = np.array(values)
    except (ValueError, OverflowError):
        found = np.array(None)
    if found.size == 0 and found.ndim < 2:
        found = np.empty((0, width or 0), dtype=np.int64)
    if found.ndim != 2 or not (found.size == 0 or np.can_cast(found.dtype, np.int64)):
        advice = "; for text, see Symbols" if what == "rows" else ""
        raise TypeError(f"{what} must be integers of 64 bits, in rows of one width{advice}")
    if width is not None and found.shape[1] != width:
        raise ValueError(f"{what} have {found.shape[1]} columns where {width} are expected")
    return np.ascontiguousarray(found, dtype=np.int64)


def some_of(columns: Iterable[int], width: int) -> tuple[int, ...]:
    """Numbers of columns, which must be there."""
    found = tuple(columns)
    for column in found:
        if not 0 <= column < width:
            raise ValueError(f"column {column} is out of range: rows have {width}, counted from 0")
    return found


def mapped(function: Function, rows: Words) -> Words:
    """A function of columns, applied to all rows at once."""
    found = function(*_columns(rows))
    columns = found if isinstance(found, tuple) else (found,)
    result = np.empty((len(rows), len(columns)), dtype=np.int64)
    for c, column in enumerate(columns):
        if not np.can_cast(np.asarray(column).dtype, np.int64):
            raise TypeError(f"column {c} of the result is not of integers of 64 bits")
        result[:, c] = column
    return result


def expanded(function: Expansion, lines: Words, width: int, more: int) -> Words:
    """The rows that a function of one row gives for each of them. The last `more` columns of lines
    are not the function's, and are those of every row that it gives."""
    inside = lines.shape[1] - more
    found: list[Sequence[int]] = []
    counts = []
    for row in lines[:, :inside].tolist():
        before = len(found)
        found += function(*row)
        counts.append(len(found) - before)
    kept = np.repeat(lines[:, inside:], counts, axis=0)
    return np.concatenate((words(found, width), kept), axis=1)


def selected(predicate: Predicate, rows: Words) -> NDArray[np.bool_]:
    found = np.asarray(predicate(*_columns(rows)))
    if found.dtype != np.bool_:
        raise TypeError("a predicate gives truth values, such as `a < b` does for columns a and b")
    return np.broadcast_to(found, len(rows))


def _columns(rows: Words) -> Sequence[Words]:
    seen = rows.T.view()
    seen.flags.writeable = False
    return list(seen)


def reach(weights: Words) -> float:
    """How far from 0 any sum of some of these weights can be."""
    return float(np.abs(weights.astype(np.float64)).sum())


def check_reach(bound: float) -> None:
    """Weights that might wrap around are refused, since what they lead to would be wrong."""
    if bound >= LIMIT:
        raise OverflowError("weights, summed or multiplied, might not fit into 64 bits")


def matching(
    on: Sequence[tuple[int, int]], columns: Sequence[int] | None, left: int, right: int
) -> tuple[Match, Match]:
    """A join from either side: given rows of the left that meet the right's, and conversely.

    `on` has pairs of columns that must be equal, the left's first; `columns` are the result's,
    counted through the left's and then the right's.
    """
    a = some_of((pair[0] for pair in on), left)
    b = some_of((pair[1] for pair in on), right)
    result = some_of(range(left + right) if columns is None else columns, left + right)

    def match(given: tuple[int, ...], found: tuple[int, ...], *, swapped: bool) -> Match:
        first, second = (FOUND, GIVEN) if swapped else (GIVEN, FOUND)
        return Match.of(
            found,
            [(GIVEN, column) for column in given],
            [(first, c) if c < left else (second, c - left) for c in result],
        )

    return match(a, b, swapped=False), match(b, a, swapped=True)
