"""Programs and data of the evaluation in the DYRE paper, section 5, as far as they can be made.

Incremental Evaluation of Dynamic Datalog Programs as a Higher-order DBSP Program (2024). LUBM's
data are generated in its proportions; the graphs are of the paper's sizes. RAND1K has one in a
hundred of all pairs, as many as a chance of 1 % gives on average; RMAT1K is drawn with the shares
that are GTgraph's defaults, which is the generator of the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from bench import data
from bench.data import Facts
from bench.updates.changes import Change, one_by_one
from bench.workloads import declared, recorded, text

DOMAIN_RULE = "triple(x, 0, c) :- triple(p, 3, c), triple(x, p, y)."
STUDENT_RULE = "a1_Student(X) :- a1_Person(X), a1_takesCourse(X, X1), a1_Course(X1)."
FEW = 40  # enough facts of a relation to load the kernels


@dataclass(frozen=True)
class Case:
    """A program with facts, of which a part may be materialised."""

    name: str
    title: str
    program: str
    facts: Facts  # facts of which there may be a part
    fixed: Facts = field(default_factory=dict)  # facts that are always there
    rule: str | None = None  # the rule that is removed and added again

    @property
    def given(self) -> int:
        return sum(len(rows) for rows in (*self.facts.values(), *self.fixed.values()))

    def parted(self, percent: int) -> tuple[Facts, Facts]:
        """A part of the facts, with the fixed ones, and the rest. Larger parts contain smaller
        ones."""
        total = sum(map(len, self.facts.values()))
        first = np.random.default_rng(0).permutation(total) < round(percent * total / 100)
        part, rest = dict(self.fixed), dict[str, data.Rows]()
        start = 0
        for name, rows in self.facts.items():
            mine = first[start : start + len(rows)]
            start += len(rows)
            part[name] = np.concatenate([self.fixed.get(name, rows[:0]), rows[mine]])
            rest[name] = rows[~mine]
        return nonempty(part), nonempty(rest)

    def small(self) -> Case:
        return replace(self, facts={name: rows[:FEW] for name, rows in self.facts.items()})


def nonempty(facts: Facts) -> Facts:
    return {name: rows for name, rows in facts.items() if len(rows)}


def rdfs(departments: int, seed: int) -> Case:
    """The six rules on triples; the ontology is always complete."""
    rows = data.lubm_like(departments, seed).rows()
    schema = np.isin(rows[:, 1], [data.RDFS_WORDS.index(word) for word in data.RDFS_WORDS[1:]])
    return Case(
        "rdfs",
        f"RDFS, LUBM-like, {departments} departments",
        text("rdfs_triples"),
        {"triple": rows[~schema]},
        {"triple": rows[schema]},
        DOMAIN_RULE,
    )


def owl(departments: int, seed: int) -> Case:
    """LUBM's 107 rules, which are a translation of its ontology."""
    program = recorded("lubm")
    facts = declared(program, data.lubm_relations(data.lubm_like(departments, seed)))
    title = f"OWL 2 RL, LUBM-like, {departments} departments"
    return Case("owl", title, program, facts, rule=STUDENT_RULE)


def dense(nodes: int, density: float, seed: int) -> Case:
    edges = data.random_digraph(nodes, density, seed)
    title = f"closure, RAND1K: {nodes:,} nodes, {len(edges):,} edges"
    return Case("dense", title, text("closure_right"), {"edge": edges})


def sparse(nodes: int, edges: int, seed: int) -> Case:
    title = f"closure, RMAT1K: {nodes:,} nodes, {edges:,} edges"
    facts = {"edge": data.rmat(nodes, edges, seed, data.GTGRAPH)}
    return Case("sparse", title, text("closure_right"), facts)


def cases(quick: bool = False) -> dict[str, Callable[[], Case]]:
    """All cases by name, in full size or small with the same shape; each is built on demand."""
    if quick:
        return {
            "rdfs": partial(rdfs, 1, seed=5),
            "owl": partial(owl, 1, seed=5),
            "dense": partial(dense, 60, 0.05, seed=1),
            "sparse": partial(sparse, 60, 180, seed=2),
        }
    return {
        "rdfs": partial(rdfs, 15, seed=5),
        "owl": partial(owl, 15, seed=5),
        "dense": partial(dense, 1000, 0.01, seed=1),
        "sparse": partial(sparse, 1000, 10_000, seed=2),
    }


@dataclass(frozen=True)
class Step:
    """A measured change. After it, the facts are those after the step number `like`."""

    name: str
    change: Change
    like: int | None = None


MATERIALISE, ADD, REMOVE = "materialise", "add the rest", "remove it"
DELETE, RESTORE = "delete one fact", "add it back"
DELETE_WORD, RESTORE_WORD = "delete one fact of the ontology", "add that one back"
DROP, RETURN = "remove the rule", "add the rule back"


def materialising(case: Case, percent: int = 100) -> list[Step]:
    return [Step(MATERIALISE, Change(come=case.parted(percent)[0]))]


def updating(case: Case, percent: int) -> list[Step]:
    """A part is materialised; the rest is added and removed."""
    rest = Change(come=case.parted(percent)[1])
    return [*materialising(case, percent), Step(ADD, rest), Step(REMOVE, rest.back(), like=0)]


def single(case: Case, count: int, words: int) -> list[Step]:
    """Facts of the data, each equally likely, are removed and added again; then some of the
    ontology."""
    steps = materialising(case)
    drawn = [
        *((DELETE, RESTORE, change) for change in one_by_one(case.facts, count, seed=1)),
        *((DELETE_WORD, RESTORE_WORD, change) for change in one_by_one(case.fixed, words, seed=2)),
    ]
    for there, back, change in drawn:
        steps += [Step(there, change), Step(back, change.back(), like=0)]
    return steps


def ruling(case: Case, times: int) -> list[Step]:
    """A rule is removed and added again."""
    assert case.rule is not None
    gone = Change(rules_gone=(case.rule,))
    pair = [Step(DROP, gone), Step(RETURN, gone.back(), like=0)]
    return [*materialising(case), *times * pair]
