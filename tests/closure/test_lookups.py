"""Which pairs are there, and which hang on given edges."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tidelog.closure import Components, Reachability


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(edges)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


@pytest.mark.parametrize("seed", range(40))
def test_questions(seed: int) -> None:
    random = Random(seed)
    nodes = random.choice((4, 9, 20))
    known, classes = Reachability(), Components()
    edges: set[tuple[int, int]] = set()
    for _ in range(4):
        new = {(random.randrange(nodes), random.randrange(nodes)) for _ in range(nodes)}
        gone = set(random.sample(sorted(edges), len(edges) // 2))
        edges = (edges - gone) | new
        for structure in (known, classes):
            structure.delete(np.array(sorted(gone), dtype=np.uint32).reshape(-1, 2))
            structure.insert(np.array(sorted(new), dtype=np.uint32))
        paths, both = closure(edges), closure(edges | {(b, a) for a, b in edges})
        pairs = [(a, b) for a in range(nodes + 1) for b in range(nodes + 1)]
        asked = np.array(pairs, dtype=np.uint32)
        assert known.contains(asked).tolist() == [pair in paths for pair in pairs]
        assert classes.contains(asked).tolist() == [pair in both for pair in pairs]
        through = random.sample(pairs, 3)
        with_node = {a for edge in edges for a in edge}
        expected = {
            (x, y)
            for a, b in through
            if a in with_node and b in with_node
            for x in range(nodes)
            for y in range(nodes)
            if (x == a or (x, a) in paths) and (y == b or (b, y) in paths)
        }
        found = [tuple(pair) for pair in known.affected(through).tolist()]
        assert len(found) == len(set(found))
        assert expected <= set(found)
        assert {p for p in found if p[0] in with_node and p[1] in with_node} <= expected
        found = [tuple(pair) for pair in classes.around(through).tolist()]
        assert len(found) == len(set(found))
        ends = {c for edge in through if edge in edges for c in edge}
        assert set(found) == {(x, y) for x, y in edges if any((x, c) in both for c in ends)}


def test_nothing_is_known_of_strangers() -> None:
    known, classes = Reachability(), Components()
    for structure in (known, classes):
        structure.insert([(1, 2)])
        assert structure.contains([(7, 8), (1, 7), (1, 2)]).tolist() == [False, False, True]
        assert structure.contains(np.empty((0, 2), dtype=np.uint32)).tolist() == []
    assert known.affected([(7, 8)]).tolist() == []
    assert classes.around([(7, 8), (2, 1)]).tolist() == []
