"""What the plug-in functions of a module promise (Hu et al. 2019, Definitions 3, 5, 6 and 7).

Every module is held against the definitions, computed by brute force, on random inputs; the
seminaive module with the rules of the closures stands for all rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from tests.maintain.histories import checked
from tests.maintain.reference import Fact, Facts, PyEngine, PySet, extent, instances
from tests.maintain.worlds import NOTHING, Set, Unwatched
from tidelog.maintain.closure_modules import Closed
from tidelog.maintain.memory import Memory
from tidelog.maintain.module import Module, claims
from tidelog.maintain.update import Update
from tidelog.modules import STANDARD
from tidelog.program.rules import CheckedProgram, Rule, Stratum

PROGRAMS = {
    "transitive": "r(x, z) :- r(x, y), r(y, z).",
    "symmetric-transitive": "r(x, z) :- r(x, y), r(y, z). r(x, y) :- r(y, x).",
    "with lower facts": "r(x, z) :- r(x, y), e(y, z), !b(z).",
}
DECLARED = """
.decl r(x: number, y: number)
.decl e(x: number, y: number)
.decl b(x: number)
r(x, y) :- e(x, y), b(x).
"""
CLOSURES = ("transitive", "symmetric-transitive")
WAYS = [(name, "closed") for name in CLOSURES] + [(name, "seminaive") for name in PROGRAMS]
SEEDS = range(60)

ways = pytest.mark.parametrize(("program", "way"), WAYS)
seeds = pytest.mark.parametrize("seed", SEEDS)


def heads(rules: Sequence[Rule], P: Set, N: Set, touching: Set | None = None) -> Set:
    """Π[P, N], or Π[P, N : touching]."""
    Ip, In = Facts.of(PySet(P)), Facts.of(PySet(N))
    found = (i for rule in rules for i in instances(rule, Ip, In))
    return frozenset(i.head for i in found if touching is None or touching & set(i.body))


def closed_under(rules: Sequence[Rule], facts: Set) -> Set:
    while True:
        more = facts | heads(rules, facts, facts)
        if more == facts:
            return facts
        facts = more


class Case:
    """A state in which all R-facts follow from external ones, and a module that knows these."""

    def __init__(self, program: str, way: str, seed: int) -> None:
        core: CheckedProgram = checked(DECLARED + PROGRAMS[program])
        self.random = Random(f"{program} {seed}")
        self.engine = PyEngine()
        for relation in core.relations.values():
            self.engine.declare(relation)
        self.stratum: Stratum = next(s for s in core.strata if "r" in s.relations)
        self.rules = self.stratum.recursive
        nodes = self.random.choice((3, 5, 7))
        self.pairs = [("r", (a, b)) for a in range(nodes) for b in range(nodes)]
        lower = [("e", (a, b)) for a in range(nodes) for b in range(nodes)]
        lower += [("b", (a,)) for a in range(nodes)]
        self.lower: Set = frozenset(self.some(lower, len(lower) // 3))
        self.X: Set = frozenset(self.some(self.pairs, self.random.choice((2, 5, 9))))
        self.I = closed_under(self.rules, self.X | self.lower)
        self.engine.all.facts |= self.I
        self.module: Module
        if way == "closed":
            (claim,), _ = claims(self.rules, STANDARD)
            self.module = claim.kind(claim.rules)
            self.module.watch = Unwatched()
            self.module.add(self.update(), self.set(self.X))
        else:
            self.module = Module(self.rules)

    def some(self, facts: Sequence[Fact], most: int) -> list[Fact]:
        return self.random.sample(facts, min(len(facts), self.random.randint(0, most)))

    def set(self, facts: Set) -> PySet:
        return self.engine.collect(PySet(facts))

    def update(self) -> Update:
        engine = self.engine
        none = engine.none
        base = (engine, engine.explicit, engine.all, Unwatched(), Memory())
        return Update(*base, none(), none(), none())


@ways
@seeds
def test_add_closes(program: str, way: str, seed: int) -> None:
    """Definition 3: the smallest J with Π[I ∪ J : Δ ∪ J] ⊆ I ∪ J."""
    case = Case(program, way, seed)
    new = frozenset(case.some(case.pairs, 4))
    I = case.engine.all
    I |= PySet(new)
    before = frozenset(I.facts)
    J: Set = NOTHING
    while True:
        more = heads(case.rules, before | J, before | J, new | J) - before
        if more <= J:
            break
        J |= more
    found = case.module.add(case.update(), case.set(new))
    assert frozenset(extent(found)) == J
    assert before <= frozenset(I.facts) <= before | J


@ways
@seeds
def test_delete_stays_within_its_bounds(program: str, way: str, seed: int) -> None:
    """Definition 6: at least what DRed^c overdeletes, at most what DRed does. A closure that is
    symmetric, too, keeps what certain facts connect, and facts of components that lose nothing."""
    case = Case(program, way, seed)
    rules, I = case.rules, case.I
    going = frozenset(case.some(sorted(case.X), 3))
    counted = frozenset(case.some(sorted(case.X - going), 4))
    for fact in counted:
        case.engine.nonrecursive.numbers[fact] = 1

    def overdeleted(kept: Set) -> Set:
        J: Set = NOTHING
        while True:
            more = heads(rules, I, I, going | J) - going - kept
            if more <= J:
                return J
            J |= more

    u = case.update()
    found = case.module.delete(u, case.stratum, case.set(going), case.set(going))
    assert extent(found) <= overdeleted(NOTHING)
    if isinstance(case.module, Closed) and program == "symmetric-transitive":
        touched = {node for _, pair in overdeleted(NOTHING) | going for node in pair}
        certain = counted | {fact for fact in case.X if touched.isdisjoint(fact[1])}
        mine = frozenset(fact for fact in I if fact[0] == "r")
        assert extent(found) == mine - going - closed_under(rules, certain)
    else:
        assert overdeleted(counted) <= extent(found)


@ways
@seeds
def test_red_and_add_find_what_is_left(program: str, way: str, seed: int) -> None:
    """Definition 7: the smallest J with Π[(I \\ Δ) ∪ J] ∩ Δ ⊆ J. The seminaive module finds the
    first step, and `add` the others."""
    case = Case(program, way, seed)
    going = frozenset(case.some(sorted(case.X), 3))
    u, engine = case.update(), case.engine
    gone = case.set(going)
    gone |= case.module.delete(u, case.stratum, case.set(going), gone)
    Ds = frozenset(extent(gone))
    engine.all.facts -= Ds
    left = case.I - Ds
    J: Set = NOTHING
    while True:
        more = heads(case.rules, left | J, left | J) & Ds
        if more <= J:
            break
        J |= more
    found = case.module.reduce(u, case.stratum, gone)
    if way == "seminaive":
        assert frozenset(extent(found)) == heads(case.rules, left, left) & Ds
        engine.all |= found
        found |= case.module.add(u, engine.collect(found))
    assert frozenset(extent(found)) == J


@seeds
def test_diff_tells_what_lower_facts_take_and_bring(seed: int) -> None:
    """Definition 5, for the old state and for the new one. Closures read no lower facts."""
    case = Case("with lower facts", "seminaive", seed)
    engine, I = case.engine, case.I
    lower = sorted(case.lower)
    D = frozenset(case.some(lower, 4))
    others = [("e", (a, b)) for a in range(5) for b in range(5)] + [("b", (a,)) for a in range(5)]
    A = frozenset(case.some(sorted(set(others) - case.lower), 4))
    new = (I - D) | A
    u = case.update()
    engine.all.facts.clear()
    engine.all.facts |= new
    u.D, u.A = case.set(D), case.set(A)

    def touched(state: Set, positive: Set, negative: Set) -> Set:
        facts = Facts.of(PySet(state))
        return frozenset(
            i.head
            for rule in case.rules
            for i in instances(rule, facts, facts)
            if positive & set(i.body) or ("b", (i.head[1][1],)) in negative
        )

    module = case.module
    mine = {f for f in I if f[0] == "r"}
    assert extent(module.diff(u, case.stratum, loses=True)) == touched(I, D, A) & mine
    assert extent(module.diff(u, case.stratum, loses=False)) == touched(new, A, D) - new
