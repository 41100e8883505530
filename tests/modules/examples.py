"""Modules that tests register: faithful ones, and the algorithms as the paper prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tidelog.engine import Engine, FactSet, View
from tidelog.modules import Context, Module, SymmetricTransitive, Transitive, Update, uncertain
from tidelog.program.rules import Rule, Stratum

Pair = tuple[int, int]


class Each(Module):
    """Every rule by itself, seminaively: what Theorem 4 is about."""

    @classmethod
    def matches(cls, rules: Sequence[Rule]) -> Iterable[Sequence[Rule]]:
        return [[rule] for rule in rules]


class Finished(Each):
    """The same with a `reduce` that finds everything, as if there were a state."""

    stateful = True

    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        engine, I = u.engine, u.I
        J = engine.none()
        while new := super().reduce(u, stratum, engine.collect(Ds - J)):
            J |= new
            I |= new
        I -= J
        return J


class Printed(Module):
    """Algorithms 4 to 6 of Hu, Motik and Horrocks (2019), to the letter."""

    stateful = True
    line_43_tests = False
    line_50_reads_all = False
    internal_facts_leave_X = False

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        super().__init__(rules)
        self.relation = rules[0].head.relation
        self.X: set[Pair] = set()

    @classmethod
    def matches(cls, rules: Sequence[Rule]) -> Iterable[Sequence[Rule]]:
        return Transitive.matches(rules)

    def add(self, c: Context, N: FactSet) -> FactSet:
        I, delta = (pairs_of(c.engine, F, self.relation) for F in (c.I, N))
        J: set[Pair] = set()
        Q = set(delta)
        self.X |= delta
        for u, v in delta:
            for w in {w for x, w in I - delta if x == v}:
                if not (self.line_43_tests and (u, w) in I):
                    Q.add((u, w))
                    J.add((u, w))
        while Q:
            v, w = Q.pop()
            for u in {u for u, x in self.X if x == v and (u, w) not in I | J}:
                Q.add((u, w))
                J.add((u, w))
        return set_of(c.engine, J, self.relation)

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        engine, name = u.engine, self.relation
        I, delta = (pairs_of(engine, F, name) for F in (u.I - (Ds - N), N))
        free = pairs_of(engine, uncertain(u, engine.collect(u.I, (name,))), name)
        J: set[Pair] = set()
        Q, S = set(delta), set(delta)
        self.X -= delta
        for a, v in delta:
            for w in {w for x, w in (I if self.line_50_reads_all else I - S) if x == v}:
                if self.line_50_reads_all and (a, w) not in I - S:
                    continue
                Q.add((a, w))
                S.add((a, w))
                J |= {(a, w)} & free
        while Q:
            v, w = Q.pop()
            for a in {a for a, x in self.X if x == v and (a, w) in I - S}:
                Q.add((a, w))
                S.add((a, w))
                J |= {(a, w)} & free
        if self.internal_facts_leave_X:
            self.X -= J
        return set_of(engine, J - delta, name)

    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        delta, J = pairs_of(u.engine, Ds, self.relation), set[Pair]()
        for start in {a for a, _ in delta}:
            reached, N = set[int](), {start}
            while N:
                N = {w for v, w in self.X if v in N} - reached
                reached |= N
            J |= {(start, w) for w in reached}
        return set_of(u.engine, J & delta, self.relation)

    def confirm(self, u: Update, F: FactSet) -> None:
        self.X |= pairs_of(u.engine, F, self.relation)


class Line43(Printed):
    """The same with the test that line 43 lacks."""

    line_43_tests = True


class Line50(Line43):
    """The same where line 50 also pairs deleted facts with one another."""

    line_50_reads_all = True


class Repaired(Line50):
    """The same where what the algorithm overdeletes leaves X, too."""

    internal_facts_leave_X = True


class PrintedSymmetric(Module):
    """Algorithms 7 to 9, to the letter."""

    stateful = True

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        super().__init__(rules)
        self.relation = rules[0].head.relation
        self.C: list[set[int]] = []
        self.Y: set[Pair] = set()

    @classmethod
    def matches(cls, rules: Sequence[Rule]) -> Iterable[Sequence[Rule]]:
        return SymmetricTransitive.matches(rules)

    def close_edges(self, delta: set[Pair]) -> set[Pair]:
        J: set[Pair] = set()
        for u, v in sorted(delta):
            for node in (u, v):
                if not any(node in U for U in self.C):
                    self.C.append({node})
                    J.add((node, node))
            U, V = (next(W for W in self.C if node in W) for node in (u, v))
            if U is not V:
                self.C = [W for W in self.C if W is not U and W is not V]
                self.C.append(U | V)
                J |= {pair for a in U for b in V for pair in ((a, b), (b, a))}
        return J

    def add(self, c: Context, N: FactSet) -> FactSet:
        J = self.close_edges(pairs_of(c.engine, N, self.relation))
        return set_of(c.engine, J - pairs_of(c.engine, c.I, self.relation), self.relation)

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        engine, name = u.engine, self.relation
        delta = pairs_of(engine, N, name)
        free = pairs_of(engine, uncertain(u, engine.collect(u.I, (name,))), name)
        J: set[Pair] = set()
        for U in [U for U in self.C if any({*edge} <= U for edge in delta)]:
            both = {(a, b) for a in U for b in U}
            J |= both & free
            self.Y |= both - free
            self.C.remove(U)
        return set_of(engine, J - pairs_of(engine, Ds, name), name)

    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        J = self.close_edges(self.Y) & pairs_of(u.engine, Ds, self.relation)
        self.Y = set()
        return set_of(u.engine, J, self.relation)

    def confirm(self, u: Update, F: FactSet) -> None: ...


def pairs_of(engine: Engine, facts: View, relation: str) -> set[Pair]:
    return {(u, v) for u, v in engine.ids(facts, relation).tolist()}


def set_of(engine: Engine, pairs: set[Pair], relation: str) -> FactSet:
    return engine.pick(relation, np.array(sorted(pairs), np.uint32).reshape(-1, 2))
