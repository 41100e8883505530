"""Modules: parts of a recursive stratum that have algorithms of their own.

The framework of Hu, Motik and Horrocks (2019), section 4: the recursive rules of a stratum are
split into modules, and each is asked by four functions. With I the facts there are:

- `add`: close I under the module's rules, where the facts N are new (Definition 3).
- `diff`: what the module's rules lose, or gain, by a change of lower facts (Definition 5).
- `delete`: facts to overdelete because N go (Definition 6). At least those that DRed^c would, at
  most those that DRed would.
- `red`: of the facts that were overdeleted, those that follow from what is left (Definition 7).

A module may keep what it likes between calls. Departures: where no other recursive rule derives
the relation of a closure, its external facts are certain, and `exact` tells what changes at
once; nothing is overdeleted. Where others do, a symmetric-transitive closure overdeletes less than
DRed^c, which takes every fact of a component that has no nonrecursive derivation: what such facts
connect holds for certain, too, and stays. A fact that other rules derive, and that they connect, is
then no longer in X: should they go, it is overdeleted and asked for like any other.

# X external facts of a closure: explicit ones, and those that other rules derive
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from tidelog.maintain.groups import unaffected
from tidelog.maintain.seam import Engine, FactSet, Ids, Saved, Split, View
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.steps import gained, lost
from tidelog.maintain.update import Update
from tidelog.plan.closures import Closure
from tidelog.program.rules import Rule, Stratum

if TYPE_CHECKING:
    from tidelog.closure import Components, Reachability


class Module(Protocol):
    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        """Heads of instances that lower facts take from the old state, or bring to the new one."""

    def add(self, engine: Engine, I: FactSet, N: FactSet, watch: Watch) -> FactSet:
        """What follows from N by the module's rules; it is in I then."""

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        """Facts that the module's rules derive from N, which go; not those that are explicit, have
        nonrecursive derivations, or are in Ds, which went before."""

    def red(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        """Those of Ds, which have left I, that the module derives from what is left."""


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
        engine.spread(self.rules, new, (I, J), within=I, guard=~I, each=each)
        return J

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        return (lost if loses else gained)(u, stratum, self.rules, ())

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        engine, I, C_nr = u.engine, u.I, u.engine.nonrecursive
        rules, negative = unaffected(u, stratum, self.rules)
        within = Split(u.memory.known(stratum).inside, I - Ds, I - u.A)
        J, new = engine.none(), engine.collect(N)
        guard = I - Ds - N - J - u.E
        while new:
            u.round()
            new = engine.derive(rules, touching=new, within=within, negative=negative, guard=guard)
            new -= engine.positive(C_nr, new)
            J |= new
        return J

    def red(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        rules, negative = unaffected(u, stratum, self.rules)
        return u.engine.provable(rules, Ds, within=u.I - u.A, negative=negative)


def _new(closure: Closure, tick: Callable[[int], None]) -> Reachability | Components:
    # Loading the kernels takes a while, which a program without closures need not wait for.
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
    `tidelog.closure` has the whole closure of X, so what X loses or gains says what follows.
    One that has an inverse is all the recursion of its stratum: `delete` and `red` are not asked.
    """

    def __init__(self, closure: Closure, watch: Watch) -> None:
        self.relation = closure.relation
        self.closure = closure
        self.watch = watch
        self.known = _new(closure, lambda count: self.watch.pairs(count))
        # Lower facts that came: what is external because of them is in the closure, but not in X.
        self.owed: list[tuple[int, Saved]] = []
        self.connects = False  # its edges connect what X does, and are not X

    def edges(self, engine: Engine, facts: View) -> Ids:
        return edges(engine, self.closure, facts)

    def facts(self, engine: Engine, pairs: Ids) -> FactSet:
        """What the pairs of the closure are, in all its relations."""
        if not len(pairs):
            return engine.none()
        J = engine.pick(self.relation, pairs)
        if self.closure.inverse is not None:
            J |= engine.pick(self.closure.inverse, pairs[:, ::-1])
        return J

    def both(self, engine: Engine, F: FactSet) -> FactSet:
        """These facts, and those of the inverse that say the same."""
        if not F or self.closure.inverse is None:
            return F
        return self.facts(engine, self.edges(engine, F))

    def insert(self, engine: Engine, facts: View) -> FactSet:
        """The facts join X; returns what that adds to the closure."""
        return self.grow(engine, self.edges(engine, facts))

    def grow(self, engine: Engine, X: Ids) -> FactSet:
        """The same for edges."""
        began = time.perf_counter()
        J = self.facts(engine, self.known.insert(X)) if len(X) else engine.none()
        self.worked(engine, time.perf_counter() - began)
        return J

    def worked(self, engine: Engine, seconds: float = 0.0, facts: int = 0) -> None:
        """For profiles: so long it took, or so many facts are new by it."""
        engine.worked(self.closure.rules[0], seconds, facts)

    def owe(self, engine: Engine, P: FactSet) -> None:
        """Lower facts came, and what is external because of them is not looked for."""
        if P and not self.connects:
            self.owed.append((len(P), engine.save(P)))

    def become(self, engine: Engine, X: Ids) -> tuple[FactSet, FactSet]:
        """From now on X is what the closure is made from; returns what came and went by that, where
        a fact that did both may be in either."""
        came, went = cast("Components", self.known).become(X)
        self.connects = False
        return self.facts(engine, came), self.facts(engine, went)

    def remove(self, engine: Engine, facts: View) -> FactSet:
        """The facts leave X; returns what the closure loses."""
        X = self.edges(engine, facts)
        return self.facts(engine, self.known.delete(X)) if len(X) else engine.none()

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        """None: its rules read no lower facts."""
        return u.engine.none()

    def add(self, engine: Engine, I: FactSet, N: FactSet, watch: Watch) -> FactSet:
        watch.round()
        J = self.insert(engine, N)
        J -= I
        I |= J
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
        J -= N
        J -= u.E
        J -= engine.positive(engine.nonrecursive, J)
        if not connected:
            self.known.delete(np.concatenate([mine, engine.ids(J, self.relation)]))
        return J

    def _uncertain(self, u: Update, going: Ids) -> Ids:
        """Edges that go; and of the components that these are in, all edges that recursive rules
        derive, for what they connect may be what they rest on."""
        engine = u.engine
        F = engine.pick(self.relation, cast("Components", self.known).around(going))
        F -= u.E
        F -= engine.positive(engine.nonrecursive, F)
        return engine.ids(F, self.relation)

    def red(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        pairs = u.engine.ids(Ds, self.relation)
        return u.engine.pick(self.relation, pairs[self.known.contains(pairs)])


class Closures:
    """All closures of a stratum as one module: none has to do with another's relation, so one set
    tells what they have derived themselves."""

    def __init__(self, each: Sequence[Closed]) -> None:
        self.each = each

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        return u.engine.none()

    def insert(self, engine: Engine, facts: View) -> FactSet:
        J = engine.none()
        for closed in self.each:
            J |= closed.insert(engine, facts)
        return J

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
    """Let closures know the facts that the rules derive in a state, and the explicit ones."""
    for closed in closures:
        if closed.closure.base is not None:
            X = engine.collect(state, (closed.closure.source,))
        else:
            names = closed.closure.relations
            mine = [rule for rule in rules if rule.head.relation in names]
            X = engine.apply(mine, within=state)
            X |= engine.collect(explicit, names)
        closed.known.insert(closed.edges(engine, X))
