"""Backward/Forward (Motik, Nenov, Piro and Horrocks 2015): check, then delete exactly.

Algorithms 1 to 3, by sets of facts instead of facts. Departures:
  - Lower strata are exact when a stratum is checked, so only facts of the stratum itself
    are. A fact that is explicit, or that a nonrecursive rule derives, is proved without
    chaining; backward chaining and saturation follow recursive rules.
  - Proofs are sought in the new state, with rules and lower facts that came: a fact that has
    a proof by these is never deleted.
  - Algorithm 2 goes depth first and stops when its fact is proved. Here backward chaining is
    breadth first, in steps of growing size, for some facts at a time, and stops when all of
    these are proved; facts that it met and that are neither proved nor disproved by then
    count as not checked.
  - Insertion is step DR5 of DRed.

# Ds examined consequences (the paper's D)   O processed of Ds     C checked
# P proved: K in C   Y delayed: K outside C   S disproved: C - K   B being checked
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.maintain.dred import insert
from tidelog.maintain.groups import unaffected
from tidelog.maintain.seam import FactSet, Split, View
from tidelog.maintain.steps import kept, lost
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum

FIRST = 64  # facts that are checked together, and chained back from; then twice as many

Proved = Callable[[FactSet], FactSet]  # those of some facts that nonrecursive rules derive


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    u.work.algorithm = "bf"
    u.memory.keep(stratum)
    rules = kept(u.memory.known(stratum).rules, come)

    def losing() -> FactSet:
        N = u.went(stratum)
        N |= lost(u, rules, gone)
        return N

    def proved(F: FactSet) -> FactSet:
        return u.engine.provable(stratum.nonrecursive, F, within=u.I)

    Ds = delete(u, stratum, losing(), kept(stratum.recursive, come), proved)
    insert(u, stratum, come, u.engine.none(), Ds)


def delete(
    u: Update, stratum: Stratum, N: FactSet, rules: tuple[Rule, ...], proved: Proved
) -> FactSet:
    """Delete those of N that have no proof, and what follows from them alone (Algorithm 1).

    `rules` are the recursive ones that held before.
    """
    check = Check(u, stratum, proved)
    Ds = u.engine.none()
    u.note("del prop")
    while N:
        u.watch.round()
        Ds |= N
        check.decide(N)
        N -= check.K
        N = propagate(u, stratum, N, rules, (Ds - N) - check.K, Ds)
        u.note("del prop")
    Ds -= check.K
    u.I -= Ds
    u.work.numbers["|C|"] += len(check.C)
    return Ds


def propagate(
    u: Update, stratum: Stratum, N: FactSet, rules: tuple[Rule, ...], O: View, Ds: FactSet
) -> FactSet:
    """Facts outside Ds that lose an instance with N; what O holds has taken its own."""
    narrowed, negative = unaffected(u, stratum, rules)
    within = Split(frozenset(stratum.relations), u.I - O, u.I - u.A)
    return u.engine.derive(narrowed, touching=N, within=within, negative=negative, guard=u.I - Ds)


class Check:
    """Which facts of the stratum have a proof."""

    def __init__(self, u: Update, stratum: Stratum, proved: Proved) -> None:
        self.u = u
        self.rules = stratum.recursive
        self.among = stratum.relations
        self.inside = frozenset(stratum.relations)
        self.proved = proved
        self.C, self.K = u.engine.none(), u.engine.none()

    def decide(self, N: FactSet) -> None:
        """Check all of N: then those in K are proved, and the others have no proof."""
        size = FIRST
        while self._chain_back(N, size):
            size *= 2

    def _chain_back(self, N: FactSet, size: int) -> bool:
        """Chain back from some of N, if some are not checked, until nothing is left or all
        facts of N that are met are proved (Algorithms 2 and 3).

        Sets that are done with are let go at once: engines hold few at a time.
        """
        u, engine, I, C, K = self.u, self.u.engine, self.u.I, self.C, self.K
        B, W = engine.none(), engine.none()  # W waits to be chained back from
        proofs, candidates = (Split(self.inside, X, I) for X in (K & (C | B), I - (C - K)))
        F = engine.some(N - C, size)
        if not F:
            return False
        while True:
            B |= F
            W |= F
            V = self.proved(F)
            V |= F & (u.E | K)
            del F
            K |= V
            while V:
                V = engine.derive(self.rules, touching=V, within=proofs, negative=I, guard=I - K)
                K |= V
                V -= ~(C | B)  # these are delayed
            del V
            u.note("saturate")
            if not engine.some((N & B) - K, 1):
                C |= B & K
                return True
            F = engine.some(W - K, size)
            if not F:
                C |= B
                return True
            W -= F
            size *= 2
            F = engine.support(self.rules, F, within=candidates, negative=I, among=self.among)
            F -= C | B
            u.note("backward")
