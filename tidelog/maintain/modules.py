"""Modules: parts of a recursive stratum that have algorithms of their own.

The framework of Hu, Motik and Horrocks (2019), section 4: the recursive rules of a stratum are
split into modules, and each implements four functions over the materialisation I:

- `add`: close I under the module's rules, where the facts N are new (Definition 3).
- `diff`: what the module's rules lose, or gain, by a change of lower facts (Definition 5).
- `delete`: facts to overdelete because N are (Definition 6). At least those that DRed^c would
  overdelete, at most those that DRed would.
- `red`: those overdeleted facts that follow from what is left (Definition 7).

A module may keep state between calls. Departures: where no other recursive rule derives the
relation of a closure, its external facts are certain, `exact` computes the change at once, and
nothing is overdeleted. Where others do, a symmetric-transitive closure overdeletes less than
DRed^c, which takes every fact of a component without a nonrecursive derivation: what certain facts
connect is certain, too, and stays. A fact that other rules derive, and that certain facts connect,
is then no longer in X: if these are deleted, it is overdeleted and rederived like any other.

# X external facts of a closure: explicit ones, and those that other rules derive
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from tidelog.engine import Engine, FactSet, Ids, Saved, Split, View
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.steps import gained, lost
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Update
from tidelog.plan.closures import Closure
from tidelog.program.rules import Rule, Stratum

if TYPE_CHECKING:
    from tidelog.closure import Components, Reachability


class Module(Protocol):
    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        """Heads of instances that a lower change takes from the old state, or adds to the new."""

    def add(self, engine: Engine, I: FactSet, N: FactSet, watch: Watch) -> FactSet:
        """What follows by the module's rules from the facts N of I and is not in I. It has used
        the other facts of I before."""

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        """Facts of I that the module's rules derive from the overdeleted facts N of Ds. Not those
        that are explicit, have nonrecursive derivations, or are in Ds. It has used the other facts
        of Ds before."""

    def red(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        """Those of Ds, which are deleted from I, that the module derives from what is left."""


class Seminaive:
    """Any rules, by seminaive evaluation.

    Departures: `red` finds what follows in one step, and the rest is left to `add`.
    """

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules

    def add(self, engine: Engine, I: FactSet, N: FactSet, watch: Watch) -> FactSet:
        def each() -> bool:
            watch.round()
            return True

        J = engine.none()
        new = engine.derive(self.rules, touching=N, within=I, guard=~I)
        engine.spread(self.rules, new, (I, J), within=I, guard=~I, each=each, alone=watch)
        return J

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        return (lost if loses else gained)(u, stratum, self.rules, ())

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        engine, I = u.engine, u.I
        rules, negative = unaffected(u, stratum, self.rules)
        inside = u.memory.known(stratum).inside
        J, new = engine.none(), engine.collect(N)
        guard = I - Ds - u.E
        while new:
            u.round()
            # Ds - new has been used: an instance that has a fact of it was considered then.
            within = Split(inside, I - (Ds - new), I - u.A)
            new = engine.derive(rules, touching=new, within=within, negative=negative, guard=guard)
            new -= engine.positive(engine.nonrecursive, new)
            Ds |= new
            J |= new
        return J

    def red(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        rules, negative = unaffected(u, stratum, self.rules)
        return u.engine.provable(rules, Ds, within=u.I - u.A, negative=negative)


def _new(closure: Closure, tick: Callable[[int], None]) -> Reachability | Components:
    # Loading the kernels takes a while: programs without closures do without.
    from tidelog.closure import Components, Reachability

    kind = Components if closure.kind == "symmetric-transitive" else Reachability
    return kind(tick)


def edges(engine: Engine, closure: Closure, facts: View) -> Ids:
    """The facts as members of X: those of the base of a linear closure, of the relation itself, or
    of it and its inverse."""
    pairs = engine.ids(facts, closure.source)
    if closure.inverse is not None:
        return np.concatenate([pairs, engine.ids(facts, closure.inverse)[:, ::-1]])
    return pairs[:, ::-1] if closure.swapped else pairs


class Closed:
    """A relation with a transitive or symmetric-transitive module.

    Sections 5 and 6 of the paper keep X or the components, and enumerate pairs of facts. Here
    `tidelog.closure` has the whole closure of X, and computes its change from that of X.
    A closure with an inverse is all the recursion of its stratum, so it needs no `delete` or `red`.
    """

    def __init__(self, closure: Closure, watch: Watch) -> None:
        self.relation = closure.relation
        self.closure = closure
        self.watch = watch
        self.known = _new(closure, lambda count: self.watch.pairs(count))
        # Lower facts inserted, by number: what is external by them is in the closure, not in X.
        self.pending: list[tuple[int, Saved]] = []
        self.connects = False  # its edges are not X, but connect the same

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

    def add(self, engine: Engine, I: FactSet, N: FactSet, watch: Watch) -> FactSet:
        watch.round()
        J = self.insert(engine, N)
        J -= I
        self.worked(engine, facts=len(J))
        return J

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        u.round()
        engine = u.engine
        mine = engine.ids(N, self.relation)
        connected = self.closure.kind == "symmetric-transitive"
        if connected:
            pairs = self.known.delete(self._uncertain(u, mine))
        else:
            pairs = cast("Reachability", self.known).affected(mine)
        J = engine.pick(self.relation, pairs)
        J -= ~u.I
        J -= Ds
        J -= u.E
        J -= engine.positive(engine.nonrecursive, J)
        if not connected:
            self.known.delete(np.concatenate([mine, engine.ids(J, self.relation)]))
        return J

    def _uncertain(self, u: Update, going: Ids) -> Ids:
        """Deleted edges, and all edges of their components that recursive rules derive: these may
        rest on what they connect."""
        engine = u.engine
        F = engine.pick(self.relation, cast("Components", self.known).around(going))
        F -= u.E
        F -= engine.positive(engine.nonrecursive, F)
        return engine.ids(F, self.relation)

    def red(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        pairs = u.engine.ids(Ds, self.relation)
        return u.engine.pick(self.relation, pairs[self.known.contains(pairs)])


class Closures:
    """All closures of a stratum as one module: they have no relation in common, so one set holds
    what they have derived themselves."""

    def __init__(self, each: Sequence[Closed]) -> None:
        self.each = each

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        return u.engine.none()

    def insert(self, engine: Engine, facts: View) -> FactSet:
        J = engine.none()
        for closed in self.each:
            J |= closed.insert(engine, facts)
        return J

    def follow(self, engine: Engine, inserted: FactSet, deleted: View) -> None:
        """Bring X up to date, where nobody asks what that changes."""
        for closed in self.each:
            closed.remove(engine, deleted)
            closed.insert(engine, inserted)

    def lose(self, engine: Engine, D: FactSet) -> None:
        """Facts that do not follow any more are deleted. What X connected through them and holds
        nevertheless has other derivations, and joins X."""
        for closed in self.each:
            J = closed.remove(engine, D)
            J -= D
            closed.insert(engine, J)

    def among(self, engine: Engine, F: FactSet) -> FactSet:
        """Those of the facts that the closures have."""
        P = engine.none()
        for closed in self.each:
            pairs = engine.ids(F, closed.relation)
            P |= engine.pick(closed.relation, pairs[closed.known.contains(pairs)])
        return P

    def add(self, engine: Engine, I: FactSet, N: FactSet, watch: Watch) -> FactSet:
        J = engine.none()
        for closed in self.each:
            J |= closed.add(engine, I, N, watch)
        return J

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        J = u.engine.none()
        for closed in self.each:
            J |= closed.delete(u, stratum, N, Ds)
        return J

    def red(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        J = u.engine.none()
        for closed in self.each:
            J |= closed.red(u, stratum, Ds)
        return J


def build(
    engine: Engine, closures: Sequence[Closed], rules: Sequence[Rule], explicit: View, state: View
) -> None:
    """Insert into closures the facts that the rules derive in a state, and the explicit ones."""
    for closed in closures:
        if closed.closure.base is not None:
            X = engine.collect(state, (closed.closure.source,))
        else:
            names = closed.closure.relations
            mine = [rule for rule in rules if rule.head.relation in names]
            X = engine.apply(mine, within=state)
            X |= engine.collect(explicit, names)
        closed.known.insert(closed.edges(engine, X))
