"""Z-sets: a group, and queries that agree with dictionaries of tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dbsp.generate import lawful, zsets
from tidelog.dbsp import Symbols, ZSet, count, each_group, greatest, least, sum_of
from tidelog.dbsp.trace import PIECE

Plain = dict[tuple[int, ...], int]


def plain(pairs: list[tuple[tuple[int, ...], int]]) -> Plain:
    """Weights of equal rows added up, by the plainest means."""
    sums: Plain = {}
    for row, weight in pairs:
        sums[row] = sums.get(row, 0) + weight
    return {row: weight for row, weight in sums.items() if weight}


@lawful
@given(a=zsets(), b=zsets(), c=zsets())
def test_z_sets_are_an_abelian_group(a: ZSet, b: ZSet, c: ZSet) -> None:
    zero = ZSet.zero(2)
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + zero == a == zero + a
    assert a + -a == zero == a - a
    assert a - b == a + -b
    assert (a == b) == (dict(a) == dict(b))
    assert hash(a + b) == hash(b + a)


@lawful
@given(a=zsets(), b=zsets(), c=zsets())
def test_linear_and_bilinear(a: ZSet, b: ZSet, c: ZSet) -> None:
    def times(x: ZSet, y: ZSet) -> ZSet:
        return x.join(y, [(1, 0)])

    queries: list[Callable[[ZSet], ZSet]] = [
        lambda z: z.project((1,)),
        lambda z: z.select(lambda x, y: x < y),
        lambda z: z.map(lambda x, y: (y, x + y)),
    ]
    for query in queries:
        assert query(a + b) == query(a) + query(b)
    assert times(a + b, c) == times(a, c) + times(b, c)
    assert times(a, b + c) == times(a, b) + times(a, c)


@lawful
@given(a=zsets(), b=zsets(3))
def test_queries_agree_with_dictionaries(a: ZSet, b: ZSet) -> None:
    pairs, triples = list(a), list(b)
    assert dict(a) == plain(pairs)
    assert dict(a.distinct()) == {row: 1 for row, weight in pairs if weight > 0}
    assert dict(a.sign()) == {row: 1 if weight > 0 else -1 for row, weight in pairs}
    assert dict(a.select(lambda x, y: x < y)) == {r: w for r, w in pairs if r[0] < r[1]}
    assert dict(b.project((2, 0, 2))) == plain([((r[2], r[0], r[2]), w) for r, w in triples])
    assert dict(b.project(())) == plain([((), w) for _, w in triples])
    sums = [((r[0] + r[1], 7), w) for r, w in triples]
    assert dict(b.map(lambda x, y, z: (x + y, 7))) == plain(sums)
    both = [(r, s, w * v) for r, w in pairs for s, v in triples]
    joined = [((r[0], s[1], r[1]), w) for r, s, w in both if (r[1], r[0]) == (s[0], s[2])]
    assert dict(a.join(b, [(1, 0), (0, 2)], (0, 3, 1))) == plain(joined)
    assert dict(a.join(b, [])) == plain([(r + s, w) for r, s, w in both])


@lawful
@given(z=zsets(3))
def test_groups_agree_with_dictionaries(z: ZSet) -> None:
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for row, weight in z:
        groups.setdefault((row[2], row[0]), []).append((row[1], weight))
    counts = {k: sum(w for _, w in g) for k, g in groups.items()}
    sums = {k: sum(v * w for v, w in g) for k, g in groups.items()}
    there = {k: [v for v, w in g if w > 0] for k, g in groups.items()}
    keys = (2, 0)
    assert dict(z.group_by(keys, count())) == {(*k, n): 1 for k, n in counts.items() if n}
    assert dict(z.group_by(keys, sum_of(1))) == {
        (*k, n): 1 for k, n in sums.items() if n or counts[k]
    }
    smallest = {(*k, min(vs)): 1 for k, vs in there.items() if vs}
    largest = {(*k, max(vs)): 1 for k, vs in there.items() if vs}
    assert dict(z.group_by(keys, least(1))) == smallest
    assert dict(z.group_by(keys, greatest(1))) == largest


def test_many_rows() -> None:
    """Enough for tables to grow, and for joins to come in pieces."""
    rows = np.random.default_rng(1).integers(0, 100, (20_000, 2))
    z = ZSet(rows, np.ones(len(rows), dtype=np.int64))
    matrix = np.zeros((100, 100), dtype=np.int64)
    np.add.at(matrix, (rows[:, 0], rows[:, 1]), 1)
    assert dict(z) == {(a, b): matrix[a, b] for a, b in np.argwhere(matrix).tolist()}
    product = z.join(z, [(1, 0)], (0, 3))
    found = np.zeros_like(matrix)
    found[product.rows[:, 0], product.rows[:, 1]] = product.weights
    assert (found == matrix @ matrix).all()
    long = ZSet.of([(k, k % 7) for k in range(PIECE + 1000)])
    per_key = long.join(ZSet.of([(3, 0)]), [(1, 0)], (1,))
    assert dict(per_key) == {(3,): len(range(3, PIECE + 1000, 7))}


def test_to_and_from_python() -> None:
    z = ZSet.of({(2, 3): -1, (1, 2): 1, (9, 9): 0})
    assert repr(z) == "ZSet.of({(1, 2): 1, (2, 3): -1})"
    assert eval(repr(z)) == z
    assert repr(ZSet.zero(2)) == "ZSet.zero(2)"
    assert ZSet.of([(1, 2), (1, 2)]) == ZSet.of({(1, 2): 2})
    assert (z[1, 2], z[2, 3], z[5, 5]) == (1, -1, 0)
    assert (1, 2) in z
    assert (5, 5) not in z
    assert len(z) == 2
    assert repr(ZSet.of([(k,) for k in range(14)])).endswith("(11,): 1, … 2 more})")
    assert ZSet.of([()]) == ZSet.of({(): 1})
    assert z != ZSet.of({(2,): 1})
    assert z != "text"
    extremes = {(-(2**63), 2**63 - 1): 1}
    assert dict(ZSet.of(extremes)) == extremes


def test_large_weights_are_compared() -> None:
    large = ZSet.of({(1,): 2**62 - 1024})
    assert large == ZSet.of({(1,): 2**62 - 1024})
    assert large != -large
    assert large != ZSet.of({(1,): 2**62 - 1025})


def test_a_z_set_never_changes() -> None:
    rows = np.array([[1, 2]])
    z = ZSet(rows, [1])
    rows[0, 0] = 5
    assert z == ZSet.of([(1, 2)])
    with pytest.raises(ValueError, match="read-only"):
        z.rows[0, 0] = 5
    with pytest.raises(AttributeError, match="never changes"):
        z.rows = rows  # type: ignore[misc]

    def spoil(a: Any, b: Any) -> Any:
        a += 1
        return a

    with pytest.raises(ValueError, match="read-only"):
        z.map(spoil)


INTEGERS = "rows must be integers of 64 bits, in rows of one width; for text, see Symbols"
Z = ZSet.of([(1, 2)])
MEAN = each_group((1,), lambda g: g.weights / 2)
NONE = each_group((1,), lambda g: g.weights[:0])
LARGE = ZSet.of({(1, 1): 2**32})
BAD: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: ZSet.of({("a", "b"): 1}), TypeError, INTEGERS),
    (lambda: ZSet.of([(1.5, 2.0)]), TypeError, INTEGERS),
    (lambda: ZSet.of([(float("nan"),)]), TypeError, INTEGERS),
    (lambda: ZSet.of([(1, 2), (1,)]), TypeError, INTEGERS),
    (lambda: ZSet.of([(2**63,)]), TypeError, INTEGERS),
    (lambda: ZSet.of([(2**70,)]), TypeError, INTEGERS),
    (lambda: ZSet.of([(2**63,), (-1,)]), TypeError, INTEGERS),
    (lambda: ZSet.of([1, 2]), TypeError, INTEGERS),
    (lambda: ZSet.of([(None, 1)]), TypeError, INTEGERS),
    (lambda: ZSet.of({}), ValueError, "an empty Z-set needs its width"),
    (lambda: ZSet.of([(1, 2)], width=3), ValueError, "rows have 2 columns where 3 are expected"),
    (lambda: ZSet.of({(1,): 1.5}), TypeError, "weights must be integers of 64 bits"),  # type: ignore[dict-item]
    (lambda: ZSet.of({(1,): 2**63}), TypeError, "weights must be integers of 64 bits"),
    (lambda: ZSet.of({(1,): 2**62}), OverflowError, "might not fit into 64 bits"),
    (lambda: ZSet.of({(1,): 2**61}) + ZSet.of({(1,): 2**61}), OverflowError, "might not fit"),
    (lambda: LARGE.join(LARGE, []), OverflowError, "might not fit"),
    (lambda: ZSet([(1,), (2,)], [1]), ValueError, "2 rows have 1 weights"),
    (lambda: Z + ZSet.zero(3), ValueError, "rows of 2 and of 3 columns have no sum"),
    (lambda: Z.project((2,)), ValueError, "column 2 is out of range: rows have 2, counted from 0"),
    (lambda: Z.project((-1,)), ValueError, "column -1 is out of range"),
    (lambda: Z.join(Z, [(2, 0)]), ValueError, "column 2 is out of range"),
    (lambda: Z.join(Z, [(0, 0)], (4,)), ValueError, "column 4 is out of range"),
    (lambda: Z.group_by((5,), count()), ValueError, "column 5 is out of range"),
    (lambda: Z.group_by((0,), sum_of(5)), ValueError, "column 5 is out of range"),
    (lambda: Z.group_by((0,), MEAN), TypeError, "values must be integers of 64 bits"),
    (lambda: Z.group_by((0,), NONE), ValueError, "of 1 groups, an aggregate gives 0 values"),
    (lambda: Z.map(lambda a, b: a / b), TypeError, "column 0 of the result is not of integers"),
    (lambda: Z.flat_map(lambda a, b: [(0.5,)], 1), TypeError, "rows must be integers"),
    (lambda: Z.flat_map(lambda a, b: [(a, b)], 1), ValueError, "2 columns where 1 are expected"),
    (lambda: Z.flat_map(lambda a, b: [(a,), (a, b)], 1), TypeError, "in rows of one width"),
    (lambda: Z.select(lambda a, b: a), TypeError, "a predicate gives truth values"),
    (lambda: Symbols().zset(["ab"]), TypeError, r"a row is a tuple, such as \('ab',\)"),
    (lambda: Symbols().zset([(1.5,)]), TypeError, "1.5 is neither a text nor an integer"),
    (lambda: Symbols().zset([(2**62,)]), OverflowError, "integers beside texts have 63 bits"),
    (lambda: Symbols().rows(ZSet.of([(2**62,)])), ValueError, "stands for no text"),
]


@pytest.mark.parametrize(("make", "kind", "message"), BAD)
def test_bad_input(make: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


@lawful
@given(rows=st.dictionaries(st.tuples(st.text(max_size=3), st.integers(-9, 9)), st.integers(1, 3)))
def test_symbols(rows: dict[tuple[str, int], int]) -> None:
    names = Symbols()
    z = names.zset(rows, width=2)
    assert names.rows(z) == rows
    assert len(names) == len({text for text, _ in rows})
    assert names.zset(rows, width=2) == z
