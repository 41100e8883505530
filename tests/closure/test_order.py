"""Edges in order: counting where they are many gives what sorting gives."""

from __future__ import annotations

import numpy as np
import pytest

from tidelog.closure.digraph import HALF, in_order, turned


@pytest.mark.parametrize(("nodes", "edges"), [(0, 0), (1, 3), (40, 30), (40, 40), (40, 2000)])
def test_edges_are_sorted_both_ways(nodes: int, edges: int) -> None:
    rng = np.random.default_rng(edges)
    first, second = rng.integers(max(1, nodes), size=(2, edges)).astype(np.uint64)
    ways = (first << HALF) | second
    ordered = in_order(ways.copy(), nodes)
    assert ordered.tolist() == sorted(ways.tolist())
    back = (ways << HALF) | (ways >> HALF)
    assert turned(ordered, nodes).tolist() == sorted(back.tolist())
