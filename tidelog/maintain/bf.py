"""Backward/Forward (Motik, Nenov, Piro and Horrocks 2015): check, then delete exactly.

Algorithms 1 to 3, by sets of facts instead of facts. Departures:
  - Lower strata are exact when a stratum is checked, so only facts of the stratum itself
    are. A fact that is explicit, or that a nonrecursive rule derives, is proved without
    chaining; backward chaining and saturation follow recursive rules.
  - Proofs are sought in the new state, with added rules and inserted lower facts: a fact that
    has a proof by these is never deleted.
  - Algorithm 2 goes depth first and stops when its fact is proved. Here backward chaining is
    breadth first, for some facts at a time, and stops when all of these are proved; facts that
    it met and that are neither proved nor disproved by then count as not checked.
  - Saturation waits until a fact is checked that is not proved yet.
  - All disproved facts are propagated, whether met as consequences or by backward chaining:
    they must be deleted in any case. The paper's D is C - K.
  - Insertion is step DR5 of DRed.

# C checked   B being checked   K known to hold: proved (P) in C, delayed (Y) outside of C
# V proved and not yet saturated with   S disproved now: C - K in all   O processed of them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.engine import FactSet, Split, View
from tidelog.maintain.dred import insert
from tidelog.maintain.steps import gaining, kept, losing
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Context, Update
from tidelog.program.rules import Rule, Stratum

FIRST = 64  # facts that are checked together, then twice as many: chosen, not measured

Proved = Callable[[FactSet], FactSet]  # those of some facts that nonrecursive rules derive


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    u.work.algorithm = "bf"
    u.memory.keep(stratum)

    def proved(F: FactSet) -> FactSet:
        return u.engine.provable(stratum.nonrecursive, F, within=u.I)

    N = losing(u, stratum, removed, added)
    if stratum.recursive:
        check = Check(u, stratum, proved)
        N = delete(u, stratum, N, kept(stratum.recursive, added), check)
        known = check.K if u.marks is not None else None
        del check
        insert(u, stratum, added, u.engine.none(), N, known)
    else:
        step(u, stratum, added, N, proved)


def step(u: Update, stratum: Stratum, added: Sequence[Rule], N: FactSet, proved: Proved) -> None:
    """Without recursion there is no chaining: check N, and insert what is new."""
    P = u.engine.none()
    if N:
        u.deletes(len(N))
        u.work.numbers["|C|"] += len(N)
        u.note("del prop")
        N -= u.E
        P = proved(N)
        N -= P
        u.I -= N
        u.note("saturate")
    A = gaining(u, stratum, added)
    u.applied("insertions", len(A))
    u.I |= A
    if u.marks is not None and (A or P):
        u.marks.pass_on(u, stratum, A | P)
    u.note("DR5")
    u.net(N, A)


def delete(
    u: Update, stratum: Stratum, N: FactSet, rules: tuple[Rule, ...], check: Check
) -> FactSet:
    """Delete those of N that have no proof, and what follows from them alone (Algorithm 1).

    `rules` are the recursive ones that held before.
    """
    u.note("del prop")
    C, K = check.C, check.K
    while N:
        u.round()
        N = propagate(u, stratum, check.decide(N), rules, C - K, C)
        u.applied("deletions", len(N))
        u.note("del prop")
    u.work.numbers["|C|"] += len(C)
    u.applied("forward", len(K))
    C -= K
    u.I -= C
    return C


def propagate(
    u: Update, stratum: Stratum, N: FactSet, rules: tuple[Rule, ...], S: View, C: FactSet
) -> FactSet:
    """Facts outside C that lose an instance with N; the rest of S has been propagated."""
    narrowed, negative = unaffected(u, stratum, rules)
    within = Split(u.memory.known(stratum).inside, u.I - (S - N), u.I - u.A)  # S - N is O
    return u.engine.derive(narrowed, touching=N, within=within, negative=negative, guard=u.I - C)


class Check:
    """Which facts of the stratum have a proof."""

    def __init__(self, u: Context, stratum: Stratum, proved: Proved) -> None:
        self.u = u
        self.rules = stratum.recursive
        self.among = stratum.relations
        self.inside = u.memory.known(stratum).inside
        self.proved = proved
        self.C, self.K, self.V = u.engine.none(), u.engine.none(), u.engine.none()

    def decide(self, N: FactSet) -> FactSet:
        """Check all of N, which is used up. Returns the facts disproved now: all of N outside K,
        and those met on the way."""
        S, size = self.u.engine.none(), FIRST
        while N:
            self._chain_back(self.u.engine.some(N, size), N, S)
            N -= self.C
            size *= 2
        return S

    def _chain_back(self, F: FactSet, N: FactSet, S: FactSet) -> None:
        """Chain back from F until nothing is left, or all facts of N that were met are proved
        (Algorithm 2)."""
        u, engine, I, C, K = self.u, self.u.engine, self.u.I, self.C, self.K
        B = engine.none()
        while F:
            u.round()
            B |= F
            self.V |= self.proved(F)
            self.V |= F & (u.E | K)
            if self.V:
                K |= self.V
                u.note("saturate")
                if self._is_settled(N, B):
                    return
                self._saturate(C | B)
                if self._is_settled(N, B):
                    return
            F -= K
            within = Split(self.inside, I - (C - K), I)
            F = engine.support(self.rules, F, within=within, negative=I, among=self.among)
            F -= C | B
            u.note("backward")
        C |= B
        S |= B - K

    def _is_settled(self, N: FactSet, B: FactSet) -> bool:
        """Are all facts of N that were met proved? Then the others of B count as not checked."""
        if self.u.engine.some((N & B) - self.K, 1):
            return False
        self.C |= B & self.K
        return True

    def _saturate(self, checked: View) -> None:
        """Add to K what follows from V and other proved facts (Algorithm 3)."""
        u, I, K = self.u, self.u.I, self.K
        within = Split(self.inside, K & checked, I)
        while self.V:
            u.round()
            self.V = u.engine.derive(
                self.rules, touching=self.V, within=within, negative=I, guard=I - K
            )
            K |= self.V
            self.V -= ~checked  # these are delayed
        u.note("saturate")
