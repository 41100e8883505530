"""Strata that follow overlapping updates by DRed or by B/F.

Taking a fact out of S cancels a deletion that has not been followed, and taking it out of N an
insertion that no rule has used: no other stratum knows of either.
"""

from __future__ import annotations

import math
import time

from tidelog.engine import Counter, FactSet, View
from tidelog.maintain.aged import ROUNDS, UNLIKELY
from tidelog.maintain.bf import Check
from tidelog.maintain.derivation_counters import recount
from tidelog.maintain.driver.overlap import (
    MOST,
    STEP,
    LowerChange,
    OverlappingUpdates,
    UpdateWaiting,
)
from tidelog.maintain.memory import Kept
from tidelog.maintain.update import Context
from tidelog.program.rules import Rule, Stratum


class WithSuspects:
    """What DRed and B/F share: suspects, candidates, and facts that rules have yet to use."""

    name = ""
    deletes = ""  # the report's name for instances of deletion
    keeps: tuple[Kept, ...] = ()  # counters: of the instances that were applied

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum
        self.relations = stratum.relations

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        return updates.share(self.stratum, D, A)

    def explicit(self, updates: OverlappingUpdates, inserted: FactSet, deleted: FactSet) -> None:
        updates.u.work.algorithm = self.name
        saved = updates.engine.collect(updates.S & inserted)
        if saved:
            updates.u.work.numbers["cancelled"] += len(saved)
            updates.S -= saved
        inserted -= updates.I
        self.use(updates, inserted)
        self.suspect(updates, deleted)

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        u, engine, I, N = updates.u, updates.engine, updates.I, updates.N
        u.work.algorithm = self.name
        known = u.memory.known(self.stratum)
        before, after = lower.before(I) - N, lower.after(I) - N
        self.count(updates, before)
        d, a, lost = lower.d, lower.a, engine.none()
        if d or known.complete:
            for rules, counter in self.parts(updates):
                lost |= engine.derive(
                    rules,
                    touching=d,
                    touching_negated=a,
                    within=before,
                    guard=I - updates.E,
                    take_from=counter,
                )
            u.note(self.deletes)
        if a or known.complete:
            for rules, counter in self.parts(updates):
                # A suspect may be among the body facts: whether the head holds is checked later.
                updates.R |= engine.derive(
                    rules,
                    touching=a,
                    touching_negated=d,
                    within=after,
                    guard=~I,
                    add_to=counter,
                )
            u.note("DR5")
        self.suspect(updates, lost)

    def parts(self, updates: OverlappingUpdates) -> list[tuple[tuple[Rule, ...], Counter | None]]:
        """The rules, with the counters that have their instances."""
        if not self.keeps:
            return [(updates.u.memory.known(self.stratum).rules, None)]
        nonrecursive = (self.stratum.nonrecursive, updates.engine.nonrecursive)
        return [nonrecursive, (self.stratum.recursive, self.recursive(updates))]

    def recursive(self, updates: OverlappingUpdates) -> Counter | None:
        """The counter of recursive instances, if these are counted."""
        return updates.engine.recursive if "recursive" in self.keeps else None

    def count(self, updates: OverlappingUpdates, used: View) -> None:
        """Count the instances over the facts that rules have used, unless that is known."""
        if self.keeps:
            for which, (rules, _) in zip(self.keeps, self.parts(updates), strict=False):
                recount(updates.u, self.stratum, which, rules, used)
            updates.u.note("build")
            updates.u.memory.keep_ages(self.stratum, *self.keeps)

    def suspect(self, updates: OverlappingUpdates, lost: FactSet) -> None:
        """Facts of I have lost a derivation; those that no rule has used are deleted at once."""
        unused = updates.engine.collect(lost & updates.N)
        updates.S |= lost - unused
        if unused:
            updates.u.work.numbers["cancelled"] += len(unused)
            updates.delete(unused)
            updates.N -= unused
            updates.R |= unused

    def use(self, updates: OverlappingUpdates, F: FactSet) -> None:
        """Insert facts, which rules have yet to use."""
        if F:
            updates.R -= F
            updates.insert(F)
            if self.stratum.recursive:
                updates.N |= F

    def rederive(self, updates: OverlappingUpdates, F: FactSet) -> None:
        """Rederive candidates that are explicit or follow from facts that rules have used."""
        found = updates.engine.none()
        for rules, counter in self.parts(updates):
            if counter is None:
                found |= updates.engine.provable(rules, F, within=updates.I - updates.N)
            else:
                found |= updates.engine.positive(counter, F)
        found |= F & updates.E
        found -= updates.I
        self.use(updates, found)
        updates.u.note("DR4")

    def insert(self, updates: OverlappingUpdates, F: FactSet) -> None:
        """Apply rules to facts that none has used before, together with those in use."""
        I, N, rules = updates.I, updates.N, self.stratum.recursive
        found = updates.engine.derive(
            rules, touching=F, within=I - N, guard=~I, add_to=self.recursive(updates)
        )
        self.use(updates, found)
        updates.u.note("DR5")


class Dred(WithSuspects):
    """Overdelete suspects, with all that follows from them; rederive; insert.

    Overdeletion ends before anything is rederived or inserted (Illich and Glimm, 3.1.2): as long as
    there are suspects, facts are only deleted from I, so it ends; and what is rederived then cannot
    rest on a fact that has yet to be deleted.
    """

    name, deletes = "dred", "DR2"

    def step(self, updates: OverlappingUpdates) -> bool:
        self.count(updates, updates.I - updates.N)
        updates.u.memory.keep_ages(self.stratum, *self.keeps)
        if S := updates.take(updates.S, self.relations):
            self.overdelete(updates, S)
        elif R := updates.take(updates.R, self.relations):
            self.rederive(updates, R)
        elif N := updates.take(updates.N, self.relations):
            self.insert(updates, N)
        else:
            return False
        return True

    def overdelete(self, updates: OverlappingUpdates, F: FactSet) -> None:
        u, I = updates.u, updates.I
        u.work.numbers["|D|"] += len(F)
        guard = ((I - updates.S) - F) - updates.E
        lost = updates.engine.derive(
            self.stratum.recursive,
            touching=F,
            within=I - updates.N,
            guard=guard,
            take_from=self.recursive(updates),
        )
        updates.delete(F)
        updates.R |= F
        self.suspect(updates, lost)
        u.note(self.deletes)


class CountingDred(Dred):
    """DRed^c (see `dredc`): a suspect with a nonrecursive instance that was applied stays, and what
    has a recursive one is rederived."""

    name = "dredc"
    keeps = ("nonrecursive", "recursive")

    def overdelete(self, updates: OverlappingUpdates, F: FactSet) -> None:
        F -= updates.engine.positive(updates.engine.nonrecursive, F)
        if F:
            super().overdelete(updates, F)


class Aged(Dred):
    """DRed that acquits a suspect with an instance from older facts left (see `aged`), for `auto`:
    the name is that of what ran.

    All instances that were applied are followed when a body fact is deleted, so the fact will be
    suspect again then. A fact inserted into I is younger than those that it follows from, and a
    suspect that is cancelled was never deleted.
    """

    name = "insert"

    def overdelete(self, updates: OverlappingUpdates, F: FactSet) -> None:
        u, memory = updates.u, updates.u.memory
        ages = memory.has("ages", self.stratum)
        u.work.algorithm = self.name = "aged" if ages else "dred"
        if ages and self._pays(updates):
            known, count = memory.known(self.stratum), len(F)
            within = updates.I - updates.N
            F -= updates.engine.provable(known.rules, F, within=within, older=known.inside)
            memory.costs(self.stratum).supported(count - len(F), count)
            u.note("checks")
        if F:
            super().overdelete(updates, F)

    def _pays(self, updates: OverlappingUpdates) -> bool:
        """Where checks seldom found support, check only now and then."""
        likely = updates.u.memory.costs(self.stratum).support >= UNLIKELY
        return likely or updates.steps % ROUNDS == 0


class BackwardForward(WithSuspects):
    """Check suspects, and delete those that have no proof.

    Facts are inserted first, from suspects too: what is inserted follows from them by instances
    that were applied, so it becomes suspect when they are deleted. Nothing is rederived while
    suspects are left, and no proof rests on a fact that no rule has used. What is deleted has no
    proof from E and the lower facts followed, so it is not inserted again before something else is
    new, and work ends.

    What a check has found serves all suspects, so all are checked at once. After the time of a step
    a check is given up for a waiting update; the next time after twice as long, so that it ends.
    """

    name, deletes = "bf", "del prop"

    def __init__(self, stratum: Stratum) -> None:
        super().__init__(stratum)
        self._patience = STEP  # seconds

    def step(self, updates: OverlappingUpdates) -> bool:
        self.count(updates, updates.I - updates.N)
        updates.u.memory.keep(self.stratum, *self.keeps)
        if N := updates.take(updates.N, self.relations):
            self.insert(updates, N)
        elif S := updates.take(updates.S, self.relations, MOST if self.stratum.recursive else None):
            self.check(updates, S)
        elif R := updates.take(updates.R, self.relations):
            self.rederive(updates, R)
        else:
            return False
        return True

    def check(self, updates: OverlappingUpdates, F: FactSet) -> None:
        """Delete suspects without a proof, and facts without one that the check met."""
        u, I = updates.u, updates.I
        deleted = self.disproved(updates, F) if self.stratum.recursive else self.unproved(u, F)
        if not deleted:
            return
        guard = (I - deleted) - updates.E
        updates.S |= updates.engine.derive(
            self.stratum.recursive, touching=deleted, within=I, guard=guard
        )
        u.note(self.deletes)
        updates.S -= deleted
        updates.delete(deleted)

    def proved(self, u: Context, F: FactSet) -> FactSet:
        return u.engine.provable(self.stratum.nonrecursive, F, within=u.I)

    def unproved(self, u: Context, F: FactSet) -> FactSet:
        u.work.how = "in one step"
        u.work.numbers["|C|"] += len(F)
        F -= u.E
        F -= self.proved(u, F)
        u.note("saturate")
        return F

    def disproved(self, updates: OverlappingUpdates, F: FactSet) -> FactSet:
        u = updates.u
        check = Check(u, self.stratum, lambda facts: self.proved(u, facts))
        asked = updates.engine.save(F)
        updates.patient_until = time.perf_counter() + self._patience
        try:
            deleted = check.decide(F)
        except UpdateWaiting:
            self._patience *= 2
            updates.S |= updates.engine.hold(asked)
            raise
        finally:
            updates.patient_until = math.inf
        self._patience = STEP
        u.work.numbers["|C|"] += len(check.C)
        return deleted


class Checks(BackwardForward):
    """B/F in a stratum without recursion, for `auto`: the name is that of what ran."""

    name = "insert"

    def unproved(self, u: Context, F: FactSet) -> FactSet:
        u.work.algorithm = self.name = "check"
        return super().unproved(u, F)


class CountingBackwardForward(BackwardForward):
    """B/F^c (see `bfc`): nonrecursive instances that were applied are counted, and prove a fact
    without a search."""

    name = "bfc"
    keeps = ("nonrecursive",)

    def proved(self, u: Context, F: FactSet) -> FactSet:
        return u.engine.positive(u.engine.nonrecursive, F)
