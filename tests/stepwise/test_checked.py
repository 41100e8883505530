"""Backward/Forward checks hardly more facts than the printed orders do."""

from __future__ import annotations

from random import Random

import pytest

from bench.stepwise import checked
from bench.stepwise.checked import GRAPHS, Case, by_engine, compared
from bench.stepwise.matching import Fact
from tidelog import Database

MOST = 1.2  # times as many as in the better of the printed orders


@pytest.mark.sampled(2)
@pytest.mark.parametrize("graph", GRAPHS)
def test_facts_checked(graph: str) -> None:
    (found,) = compared([graph])
    assert found.engine > 0
    assert found.ratio <= MOST


def test_with_counters_no_more_are_checked() -> None:
    for graph in ("in-tree", "digraph", "dag"):
        case = GRAPHS[graph](Random(0))
        assert by_engine(case, "bfc")[0] <= MOST * by_engine(case)[0]


def test_a_short_proof_is_found_in_a_large_tree() -> None:
    """The facts that could prove the root are thousands; a path from a first node is enough."""
    case = GRAPHS["in-tree"](Random(1))
    count, left = by_engine(case)
    assert len(left) == len(case.edges) + 1
    assert count <= checked.DEPTH


def test_a_fact_is_proved_by_its_last_instance() -> None:
    """More instances than are looked at together; the first ones rest on the fact itself."""
    spokes = range(2, 500)
    edges = [(1, node) for node in spokes] + [(node, 1) for node in spokes]
    case = Case(checked.REACHED, edges, [1, max(spokes)], starts_gone=[1])
    count, left = by_engine(case)
    assert left == {Fact("reached", (node,)) for node in range(1, 500)}
    assert count <= 2 * len(spokes)
    case = Case(checked.REACHED, edges, [1], starts_gone=[1])
    count, left = by_engine(case)
    assert (count, left) == (499, set())


def test_a_fact_older_than_all_that_proves_it_is_proved_soon() -> None:
    """Instances that can have derived it first are looked for, but not among all of thousands."""
    nodes = range(1, 2000)
    facts = {"edge": [(node, 0) for node in nodes], "start": [(1,)]}
    db = Database(checked.DECLARED + checked.REACHED, facts=facts, modules=False)
    with db.transaction() as tx:
        tx.insert("start", [(node,) for node in nodes])
    with db.transaction(algorithm="bf") as tx:
        tx.delete("start", [(1,)])
    assert tx.report is not None
    assert tx.report.numbers["|C|"] == 3
    assert tx.report.numbers["backward"] < 200
