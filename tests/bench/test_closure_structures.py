"""The benchmark of closure structures runs, and says what it measured."""

from __future__ import annotations

import numpy as np
import pytest

from bench import closure_structures as bench
from tidelog.closure import Components, Reachability


def test_graphs_are_the_same_every_time() -> None:
    edges = [edges for _, _, edges in bench.workloads(True)]
    again = [edges for _, _, edges in bench.workloads(True)]
    assert all(np.array_equal(a, b) for a, b in zip(edges, again, strict=True))


@pytest.mark.parametrize("kind", [Reachability, Components])
def test_a_row_tells_edges_and_pairs(kind: type) -> None:
    row = bench.measure("chains", kind, bench.chains(100, 10)).split(" | ")
    assert row[:3] == ["| chains", "90", "450" if kind is Reachability else "1,000"]
    assert len(row) == len(bench.HEAD)
