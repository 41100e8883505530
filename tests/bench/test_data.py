"""The generators: the same facts for the same seed, and of the sizes that the tables claim."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bench import data
from bench.data import Facts, Rows
from bench.workloads import workloads

GENERATORS: dict[str, Callable[[int], Rows | Facts]] = {
    "random_digraph": lambda seed: data.random_digraph(1000, 0.01, seed),
    "rmat": lambda seed: data.rmat(1000, 10_000, seed),
    "random_dag": lambda seed: data.random_dag(2000, 20_000, seed),
    "trees": lambda seed: data.trees(2, 6, 3, seed),
    "points_to": lambda seed: data.points_to(125, seed),
    "lubm_like": lambda seed: data.lubm_like(15, seed).rows(),
}
SIZES = {
    "random_digraph": (9_990, 9_990),
    "rmat": (10_000, 10_000),
    "random_dag": (20_000, 20_000),
    "trees": (1_000, 10_000),
    "points_to": (98_000, 105_000),
    "lubm_like": (90_000, 115_000),
}


def tables(made: Rows | Facts) -> list[Rows]:
    return list(made.values()) if isinstance(made, dict) else [made]


@pytest.mark.parametrize("name", GENERATORS)
def test_a_seed_decides_everything(name: str) -> None:
    first, again, other = (tables(GENERATORS[name](seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("name", GENERATORS)
def test_rows_are_distinct_and_as_many_as_promised(name: str) -> None:
    made = tables(GENERATORS[name](3))
    for rows in made:
        assert rows.dtype == np.int64
        assert len(np.unique(rows, axis=0)) == len(rows)
    low, high = SIZES[name]
    assert low <= sum(map(len, made)) <= high


def test_graphs_have_no_loops_and_dags_no_cycles() -> None:
    for edges in (data.random_digraph(50, 0.1, 1), data.rmat(50, 200, 1)):
        assert (edges[:, 0] != edges[:, 1]).all()
        assert 0 <= edges.min() <= edges.max() < 50
    dag = data.random_dag(50, 200, 1)
    assert (dag[:, 0] < dag[:, 1]).all()


def test_rmat_prefers_low_nodes() -> None:
    edges = data.rmat(1000, 10_000, 1)
    share = np.mean(edges < 512, axis=0)
    assert (share > 0.65).all()


def test_in_trees_every_child_has_one_parent_that_came_before() -> None:
    parents = data.trees(3, 5, 2, 1)
    assert len(np.unique(parents[:, 0])) == len(parents)
    assert (parents[:, 1] < parents[:, 0]).all()


def test_the_rdfs_rules_number_the_words_as_the_data_does() -> None:
    numbers = data.lubm_like(1, 1).numbers
    assert [numbers[word] for word in data.RDFS_WORDS] == [0, 1, 2, 3, 4]


def test_recorded_streams_give_their_insertions() -> None:
    sizes = {name: data.stream_facts(name) for name in ("lubm", "claros")}
    assert {n: sum(map(len, f.values())) for n, f in sizes.items()} == {"lubm": 672, "claros": 674}


@pytest.mark.parametrize("quick", [True, False])
def test_every_workload_declares_its_facts_and_outputs(quick: bool) -> None:
    for workload in workloads(quick):
        arities = workload.arities()
        assert workload.outputs
        assert set(workload.outputs) <= set(arities)
        for name, rows in workload.facts.items():
            assert rows.shape[1] == arities[name], (workload.name, name)
