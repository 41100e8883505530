"""Z-sets, streams and queries for the laws: few values, so that rows meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tidelog.dbsp import Stream, Streams, ZSet, ZSets, count, each_group, greatest, least, sum_of
from tidelog.dbsp import operators as op
from tidelog.dbsp.operators import Operator

T = 5  # outer times that have something
K = 4  # inner times that have something

lawful = settings(max_examples=60, deadline=None)
long = settings(max_examples=25, deadline=None)


def zsets(width: int = 2) -> st.SearchStrategy[ZSet]:
    row = st.tuples(*[st.integers(0, 2)] * width)
    return st.dictionaries(row, st.integers(-2, 2), max_size=5).map(
        lambda weights: ZSet.of(weights, width=width)
    )


def streams(width: int = 2) -> st.SearchStrategy[Stream[ZSet]]:
    return st.lists(zsets(width), max_size=T).map(lambda zs: Stream.of(ZSets(width), zs))


def nested(width: int = 2) -> st.SearchStrategy[Stream[Stream[ZSet]]]:
    group = ZSets(width)
    inner = st.lists(zsets(width), max_size=K).map(lambda zs: Stream.of(group, zs))
    return st.lists(inner, max_size=T).map(lambda ss: Stream.of(Streams(group), ss))


def grid(s: Stream[Stream[ZSet]]) -> list[list[ZSet]]:
    return [inner.prefix(K + 1) for inner in s.prefix(T + 1)]


@dataclass(frozen=True)
class Query:
    """A query on Z-sets with two columns, and its incremental operator."""

    function: Callable[..., ZSet]
    operator: Callable[[], Operator]
    width: int = 2
    inputs: int = 1

    @property
    def group(self) -> ZSets:
        return ZSets(self.width)


ON = [(1, 0)]
widest = each_group(
    (1,),
    lambda g: np.stack(
        (np.maximum.reduceat(g.rows[:, 0], g.starts), np.add.reduceat(g.weights, g.starts)), axis=1
    ),
    results=2,
)


def between(a: int, b: int) -> list[tuple[int]]:
    """No row, one or several; and the same one for different rows."""
    return [(n,) for n in range(a, b)]


LINEAR = {
    "plus": Query(lambda a, b: a + b, lambda: op.Plus(2), inputs=2),
    "minus": Query(lambda a: -a, lambda: op.Negate(2)),
    "select": Query(lambda a: a.select(np.less), lambda: op.Select(2, np.less)),
    "project": Query(lambda a: a.project((1,)), lambda: op.Project(2, (1,)), 1),
    "project to nothing": Query(lambda a: a.project(()), lambda: op.Project(2, ()), 0),
    "map": Query(lambda a: a.map(np.add), lambda: op.MapRows(2, np.add), 1),
    "flat map": Query(lambda a: a.flat_map(between, 1), lambda: op.FlatMap(between, 1), 1),
}
BILINEAR = {
    "join": Query(lambda a, b: a.join(b, ON, (0, 3)), lambda: op.Join(2, 2, ON, (0, 3)), inputs=2),
    "product": Query(lambda a, b: a.join(b, []), lambda: op.Join(2, 2, []), 4, inputs=2),
    "intersection": Query(
        lambda a, b: a.join(b, [(0, 0), (1, 1)], (1, 2)),
        lambda: op.Join(2, 2, [(0, 0), (1, 1)], (1, 2)),
        inputs=2,
    ),
}
OTHERS = {
    "distinct": Query(lambda a: a.distinct(), lambda: op.Distinct(2)),
    "count": Query(lambda a: a.group_by((0,), count()), lambda: op.GroupBy(2, (0,), count())),
    "sum": Query(lambda a: a.group_by((0,), sum_of(1)), lambda: op.GroupBy(2, (0,), sum_of(1))),
    "sum by itself": Query(
        lambda a: a.group_by((1,), sum_of(1)), lambda: op.GroupBy(2, (1,), sum_of(1))
    ),
    "sum of all": Query(
        lambda a: a.group_by((), sum_of(1)), lambda: op.GroupBy(2, (), sum_of(1)), 1
    ),
    "least": Query(lambda a: a.group_by((0,), least(1)), lambda: op.GroupBy(2, (0,), least(1))),
    "greatest": Query(
        lambda a: a.group_by((1,), greatest(0)), lambda: op.GroupBy(2, (1,), greatest(0))
    ),
    "widest": Query(
        lambda a: a.group_by((0,), widest), lambda: op.GroupBy(2, (0,), widest), width=3
    ),
}
QUERIES = {**LINEAR, **BILINEAR, **OTHERS}
