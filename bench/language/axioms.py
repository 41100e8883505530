"""Axioms that are removed from RDF graphs and added to them, by `auto`, by recomputing, and beside
a graph that is opened with what is left.

Seconds are CPU time with the kernels loaded, the minimum of some runs in turns; those of a change
include its delta as columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.language.cases import Case, Figures, best_of
from bench.report import Target
from tidelog.rdf import RDF, RDFS, Graph, Triple

INSTANCES, CLASSES = {False: 8_000, True: 400}, {False: 60, True: 20}
MOST_OF_RECOMPUTING = 1.25


@dataclass(frozen=True, slots=True)
class Change:
    """Axioms that change: each has this part of all classes above it, from 0 to 1."""

    name: str
    title: str
    at: tuple[float, ...]
    tree: bool = False
    added: bool = False
    profile: str = "rdfs"
    compiled: bool = False


SOME = tuple(i / 60 for i in range(20, 40))
CHANGES = (
    Change("axiom-last", "removal of the last axiom of a chain", (1.0,)),
    Change("axiom-middle", "removal of an axiom amid a chain", (0.5,)),
    Change("axiom-first", "removal of the first axiom of a chain", (0.0,)),
    Change("axiom-tree", "removal of an axiom of a tree", (0.0,), tree=True),
    Change("axioms-20", "removal of a third of a chain's axioms", SOME),
    Change("axiom-added", "the last axiom of a chain is added", (1.0,), added=True),
    Change("axiom-owl", "removal of the last axiom of a chain, OWL 2 RL", (1.0,), profile="owl2rl"),
    Change("axiom-compiled", "the same for compiled axioms, RDFS", (1.0,), compiled=True),
)


def axioms(classes: int, tree: bool) -> list[Triple]:
    """Classes in a chain or a binary tree, the first one on top."""
    above = [(i - 1) // 2 if tree else i - 1 for i in range(1, classes)]
    return [(a_class(i), RDFS.subClassOf, a_class(j)) for i, j in enumerate(above, 1)]


def a_class(number: int) -> str:
    return f"<http://example.org/C{number}>"


def instances(count: int, classes: int, tree: bool) -> list[Triple]:
    """Of the class at the bottom, or of those in the lower half of the tree."""
    lowest = classes // 2 if tree else classes - 1
    of = [lowest + i % (classes - lowest) for i in range(count)]
    return [(f"<http://example.org/i{i}>", RDF.type, a_class(c)) for i, c in enumerate(of)]


def opened(change: Change, triples: list[Triple], algorithm: str = "auto") -> Graph:
    graph = Graph(change.profile, compiled=change.compiled, algorithm=algorithm)
    graph.parse("".join(f"{' '.join(triple)} .\n" for triple in triples))
    return graph


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(change: Change, quick: bool) -> Figures:
    classes = CLASSES[quick]
    known = axioms(classes, change.tree)
    some = list(dict.fromkeys(known[round(part * (len(known) - 1))] for part in change.at))
    data = instances(INSTANCES[quick], classes, change.tree)
    without = [*(axiom for axiom in known if axiom not in some), *data]
    before, after = ([*known, *data], without)
    if change.added:
        before, after = after, before
    graphs: dict[str, Graph] = {}

    def changed(algorithm: str) -> float:
        graph = graphs[algorithm] = opened(change, before, algorithm)

        def work() -> None:
            with graph.transaction() as tx:
                (tx.add if change.added else tx.remove)(*some)
            tx.delta.inserted(), tx.delta.deleted()

        return cpu(work)

    def anew() -> float:
        return cpu(lambda: graphs.update(anew=opened(change, after)))

    mine, beside, fresh = best_of(3, lambda: changed("auto"), lambda: changed("recompute"), anew)
    expected = graphs["anew"].to_arrow()
    assert all(graph.to_arrow().equals(expected) for graph in graphs.values())
    return Figures(
        change.title,
        len(before),
        len(graphs["anew"]),
        ("auto", "recompute"),
        (mine, beside),
        Target(
            f"{change.title}: at most {MOST_OF_RECOMPUTING} times the time of recomputing",
            mine <= MOST_OF_RECOMPUTING * beside,
            f"{mine / beside:.2f} times; {mine / fresh:.2f} times a graph opened with what is left,"
            f" {fresh:.3f} s",
        ),
    )


CASES = tuple(Case(change.name, partial(measure, change)) for change in CHANGES)
