"""Backward/Forward (Motik, Nenov, Piro and Horrocks 2015): check, then delete exactly.

Algorithms 1 to 3. An engine that can checks fact by fact, depth first, as in the paper; others work
on sets of facts. Departures:
  - Lower strata are exact when a stratum is checked, so only facts of the stratum itself
    are. A fact that is explicit, or that a nonrecursive rule derives, is proved without
    chaining; backward chaining and saturation follow recursive rules.
  - Proofs are sought in the new state, with added rules and inserted lower facts: a fact that
    has a proof by these is never deleted.
  - Of the instances that could prove a fact, those are tried first whose facts are proved, then
    explicit, then old; the paper leaves the order open.
  - By sets, backward chaining is breadth first, for some facts at a time, and stops when all of
    these are proved; facts that it met and that are neither proved nor disproved by then count
    as not checked. Saturation waits until a fact is checked that is not proved yet.
  - All disproved facts are propagated, whether met as consequences or by backward chaining:
    they must be deleted in any case. The paper's D is C - K.
  - Insertion is step DR5 of DRed.

# C checked   B being checked   K known to hold: proved (P) in C, delayed (Y) outside of C
# V proved and not yet saturated with   S disproved now: C - K in all   O processed of them
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from tidelog.engine import Checking, Counter, FactSet, Split, View
from tidelog.maintain.dred import insert
from tidelog.maintain.steps import gaining, kept, losing
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Context, Update
from tidelog.program.rules import Rule, Stratum

FIRST = 64  # facts that are checked together, then twice as many: chosen, not measured

Proved = Callable[[FactSet], FactSet]  # those of some facts that nonrecursive rules derive


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    u.work.algorithm = "bf"
    N = losing(u, stratum, removed, added)
    (follow if stratum.recursive else step)(u, stratum, added, N)


def follow(u: Update, stratum: Stratum, added: Sequence[Rule], N: FactSet) -> None:
    """Delete those of N that have no proof, with all that follows from them alone, and insert what
    is new. Nothing has changed if the search for proofs is given up."""
    check = Check(u, stratum, partial(proved, u, stratum), stratum.nonrecursive)
    N = delete(u, stratum, N, kept(stratum.recursive, added), check)
    u.deadline = math.inf  # facts have changed
    u.memory.keep(stratum)
    del check
    insert(u, stratum, added, u.engine.none(), N)


def proved(u: Update, stratum: Stratum, F: FactSet) -> FactSet:
    """Those of F that rules without recursion derive."""
    return u.engine.provable(stratum.nonrecursive, F, within=u.I)


def check(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    """The same for other algorithms, in strata without recursion: they name what ran."""
    maintain(u, stratum, removed, added)
    u.work.algorithm = "check" if u.work.numbers["|C|"] else "insert"


def step(u: Update, stratum: Stratum, added: Sequence[Rule], N: FactSet) -> None:
    """Without recursion there is no chaining: check N, and insert what is new."""
    u.work.how = "in one step"
    u.memory.keep(stratum)
    if N:
        u.deletes(len(N))
        u.work.numbers["|C|"] += len(N)
        u.note("del prop")
        N -= u.E
        N -= proved(u, stratum, N)
        u.I -= N
        u.note("saturate")
    A = gaining(u, stratum, added)
    u.I |= A
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
    if N and check.searches(N, *unaffected(u, stratum, rules), u.I - u.A) is not None:
        N -= N
    while N:
        u.round()
        N = propagate(u, stratum, check.decide(N), rules, C - K, C)
        u.note("del prop")
    u.work.numbers["|C|"] += len(C)
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

    def __init__(
        self,
        u: Context,
        stratum: Stratum,
        proved: Proved,
        direct: Sequence[Rule] | Counter | None = None,
    ) -> None:
        """`proved` is all that proves a fact without chaining; `direct` says the same where rules
        or a counter do."""
        self.u = u
        self.direct = direct
        self.rules = stratum.recursive
        self.among = stratum.relations
        self.inside = u.memory.known(stratum).inside
        self.proved = proved
        self.C, self.K, self.V = u.engine.none(), u.engine.none(), u.engine.none()

    def searches(
        self, N: FactSet, loss: Sequence[Rule], negative: View, lower: View
    ) -> FactSet | None:
        """Check N and what loses an instance by a disproved fact, one by one, where the engine can.
        Returns the facts disproved."""
        u = self.u
        if u.engine.proofs is None or self.direct is None:
            return None
        asked = Checking(u.E, u.I, self.inside, self.rules, self.direct, loss, lower, negative)
        found = u.engine.proofs.check(N, self.C, self.K, asked, u.round)
        if found is None:
            return None
        u.work.how = "fact by fact"
        u.noted({"backward": found.back, "saturate": found.forward, "del prop": found.lost})
        return found.disproved

    def decide(self, N: FactSet) -> FactSet:
        """Check all of N, which is used up. Returns the facts disproved now: all of N outside K,
        and those met on the way."""
        if not self.C and (found := self.searches(N, (), self.u.I, self.u.I)) is not None:
            N -= N
            return found
        self.u.work.how = "by sets"
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
