"""Aggregates: what is known of a group of rows with the same keys.

An aggregate has two halves. `keep` is linear: it follows changes row by row, and keeps of a row
what matters. `values` looks at all that was kept of a group. Of a count one line is kept for a
whole group, of a sum two, so that a change costs the same however large its group is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tidelog.dbsp.row_columns import check_reach, reach, some_of, words
from tidelog.dbsp.trace import Batch, Words, consolidated


@dataclass(frozen=True, slots=True)
class Groups:
    """What was kept of some groups: lines of the same keys stand side by side."""

    keys: Words  # one line a group
    rows: Words  # what was kept besides
    weights: Words
    starts: NDArray[np.intp]  # each group's first line

    @classmethod
    def of(cls, batch: Batch, keys: int) -> Groups:
        """Lines by their first columns; their times do not matter here."""
        batch = batch[np.lexsort(batch[:, :keys].T)] if keys else batch
        is_first = np.ones(len(batch), dtype=np.bool_)
        is_first[1:] = (batch[1:, :keys] != batch[:-1, :keys]).any(axis=1)
        starts = np.flatnonzero(is_first)
        return cls(batch[starts, :keys], batch[:, keys:-2], batch[:, -1], starts)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A query on groups; `count`, `sum_of`, `least`, `greatest` and `each_group` make them."""

    kept: int  # columns that are kept, besides the keys
    keep: Callable[[Batch, tuple[int, ...]], Batch]  # of rows: their keys, and what is kept
    values: Callable[[Groups], Words]
    results: int = 1  # columns of values
    only_positive: bool = False  # lines that weigh less than nothing do not count


def aggregated(aggregate: Aggregate, kept: Batch, keys: int, time: int = 0) -> Batch:
    """Keys and values of groups, as a set at a time, from what is kept: each line once."""
    if aggregate.only_positive:
        kept = kept[kept[:, -1] > 0]
    if not len(kept):
        return np.empty((0, keys + aggregate.results + 2), dtype=np.int64)
    groups = Groups.of(kept, keys)
    values = np.asarray(aggregate.values(groups))
    if values.size != len(groups.keys) * aggregate.results:
        raise ValueError(f"of {len(groups.keys)} groups, an aggregate gives {values.size} values")
    values = words(values.reshape(len(groups.keys), aggregate.results), what="values")
    ends = np.repeat(np.array([[time, 1]], dtype=np.int64), len(values), axis=0)
    return np.concatenate((groups.keys, values, ends), axis=1)


def count() -> Aggregate:
    """The sum of a group's weights. Where it is 0, there is no group."""
    return Aggregate(0, partial(_keep, ()), lambda groups: groups.weights)


def sum_of(column: int) -> Aggregate:
    """The sum of a column, each value by its weight; no group where that and the count are 0."""
    return Aggregate(1, partial(_keep_products, column), _sums)


def least(column: int) -> Aggregate:
    """The smallest value among the rows that weigh more than nothing."""
    return each_group((column,), lambda g: np.minimum.reduceat(g.rows[:, 0], g.starts))


def greatest(column: int) -> Aggregate:
    """The largest value among the rows that weigh more than nothing."""
    return each_group((column,), lambda g: np.maximum.reduceat(g.rows[:, 0], g.starts))


def each_group(
    columns: Sequence[int], function: Callable[[Groups], Words], results: int = 1
) -> Aggregate:
    """A function of given columns, of the rows of groups that weigh more than nothing.

    It gets all groups in question at once, and gives a line of `results` columns for each.
    """
    return Aggregate(len(columns), partial(_keep, tuple(columns)), function, results, True)


def _keep(columns: tuple[int, ...], batch: Batch, keys: tuple[int, ...]) -> Batch:
    check_reach(reach(batch[:, -1]))
    return consolidated(_with(batch, (*keys, *columns)))


def _keep_products(column: int, batch: Batch, keys: tuple[int, ...]) -> Batch:
    """A line 0 with the weight, so that a sum of 0 is seen, and a line 1 with the product."""
    lines = np.repeat(_with(batch, (*keys, column)), 2, axis=0)
    values = batch[:, column]
    check_reach(float(np.abs(values.astype(np.float64) * batch[:, -1]).sum()))
    check_reach(reach(batch[:, -1]))
    lines[0::2, -3], lines[1::2, -3] = 0, 1
    lines[1::2, -1] *= values
    return consolidated(lines)


def _sums(groups: Groups) -> Words:
    products: Words = np.where(groups.rows[:, 0] == 1, groups.weights, 0)
    return np.add.reduceat(products, groups.starts)


def _with(batch: Batch, columns: tuple[int, ...]) -> Batch:
    """Some columns, time and weight."""
    end = batch.shape[1] - 2
    return np.ascontiguousarray(batch[:, (*some_of(columns, end), end, end + 1)])
