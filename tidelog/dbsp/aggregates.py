"""Aggregates: what is known of a group of rows with the same keys.

An aggregate has two halves. `keep` is linear: it follows changes row by row, and keeps of a row
what matters. `values` looks at all that was kept of a group. Of a count one line is kept for a
whole group, of a sum two, so that a change costs the same however large its group is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tidelog.dbsp.columns import check_reach, reach, some_of
from tidelog.dbsp.trace import Batch, Words, gather


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
        differs = (batch[1:, :keys] != batch[:-1, :keys]).any(axis=1)
        starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(batch)), np.bool_), differs)))
        return cls(batch[starts, :keys], batch[:, keys:-2], batch[:, -1], starts)


class Aggregate(Protocol):
    """A query on groups; see `count`, `sum_of`, `least`, `greatest` and `each_group`."""

    @property
    def kept(self) -> int:
        """How many columns are kept besides the keys."""

    @property
    def results(self) -> int:
        """How many columns the result has besides the keys."""

    def keep(self, batch: Batch, keys: tuple[int, ...]) -> Batch:
        """Of each row its keys and what matters. Linear."""

    def values(self, groups: Groups) -> Words:
        """One line for each group."""


def aggregated(aggregate: Aggregate, kept: Batch, keys: int, time: int = 0) -> Batch:
    """Keys and values of groups, as a set at a time, from what is kept: each line once."""
    if isinstance(aggregate, EachGroup):
        kept = kept[kept[:, -1] > 0]
    if not len(kept):
        return np.empty((0, keys + aggregate.results + 2), dtype=np.int64)
    groups = Groups.of(kept, keys)
    values = np.reshape(aggregate.values(groups), (len(groups.keys), aggregate.results))
    ends = np.repeat(np.array([[time, 1]], dtype=np.int64), len(values), axis=0)
    return np.concatenate((groups.keys, values, ends), axis=1)


@dataclass(frozen=True, slots=True)
class Count:
    kept: int = 0
    results: int = 1

    def keep(self, batch: Batch, keys: tuple[int, ...]) -> Batch:
        return gather([_with(batch, keys)])

    def values(self, groups: Groups) -> Words:
        return groups.weights


@dataclass(frozen=True, slots=True)
class Sum:
    column: int
    kept: int = 1
    results: int = 1

    def keep(self, batch: Batch, keys: tuple[int, ...]) -> Batch:
        """A line 0 with the weight, so that a sum of 0 is seen, and a line 1 with the product."""
        (column,) = some_of((self.column,), batch.shape[1] - 2)
        values = batch[:, column]
        check_reach(float(np.abs(values.astype(np.float64) * batch[:, -1]).sum()))
        lines = np.repeat(_with(batch, (*keys, column)), 2, axis=0)
        lines[0::2, -3], lines[1::2, -3] = 0, 1
        lines[1::2, -1] *= values
        return gather([lines])

    def values(self, groups: Groups) -> Words:
        products: Words = np.where(groups.rows[:, 0] == 1, groups.weights, 0)
        return np.add.reduceat(products, groups.starts)


@dataclass(frozen=True, slots=True)
class EachGroup:
    columns: tuple[int, ...]
    function: Callable[[Groups], Words]
    results: int = 1

    @property
    def kept(self) -> int:
        return len(self.columns)

    def keep(self, batch: Batch, keys: tuple[int, ...]) -> Batch:
        columns = some_of(self.columns, batch.shape[1] - 2)
        return gather([_with(batch, (*keys, *columns))])

    def values(self, groups: Groups) -> Words:
        return self.function(groups)


def count() -> Aggregate:
    """The sum of a group's weights. Where it is 0, there is no group."""
    return Count()


def sum_of(column: int) -> Aggregate:
    """The sum of a column, each value by its weight; no group where that and the count are 0."""
    return Sum(column)


def least(column: int) -> Aggregate:
    """The smallest value among the rows that weigh more than nothing."""
    return EachGroup((column,), lambda g: np.minimum.reduceat(g.rows[:, 0], g.starts))


def greatest(column: int) -> Aggregate:
    """The largest value among the rows that weigh more than nothing."""
    return EachGroup((column,), lambda g: np.maximum.reduceat(g.rows[:, 0], g.starts))


def each_group(
    columns: tuple[int, ...], function: Callable[[Groups], Words], results: int = 1
) -> Aggregate:
    """A function of given columns, of the rows of groups that weigh more than nothing.

    It gets all groups in question at once, and gives `results` columns with a line for each.
    """
    return EachGroup(columns, function, results)


def _with(batch: Batch, columns: tuple[int, ...]) -> Batch:
    """Some columns, time and weight."""
    check_reach(reach(batch[:, -1]))
    end = batch.shape[1] - 2
    return np.ascontiguousarray(batch[:, (*columns, end, end + 1)])
