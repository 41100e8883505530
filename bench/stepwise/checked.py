"""Facts that Backward/Forward checks: the engine against the printed orders, on generated graphs.

    python -m bench.stepwise.checked

All delete the same edges from the same graphs. The engine's |C| is compared with the size of C in
the algorithm as Motik et al. (2015) print it, and as Illich and Glimm (2025) do; only facts that
rules derive count, because the engine knows without a check which explicit facts are left.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from bench.report import table
from bench.stepwise import bf_marking
from bench.stepwise.bf import BackwardForward
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact, Rules
from tidelog import Database

Edge = tuple[int, int]
Edges = list[Edge]
SEEDS = range(3)  # that are averaged
DECLARED = """
.decl edge(x: number, y: number)
.decl start(x: number)
.decl path(x: number, y: number)
.decl even(x: number, y: number)
.decl reached(x: number)
"""
CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
NONLINEAR = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z)."
SYMMETRIC = f"{NONLINEAR} path(y, x) :- path(x, y)."
BY_PARITY = """
path(x, y) :- edge(x, y). path(x, z) :- even(x, y), edge(y, z).
even(x, z) :- path(x, y), edge(y, z).
"""
REACHED = "reached(x) :- start(x). reached(y) :- reached(x), edge(x, y)."
DEPTH = 12  # of the in-tree
GRID = 8  # nodes in a row


class Case(NamedTuple):
    """A program, its edges and first nodes, and the edges or nodes that are deleted."""

    rules: str
    edges: Edges
    starts: Sequence[int] = ()
    edges_gone: Sequence[Edge] = ()
    starts_gone: Sequence[int] = ()


class Checked(NamedTuple):
    """Facts that were checked: sums over the cases of a graph."""

    graph: str
    engine: int
    of_2015: int
    of_2025: int

    @property
    def ratio(self) -> float:
        """The engine's by those of the better order."""
        return self.engine / min(self.of_2015, self.of_2025)


def in_tree(random: Random) -> Case:
    """A tree whose edges lead to its root; some nodes are first ones, and so are all leaves. Every
    node has short proofs and long ones, and the tree above it is large."""
    inner = range(2 ** (DEPTH - 1) - 1)
    leaves = range(len(inner), 2 * len(inner) + 1)
    edges = [(node, (node - 1) // 2) for node in range(1, leaves.stop)]
    starts = {0, *leaves, *random.sample(inner, len(inner) // 8)}
    return Case(REACHED, edges, sorted(starts), starts_gone=[0])


def sparse(random: Random) -> Case:
    return _closure(random, _digraph(random, 60, 90), CLOSURE)


def digraph(random: Random) -> Case:
    return _closure(random, _digraph(random, 60, 240), CLOSURE)


def digraph_by_pairs(random: Random) -> Case:
    return _closure(random, _digraph(random, 40, 160), NONLINEAR)


def dag(random: Random) -> Case:
    """Each of its nodes is reached along several paths."""
    edges = {tuple(sorted(random.sample(range(60), 2))) for _ in range(240)}
    return _closure(random, sorted((x, y) for x, y in edges), CLOSURE)


def deep_dag(random: Random) -> Case:
    """Edges lead to near nodes, so proofs are long."""
    edges = {(x, x + 1 + random.randrange(4)) for x in range(100) for _ in range(3)}
    return _closure(random, sorted(edges), CLOSURE)


def grid(random: Random) -> Case:
    nodes = [(i, j) for i in range(GRID) for j in range(GRID)]
    edges = [(GRID * i + j, GRID * i + j + 1) for i, j in nodes if j < GRID - 1]
    edges += [(GRID * i + j, GRID * (i + 1) + j) for i, j in nodes if i < GRID - 1]
    return _closure(random, edges, CLOSURE)


def cycle(random: Random) -> Case:
    """A cycle with chords: most facts depend on themselves, too."""
    edges = {(x, (x + 1) % 50) for x in range(50)}
    edges |= set(_digraph(random, 50, 10))
    return _closure(random, sorted(edges), CLOSURE)


def tree(random: Random) -> Case:
    """No fact has another proof, and each rests on pairs of many others."""
    return _closure(random, [(random.randrange(x), x) for x in range(1, 60)], NONLINEAR)


def deep_dag_by_pairs(random: Random) -> Case:
    edges = {(x, x + 1 + random.randrange(3)) for x in range(30) for _ in range(3)}
    return _closure(random, sorted(edges), NONLINEAR)


def components(random: Random) -> Case:
    """Cliques of few edges, some of which fall apart."""
    edges = {(8 * k + random.randrange(x), 8 * k + x) for k in range(4) for x in range(1, 8)}
    edges |= {(8 * k + x, 8 * k + y) for k in range(4) for x, y in _digraph(random, 8, 4)}
    return _closure(random, sorted(edges), SYMMETRIC)


def two_relations(random: Random) -> Case:
    return _closure(random, _digraph(random, 30, 60), BY_PARITY)


GRAPHS: dict[str, Callable[[Random], Case]] = {
    "in-tree": in_tree,
    "digraph": digraph,
    "dag": dag,
    "sparse digraph": sparse,
    "deep dag": deep_dag,
    "grid": grid,
    "cycle": cycle,
    "digraph, nonlinear": digraph_by_pairs,
    "tree, nonlinear": tree,
    "deep dag, nonlinear": deep_dag_by_pairs,
    "cliques": components,
    "digraph, two relations": two_relations,
}


def _digraph(random: Random, nodes: int, edges: int) -> Edges:
    return sorted({(random.randrange(nodes), random.randrange(nodes)) for _ in range(edges)})


def _closure(random: Random, edges: Edges, rules: str) -> Case:
    return Case(rules, edges, edges_gone=random.sample(edges, random.choice((1, 1, 3))))


def by_engine(case: Case, algorithm: str = "bf") -> tuple[int, set[Fact]]:
    """How many facts it checks, and what is derived in the end."""
    facts = {"edge": case.edges, "start": [(node,) for node in case.starts]}
    db = Database(DECLARED + case.rules, facts=facts, modules=False)
    with db.transaction(algorithm=algorithm) as tx:
        tx.delete("edge", case.edges_gone)
        tx.delete("start", [(node,) for node in case.starts_gone])
    assert tx.report is not None
    left = {Fact(name, tuple(row)) for name in rules_of(case).implicit for row in db[name]}
    return tx.report.numbers["|C|"], left


def as_printed(case: Case) -> tuple[int, set[Fact]]:
    """The same in the order of 2015."""
    rules, (E, gone) = rules_of(case), explicit(case)
    run = BackwardForward(rules, E)
    run.delete(gone)
    checked = sum(not rules.is_explicit(fact) for fact in run.C)
    return checked, {fact for fact in run.I if not rules.is_explicit(fact)}


def as_printed_with_marking(case: Case) -> tuple[int, set[Fact]]:
    """The same in the order of 2025, with nothing marked."""
    rules, (E, gone) = rules_of(case), explicit(case)
    run = bf_marking.BackwardForward(rules, looks=False)
    checked = 0
    for block in run.steps([Update((), tuple(E)), Update(tuple(gone))]):
        if block == "e":  # the deletion's comes last
            checked = sum(not rules.is_explicit(fact) for fact in run.C)
    return checked, {fact for fact in run.I if not rules.is_explicit(fact)}


def rules_of(case: Case) -> Rules:
    return Rules.read(DECLARED + case.rules)


def explicit(case: Case) -> tuple[list[Fact], list[Fact]]:
    """The explicit facts, and those that are deleted."""

    def facts(edges: Sequence[Edge], starts: Sequence[int]) -> list[Fact]:
        return [*(Fact("edge", e) for e in edges), *(Fact("start", (x,)) for x in starts)]

    return facts(case.edges, case.starts), facts(case.edges_gone, case.starts_gone)


def compared(
    names: Sequence[str] = tuple(GRAPHS), seeds: Sequence[int] = SEEDS
) -> Iterator[Checked]:
    orders = (by_engine, as_printed, as_printed_with_marking)
    for name in names:
        sums = [0, 0, 0]
        for seed in seeds:
            case = GRAPHS[name](Random(seed))
            counts, states = zip(*(checks(case) for checks in orders), strict=True)
            if any(state != states[0] for state in states):
                raise AssertionError(f"{name}, seed {seed}: they differ in what is left")
            sums = [one + more for one, more in zip(sums, counts, strict=True)]
        yield Checked(name, *sums)


def main() -> int:
    rows = [[each.graph, *(f"{n:,}" for n in each[1:]), f"{each.ratio:.2f}"] for each in compared()]
    print(table(["graph", "engine", "order of 2015", "order of 2025", "ratio"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
