"""Z-sets: rows with integer weights, a group under addition (DBSP, section 4).

A set is a Z-set whose weights are all 1, and a change of a set has weights 1 for what comes and
-1 for what goes. Rows are columns of 64-bit words; operations run in kernels, on all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tidelog.dbsp import row_columns as of_columns
from tidelog.dbsp.aggregates import Aggregate, aggregated
from tidelog.dbsp.kernels.zset_joins import total
from tidelog.dbsp.row_columns import (
    Expansion,
    Function,
    Predicate,
    check_reach,
    matching,
    reach,
    some_of,
)
from tidelog.dbsp.trace import Batch, Trace, Words, consolidated

SHOWN = 12  # rows that are written out


class ZSet:
    """An element of Z[A]: finitely many rows, each with a weight that is not 0. Never changes.

    >>> change = ZSet.of({(1, 2): 1, (2, 3): -1})
    >>> change + ZSet.of([(2, 3), (3, 4)])
    ZSet.of({(1, 2): 1, (3, 4): 1})
    >>> change.select(lambda a, b: a < 2)
    ZSet.of({(1, 2): 1})
    >>> change.join(change, on=[(1, 0)], columns=(0, 3))
    ZSet.of({(1, 3): -1})
    """

    __slots__ = ("rows", "weights")
    rows: Words  # (n, width); each row once, in no particular order
    weights: Words  # (n,), none of them 0

    def __init__(self, rows: Any, weights: Any) -> None:
        """Rows (n, width) with their n weights; those of equal rows are added up."""
        rows = of_columns.words(rows)
        weights = of_columns.words(np.reshape(weights, (-1, 1)), 1, what="weights")
        if len(rows) != len(weights):
            raise ValueError(f"{len(rows)} rows have {len(weights)} weights")
        check_reach(reach(weights))
        self._set(consolidated(np.concatenate((rows, weights), axis=1)))

    @classmethod
    def of(cls, rows: Mapping[Any, int] | Iterable[Any], *, width: int | None = None) -> ZSet:
        """From a mapping of tuples to weights, or from tuples, which then weigh 1 each.

        The width must be given if there might be no rows to tell it.
        """
        weights: Any
        if isinstance(rows, Mapping):
            weights = list(rows.values())
            rows = list(rows)
        else:
            rows = list(rows)
            weights = np.ones(len(rows), dtype=np.int64)
        if not rows and width is None:
            raise ValueError("an empty Z-set needs its width: ZSet.of({}, width=2)")
        return cls(of_columns.words(rows, width), weights)

    @classmethod
    def zero(cls, width: int) -> ZSet:
        return cls._summed(np.empty((0, width + 1), dtype=np.int64))

    @classmethod
    def from_batch(cls, batch: Batch) -> ZSet:
        """The sum of rows over all times: the changes at all inner times, taken together."""
        check_reach(reach(batch[:, -1]))
        return cls._total(batch[:, :-2], batch[:, -1])

    @classmethod
    def _summed(cls, lines: Words) -> ZSet:
        """Of lines that end in a weight, each row once."""
        found = cls.__new__(cls)
        found._set(lines)
        return found

    @classmethod
    def _total(cls, rows: Words, weights: Words) -> ZSet:
        lines = np.concatenate((rows, weights[:, None]), axis=1)
        return cls._summed(consolidated(np.ascontiguousarray(lines)))

    def _set(self, lines: Words) -> None:
        lines.flags.writeable = False
        object.__setattr__(self, "rows", lines[:, :-1])
        object.__setattr__(self, "weights", lines[:, -1])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Z-set never changes")

    @property
    def width(self) -> int:
        return int(self.rows.shape[1])

    def batch(self, time: int = 0) -> Batch:
        """Its rows at an inner time, as traces take them."""
        batch = np.empty((len(self), self.width + 2), dtype=np.int64)
        batch[:, :-2], batch[:, -2], batch[:, -1] = self.rows, time, self.weights
        return batch

    # The group.

    def __add__(self, other: ZSet) -> ZSet:
        self._check_like(other)
        if not len(other):
            return self
        if not len(self):
            return other
        weights = np.concatenate((self.weights, other.weights))
        check_reach(reach(weights))
        return ZSet._total(np.concatenate((self.rows, other.rows)), weights)

    def __neg__(self) -> ZSet:
        return ZSet._summed(np.concatenate((self.rows, -self.weights[:, None]), axis=1))

    def __sub__(self, other: ZSet) -> ZSet:
        return self + -other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ZSet):
            return NotImplemented
        if self.width != other.width or len(self) != len(other):
            return False
        # Not `self - other`: here each difference is of two weights, and fits.
        both = np.concatenate((self.rows, other.rows))
        weights = np.concatenate((self.weights, -other.weights))
        lines = np.concatenate((both, weights[:, None]), axis=1)
        return not len(total(np.ascontiguousarray(lines))[0])

    def __hash__(self) -> int:
        return hash((self.width, len(self), int(np.bitwise_xor.reduce(self.weights, initial=0))))

    # Queries (DBSP, table 1). All but `distinct`, `sign` and `group_by` are linear or bilinear.

    def distinct(self) -> ZSet:
        """The rows that weigh more than nothing, as a set."""
        rows = self.rows[self.weights > 0]
        return ZSet._summed(np.concatenate((rows, np.ones((len(rows), 1), np.int64)), axis=1))

    def sign(self) -> ZSet:
        """All rows, with weights 1 or -1."""
        return ZSet._summed(np.concatenate((self.rows, np.sign(self.weights)[:, None]), axis=1))

    def select(self, predicate: Predicate) -> ZSet:
        """σ: rows for which a predicate, called once with all columns, is true."""
        kept = of_columns.selected(predicate, self.rows)
        return ZSet._summed(np.concatenate((self.rows[kept], self.weights[kept][:, None]), axis=1))

    def project(self, columns: Iterable[int]) -> ZSet:
        """π: some columns, in any order; weights of rows that become the same add up."""
        check_reach(reach(self.weights))
        return ZSet._total(self.rows[:, some_of(columns, self.width)], self.weights)

    def map(self, function: Function) -> ZSet:
        """Rows by a function of columns; where it computes too large a number, numpy's rules hold.

        >>> ZSet.of({(1, 2): 1, (3, 4): 1}).map(lambda a, b: (b, 7, a + b))
        ZSet.of({(2, 7, 3): 1, (4, 7, 7): 1})
        """
        check_reach(reach(self.weights))
        return ZSet._total(of_columns.mapped(function, self.rows), self.weights)

    def flat_map(self, function: Expansion, width: int) -> ZSet:
        """Rows of a width, any number for each row, by a function of one row's integers.

        >>> ZSet.of({(1, 3): 2}).flat_map(lambda a, b: [(n,) for n in range(a, b)], width=1)
        ZSet.of({(1,): 2, (2,): 2})
        """
        lines = np.concatenate((self.rows, self.weights[:, None]), axis=1)
        lines = of_columns.expanded(function, lines, width, more=1)
        check_reach(reach(lines[:, -1]))
        return ZSet._summed(consolidated(lines))

    def join(
        self, other: ZSet, on: Sequence[tuple[int, int]], columns: Sequence[int] | None = None
    ) -> ZSet:
        """⋈: pairs of rows that agree on columns `on`; weights are multiplied.

        The result has the given columns, counted through the left's and then the right's.
        """
        match, _ = matching(on, columns, self.width, other.width)
        check_reach(reach(self.weights) * reach(other.weights))
        trace = Trace(other.width)
        trace.add(other.batch())
        trace.index(match.columns)
        found = [*match.pairs(self.batch(), trace)]
        return ZSet.from_batch(
            np.concatenate([np.empty((0, len(match.result) + 2), dtype=np.int64), *found])
        )

    def group_by(self, keys: Iterable[int], aggregate: Aggregate) -> ZSet:
        """For every group of rows with the same keys: the keys, then what the aggregate gives.

        >>> from tidelog.dbsp import count
        >>> ZSet.of([(1, 5), (1, 6), (2, 5)]).group_by((0,), count())
        ZSet.of({(1, 2): 1, (2, 1): 1})
        """
        keys = some_of(keys, self.width)
        return ZSet.from_batch(aggregated(aggregate, aggregate.keep(self.batch(), keys), len(keys)))

    # To Python.

    def __len__(self) -> int:
        """How many rows there are, whatever they weigh."""
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Rows with their weights, in order: `dict(z)` is a dictionary."""
        order = np.lexsort(self.rows.T[::-1]) if self.width else slice(None)
        rows, weights = self.rows[order].tolist(), self.weights[order].tolist()
        return zip(map(tuple, rows), weights, strict=True)

    def __getitem__(self, row: tuple[int, ...]) -> int:
        """A row's weight, 0 if it is not there."""
        asked = of_columns.words([row], self.width)
        return int(self.weights[(self.rows == asked).all(axis=1)].sum())

    def __contains__(self, row: tuple[int, ...]) -> bool:
        return self[row] != 0

    def __repr__(self) -> str:
        if not len(self):
            return f"ZSet.zero({self.width})"
        shown = [f"{row}: {weight}" for row, weight in self]
        if len(shown) > SHOWN:
            shown[SHOWN:] = [f"… {len(self) - SHOWN} more"]
        return f"ZSet.of({{{', '.join(shown)}}})"

    def _check_like(self, other: ZSet) -> None:
        if self.width != other.width:
            raise ValueError(f"rows of {self.width} and of {other.width} columns have no sum")


class ZSets:
    """Z[A] as a group, for rows of some width."""

    def __init__(self, width: int) -> None:
        self.zero = ZSet.zero(width)

    def add(self, a: ZSet, b: ZSet) -> ZSet:
        return a + b

    def negate(self, a: ZSet) -> ZSet:
        return -a
