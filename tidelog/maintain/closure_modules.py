"""Modules for transitive and symmetric-transitive closures (Hu et al. 2019, sections 5 and 6).

The paper keeps X or the components, and enumerates pairs of facts. Here `tidelog.closure` has the
whole closure of X, and computes its change from that of X.

Departures: where a closure is all the recursion of a stratum, its external facts are certain,
`exact` computes the change at once, and nothing is overdeleted. Where other rules derive its
relation, too, a symmetric-transitive closure overdeletes less than DRed^c, which takes every fact
of a component without a nonrecursive derivation: what certain facts connect is certain, too, and
stays. A fact that other rules derive, and that certain facts connect, is then no longer in X: if
these are deleted, it is overdeleted and rederived like any other. A transitive closure takes all
overdeleted facts out of X; the paper's Algorithm 5 forgets those that it finds itself.

# X external facts of a closure: explicit ones, and those that other rules derive
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from tidelog.engine import Engine, FactSet, Ids, Saved, View
from tidelog.maintain.module import Module, uncertain
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Context, Update
from tidelog.plan.closures import Closure, Kind, squares
from tidelog.program.rules import Rule, Stratum

if TYPE_CHECKING:
    from tidelog.closure import Components, Reachability


def edges(engine: Engine, closure: Closure, facts: View) -> Ids:
    """The facts as members of X: those of the base of a linear closure, of the relation itself, or
    of it and its inverse."""
    pairs = engine.ids(facts, closure.source)
    if closure.inverse is not None:
        return np.concatenate([pairs, engine.ids(facts, closure.inverse)[:, ::-1]])
    return pairs[:, ::-1] if closure.swapped else pairs


class Closed(Module):
    """A closure of one relation. One with a base or an inverse is all the recursion of its stratum:
    it is used for its `insert`, `remove` and `become` alone."""

    at_once = False
    stateful = True
    kind: Kind

    def __init__(self, rules: tuple[Rule, ...], closure: Closure | None = None) -> None:
        super().__init__(rules)
        self.closure = closure or squares(rules)[0]
        self.relation = self.closure.relation
        self.known = self._empty()
        # Lower facts inserted, by number: what is external by them is in the closure, not in X.
        self.pending: list[tuple[int, Saved]] = []
        self.connects = False  # its edges are not X, but connect the same

    @classmethod
    def matches(cls, rules: Sequence[Rule]) -> Iterable[Sequence[Rule]]:
        return [closure.rules for closure in squares(rules) if closure.kind == cls.kind]

    def _empty(self) -> Reachability | Components:
        # Loading the kernels takes a while: programs without closures do without.
        from tidelog.closure import Reachability

        return Reachability(lambda count: self.watch.pairs(count))

    def edges(self, engine: Engine, facts: View) -> Ids:
        return edges(engine, self.closure, facts)

    def facts(self, engine: Engine, pairs: Ids) -> FactSet:
        """The facts that the pairs stand for, in all relations of the closure."""
        if not len(pairs):
            return engine.none()
        J = engine.pick(self.relation, pairs)
        if self.closure.inverse is not None:
            J |= engine.pick(self.closure.inverse, pairs[:, ::-1])
        return J

    def both(self, engine: Engine, F: FactSet) -> FactSet:
        """These facts, and the equivalent ones of the inverse."""
        if not F or self.closure.inverse is None:
            return F
        return self.facts(engine, self.edges(engine, F))

    def insert(self, engine: Engine, facts: View) -> FactSet:
        """Insert facts into X; returns what that adds to the closure."""
        return self.grow(engine, self.edges(engine, facts))

    def grow(self, engine: Engine, X: Ids) -> FactSet:
        """The same for edges."""
        began = time.perf_counter()
        J = self.facts(engine, self.known.insert(X)) if len(X) else engine.none()
        self.worked(engine, time.perf_counter() - began)
        return J

    def worked(self, engine: Engine, seconds: float = 0.0, facts: int = 0) -> None:
        """Report the seconds spent, or the number of new facts, for profiles."""
        engine.worked(self.closure.rules[0], seconds, facts)

    def postpone(self, engine: Engine, P: FactSet) -> None:
        """Put off the search for external facts that inserted lower facts derive."""
        if P and not self.connects:
            self.pending.append((len(P), engine.save(P)))

    def become(self, engine: Engine, X: Ids) -> tuple[FactSet, FactSet]:
        """Rebuild the closure from X; returns the facts inserted and deleted by that. A fact that
        is both may be in either."""
        inserted, deleted = cast("Components", self.known).become(X)
        self.connects = False
        return self.facts(engine, inserted), self.facts(engine, deleted)

    def remove(self, engine: Engine, facts: View) -> FactSet:
        """Delete facts from X; returns what the closure loses."""
        X = self.edges(engine, facts)
        return self.facts(engine, self.known.delete(X)) if len(X) else engine.none()

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        """Nothing: its rules read no lower facts."""
        return u.engine.none()

    def add(self, c: Context, N: FactSet) -> FactSet:
        c.watch.round()
        J = self.insert(c.engine, N)
        J -= c.I
        self.worked(c.engine, facts=len(J))
        return J

    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        return self.among(u.engine, Ds)

    def among(self, engine: Engine, F: FactSet) -> FactSet:
        """Those of the facts that the closure has."""
        pairs = engine.ids(F, self.relation)
        return engine.pick(self.relation, pairs[self.known.contains(pairs)])

    def confirm(self, u: Update, F: FactSet) -> None:
        self.insert(u.engine, F)

    def restore(self, u: Update, stratum: Stratum, rules: Sequence[Rule]) -> bool:
        self.build(u.engine, rules, u.change.explicit_before(u.E), u.old)
        return True

    def build(self, engine: Engine, rules: Sequence[Rule], explicit: View, state: View) -> None:
        """Insert into X the facts that rules derive in a state, and the explicit ones."""
        if self.closure.base is not None:
            X = engine.collect(state, (self.closure.source,))
        else:
            names = self.closure.relations
            own = set(self.rules)
            mine = [rule for rule in rules if rule.head.relation in names and rule not in own]
            X = engine.apply(mine, within=state)
            X |= engine.collect(explicit, names)
        self.known.insert(self.edges(engine, X))

    def settle(self, u: Update, stratum: Stratum, D: FactSet) -> None:
        """What X connected through D, and holds nevertheless, has other derivations: it joins X."""
        J = self.remove(u.engine, D)
        J -= D
        self.insert(u.engine, J)

    def _overdeleted(self, u: Update, pairs: Ids, Ds: FactSet) -> FactSet:
        """Those of the pairs whose facts are in I, uncertain, and not overdeleted yet."""
        J = u.engine.pick(self.relation, pairs)
        J -= ~u.I
        J -= Ds
        return uncertain(u, J)


class Transitive(Closed):
    """`r(x, z) :- r(x, y), r(y, z).`"""

    kind = "transitive"

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        u.round()
        mine = u.engine.ids(N, self.relation)
        J = self._overdeleted(u, cast("Reachability", self.known).affected(mine), Ds)
        self.known.delete(np.concatenate([mine, u.engine.ids(J, self.relation)]))
        return J


class SymmetricTransitive(Closed):
    """The same with `r(x, y) :- r(y, x).`"""

    kind = "symmetric-transitive"

    def _empty(self) -> Reachability | Components:
        from tidelog.closure import Components

        return Components(lambda count: self.watch.pairs(count))

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        """Edges of the component that recursive rules derive may rest on what they connect, so they
        leave X together with the deleted ones."""
        u.round()
        mine = u.engine.ids(N, self.relation)
        F = u.engine.pick(self.relation, cast("Components", self.known).around(mine))
        X = u.engine.ids(uncertain(u, F), self.relation)
        return self._overdeleted(u, self.known.delete(X), Ds)


STANDARD: tuple[type[Module], ...] = (Transitive, SymmetricTransitive)


def closed(closure: Closure, watch: Watch) -> Closed:
    """An empty closure, of any kind."""
    symmetric = closure.kind == "symmetric-transitive"
    made = (SymmetricTransitive if symmetric else Transitive)(closure.rules, closure)
    made.watch = watch
    return made
