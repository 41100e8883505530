"""Facts that Backward/Forward checks: the engine against the printed order, on generated graphs.

    python -m bench.stepwise.checked

Both delete the same edges from the same graphs. The engine's |C| is compared with the size of C in
`BackwardForward`, which follows the order that Illich and Glimm (2025) print; only facts that rules
derive count, because the engine knows without a check which explicit facts are left.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from bench.report import table
from bench.stepwise.bf_marking import BackwardForward
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
.decl reached(x: number)
"""
CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
NONLINEAR = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z)."
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
    printed: int

    @property
    def ratio(self) -> float:
        return self.engine / self.printed


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


GRAPHS: dict[str, Callable[[Random], Case]] = {
    "in-tree": in_tree,
    "digraph": digraph,
    "dag": dag,
    "sparse digraph": sparse,
    "deep dag": deep_dag,
    "grid": grid,
    "cycle": cycle,
    "digraph, nonlinear": digraph_by_pairs,
}


def _digraph(random: Random, nodes: int, edges: int) -> Edges:
    return sorted({(random.randrange(nodes), random.randrange(nodes)) for _ in range(edges)})


def _closure(random: Random, edges: Edges, rules: str) -> Case:
    return Case(rules, edges, edges_gone=random.sample(edges, random.choice((1, 1, 3))))


def by_engine(case: Case, algorithm: str = "bf") -> tuple[int, set[tuple[int, ...]]]:
    """How many facts it checks, and what is derived in the end."""
    facts = {"edge": case.edges, "start": [(node,) for node in case.starts]}
    db = Database(DECLARED + case.rules, facts=facts, modules=False)
    with db.transaction(algorithm=algorithm) as tx:
        tx.delete("edge", case.edges_gone)
        tx.delete("start", [(node,) for node in case.starts_gone])
    assert tx.report is not None
    return tx.report.numbers["|C|"], {tuple(row) for name in _derived(case) for row in db[name]}


def as_printed(case: Case) -> tuple[int, set[tuple[int, ...]]]:
    """The same in the printed order."""
    edges, gone = ([Fact("edge", edge) for edge in some] for some in (case.edges, case.edges_gone))
    starts, no_starts = (
        [Fact("start", (node,)) for node in some] for some in (case.starts, case.starts_gone)
    )
    derived = _derived(case)
    run = BackwardForward(Rules.read(DECLARED + case.rules), looks=False)
    fill, delete = Update((), (*edges, *starts)), Update((*gone, *no_starts))
    checked = 0
    for block in run.steps([fill, delete]):
        if block == "e":  # the deletion's comes last
            checked = sum(fact.relation in derived for fact in run.C)
    return checked, {fact.values for fact in run.I if fact.relation in derived}  # type: ignore[misc]


def _derived(case: Case) -> tuple[str, ...]:
    return ("reached",) if case.rules == REACHED else ("path",)


def compared(
    names: Sequence[str] = tuple(GRAPHS), seeds: Sequence[int] = SEEDS
) -> Iterator[Checked]:
    for name in names:
        engine = printed = 0
        for seed in seeds:
            case = GRAPHS[name](Random(seed))
            mine, state = by_engine(case)
            theirs, their_state = as_printed(case)
            if state != their_state:
                raise AssertionError(f"{name}, seed {seed}: the two differ in what is left")
            engine += mine
            printed += theirs
        yield Checked(name, engine, printed)


def main() -> int:
    rows = [
        [each.graph, f"{each.engine:,}", f"{each.printed:,}", f"{each.ratio:.2f}"]
        for each in compared()
    ]
    print(table(["graph", "engine", "printed order", "ratio"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
