"""That the benchmark of explanations measures proofs."""

from __future__ import annotations

import numpy as np

from bench.explain.run import cases, measure, page
from bench.workloads import Workload, text


def test_every_proof_is_whole() -> None:
    program = text("closure_linear")
    edges = np.array([(i, i + 1) for i in range(20)], dtype=np.int64)
    found = measure(
        Workload("chain", "a chain", "other", program, {"edge": edges}), "chain", False, 15
    )
    assert (found.facts, found.complete, found.minimal) == (20 + 210, 100, 100)
    assert found.sizes > 2
    assert 0 < found.median <= found.high
    assert "| chain | 230 |" in page("here", [found])


def test_linear_closures_are_measured_without_modules() -> None:
    names = [name for name, _, modules in cases(quick=True) if not modules]
    assert names == [f"{graph}-linear, no modules" for graph in ("random", "rmat", "dag")]
