"""How a stratum follows overlapping updates: by DRed, by B/F, by counting, or as a whole.

The sets are those of `overlap`. Lower strata are up to date whenever a stratum is worked on, so the
facts of S, R and N that its rules could read are its own.

In all algorithms, taking a fact out of S cancels a deletion that has not been followed, and taking
it out of N an insertion that no rule has used: no other stratum knows of either.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.engine import Engine, FactSet, Saved, View
from tidelog.maintain.aged import ROUNDS, UNLIKELY
from tidelog.maintain.bf import Check
from tidelog.maintain.derivation_counters import recount
from tidelog.maintain.driver.algorithms import BY_STRATUM
from tidelog.maintain.driver.auto import begins_to_count, count
from tidelog.maintain.driver.overlap import (
    MOST,
    STEP,
    LowerChange,
    OverlappingUpdates,
    Stepwise,
    Waiting,
)
from tidelog.maintain.memory import Memory
from tidelog.maintain.round_rules import START, TICK, Rounds
from tidelog.maintain.trace import build, note, one_round
from tidelog.maintain.update import Algorithm, Context, StratumChange
from tidelog.program.rules import Stratum

# Parts in which a stratum with modules follows a change, at most: chosen, not measured.
PARTS = 512  # of lower facts
OWN_PARTS = 64  # of explicit facts of its own, which cost more to put back


def stepwise(algorithm: str, stratum: Stratum, memory: Memory) -> Stepwise:
    """The algorithm of this name, in steps, for a stratum."""
    if stratum.thinned:
        return Whole(stratum, BY_STRATUM["recompute"])
    if algorithm == "dred":
        return Dred(stratum)
    if algorithm == "bf":
        return BackwardForward(stratum)
    if algorithm == "counting":
        return CountingByRounds(stratum) if stratum.recursive else Counting(stratum)
    if algorithm == "auto":
        return Modular(stratum) if memory.had_modules(stratum) else Auto(stratum, memory)
    return Whole(stratum, BY_STRATUM[algorithm])


class _WithSuspects:
    """What DRed and B/F share: suspects, candidates, and facts that rules have yet to use."""

    name = ""
    deletes = ""  # the report's name for instances of deletion

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum
        self.relations = stratum.relations

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        return _in_steps(updates, self.stratum, D, A)

    def explicit(self, updates: OverlappingUpdates, inserted: FactSet, deleted: FactSet) -> None:
        updates.u.work.algorithm = self.name
        saved = updates.engine.collect(updates.S & inserted)
        if saved:
            updates.u.work.numbers["cancelled"] += len(saved)
            updates.S -= saved
        del saved
        inserted -= updates.I
        self.use(updates, inserted)
        self.suspect(updates, deleted)

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        u, engine, I, N = updates.u, updates.engine, updates.I, updates.N
        u.work.algorithm = self.name
        known = u.memory.known(self.stratum)
        d, a = lower.d, lower.a
        if d or known.complete:
            lost = engine.derive(
                known.rules,
                touching=d,
                touching_negated=a,
                within=lower.before(I) - N,
                guard=I - updates.E,
            )
            self.suspect(updates, lost)
            del lost
            u.note(self.deletes)
        if a or known.complete:
            found = engine.derive(
                known.rules, touching=a, touching_negated=d, within=lower.after(I) - N, guard=~I
            )
            # A suspect may be among the body facts: whether the head holds is checked later.
            updates.R |= found
            u.note("DR5")

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
        rules = updates.u.memory.known(self.stratum).rules
        found = updates.engine.provable(rules, F, within=updates.I - updates.N)
        found |= F & updates.E
        found -= updates.I
        self.use(updates, found)
        updates.u.note("DR4")

    def insert(self, updates: OverlappingUpdates, F: FactSet) -> None:
        """Apply rules to facts that none has used before, together with those in use."""
        I, N = updates.I, updates.N
        found = updates.engine.derive(self.stratum.recursive, touching=F, within=I - N, guard=~I)
        self.use(updates, found)
        updates.u.note("DR5")


class Dred(_WithSuspects):
    """Overdelete suspects, with all that follows from them; rederive; insert.

    Overdeletion ends before anything is rederived or inserted (Illich and Glimm, 3.1.2): as long as
    there are suspects, facts are only deleted from I, so it ends; and what is rederived then cannot
    rest on a fact that has yet to be deleted.
    """

    name, deletes = "dred", "DR2"

    def step(self, updates: OverlappingUpdates) -> bool:
        updates.u.memory.keep_ages(self.stratum)
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
            self.stratum.recursive, touching=F, within=I - updates.N, guard=guard
        )
        updates.delete(F)
        updates.R |= F
        self.suspect(updates, lost)
        u.note(self.deletes)


class Aged(Dred):
    """DRed that acquits a suspect with an instance from older facts left (see `aged`).

    All instances that were applied are followed when a body fact is deleted, so the fact will be
    suspect again then. A fact inserted into I is younger than those that it follows from, and a
    suspect that is cancelled was never deleted.
    """

    name = "aged"

    def overdelete(self, updates: OverlappingUpdates, F: FactSet) -> None:
        u, memory = updates.u, updates.u.memory
        if memory.has("ages", self.stratum) and self._pays(updates):
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


class BackwardForward(_WithSuspects):
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
        updates.u.memory.keep(self.stratum)
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
        with updates.parked("N"):
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
        except Waiting:
            self._patience *= 2
            del check, F
            updates.S |= updates.engine.hold(asked)
            raise
        finally:
            updates.patient_until = math.inf
        self._patience = STEP
        u.work.numbers["|C|"] += len(check.C)
        return deleted


class Counting:
    """A stratum without recursion: a fact holds while it is explicit or its counter is above zero.

    The counter has the instances that were applied: those over lower facts followed.
    """

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        return _in_steps(updates, self.stratum, D, A)

    def explicit(self, updates: OverlappingUpdates, inserted: FactSet, deleted: FactSet) -> None:
        updates.u.work.algorithm = "counting"
        updates.S -= inserted
        inserted -= updates.I
        updates.insert(inserted)
        updates.S |= deleted

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        u, engine, I, C = updates.u, updates.engine, updates.I, updates.engine.nonrecursive
        u.work.algorithm = "counting"
        rules = self.stratum.nonrecursive
        self.counted(u, lower.before(I))
        d, a = lower.d, lower.a
        changed = engine.derive(
            rules, touching=d, touching_negated=a, within=lower.before(I), take_from=C
        )
        changed |= engine.derive(
            rules, touching=a, touching_negated=d, within=lower.after(I), add_to=C
        )
        u.note("counts")
        held = engine.positive(C, changed)
        changed -= held
        if lower.A or u.memory.known(self.stratum).complete:
            updates.S |= changed & I  # they may still get other derivations
        else:
            changed -= updates.E
            changed -= ~I
            updates.S -= changed
            updates.delete(changed)
        held -= I
        updates.insert(held)

    def step(self, updates: OverlappingUpdates) -> bool:
        S = updates.take(updates.S, self.stratum.relations)
        if not S:
            return False
        self.counted(updates.u, updates.I)
        S -= updates.E
        S -= updates.engine.positive(updates.engine.nonrecursive, S)
        updates.delete(S)
        return True

    def counted(self, u: Context, followed: View) -> None:
        """Count instances over the lower facts followed, unless that is known."""
        recount(u, self.stratum, "nonrecursive", self.stratum.nonrecursive, followed)
        u.memory.keep(self.stratum, "nonrecursive")


def _held(engine: Engine, saved: Saved | None) -> FactSet:
    return engine.none() if saved is None else engine.hold(saved)


class _WithExplicit:
    """A stratum that keeps X, its facts that have become explicit or ceased to be, until it is
    worked on."""

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum
        self.X: Saved | None = None

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        return len(D) + len(A)

    def explicit(self, updates: OverlappingUpdates, inserted: FactSet, deleted: FactSet) -> None:
        engine = updates.engine
        X = _held(engine, self.X)
        inserted |= deleted
        back = engine.collect(X & inserted)
        X |= inserted
        X -= back
        self.X = engine.save(X) if X else None

    def taken(self, updates: OverlappingUpdates) -> FactSet:
        saved, self.X = self.X, None
        return _held(updates.engine, saved)


class CountingByRounds(_WithExplicit):
    """A recursive stratum: the trace of rounds, brought up to date one round a step.

    The trace's counters have the instances that were applied. An update that joins may change a
    round that is done: then rounds start again from the first, and only pairs whose count has
    changed since are handled.

    # T, P, F, L as in `trace`
    """

    def __init__(self, stratum: Stratum) -> None:
        super().__init__(stratum)
        self.T: Saved | None = None
        self.F: Saved | None = None
        self.L: Saved | None = None
        self.present: Saved | None = None

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        engine, I, C = updates.engine, updates.I, updates.engine.nonrecursive
        rounds = self.built(updates, lower)
        d, a = lower.d, lower.a
        with updates.parked():
            u = updates.u
            T = _held(engine, self.T)
            T |= engine.derive(
                rounds.rules, touching=d, touching_negated=a, within=lower.before(I), take_from=C
            )
            T |= engine.derive(
                rounds.rules, touching=a, touching_negated=d, within=lower.after(I), add_to=C
            )
            note(u, T)
            self.T, self.present = engine.save(T), None
            u.note("counts")

    def built(self, updates: OverlappingUpdates, lower: LowerChange | None) -> Rounds:
        """The rules by rounds, with the trace of the lower facts followed so far."""
        u, engine = updates.u, updates.engine
        u.work.algorithm = "counting"
        rounds = u.memory.once(Rounds.of, self.stratum, engine.kinds)
        if not u.memory.has("trace", self.stratum):
            with updates.parked():
                X, none = _held(engine, self.X), engine.none()
                change = StratumChange(none, none, X) if lower is None else lower.change(X)
                build(u, rounds, rounds.rules, self.stratum, change)
                del X, none, change
        u.memory.keep(self.stratum, "trace")
        return rounds

    def step(self, updates: OverlappingUpdates) -> bool:
        if self.T is None and self.X is None:
            return False
        rounds = self.built(updates, None)
        engine = updates.engine
        with updates.parked():
            u = updates.u
            X = self.taken(updates)
            if X:
                self.present = None
            P = engine.derive(rounds.at_start, touching=X, within=X)
            del X
            T, F, L = (_held(engine, saved) for saved in (self.T, self.F, self.L))
            if self.present is None:
                present = engine.apply(START, within=engine.none())
            else:
                present = engine.hold(self.present)
            u.watch.round()
            one_round(u, rounds, rounds.rules, present, T, P, F, L, u.E, u.I)
            present = engine.apply(TICK, within=present)
            u.note("counts")
            del P
            more = bool(T)
            self.T, self.present = (engine.save(T), engine.save(present)) if more else (None, None)
            del T, present
            self.F, self.L = engine.save(F), engine.save(L)
            del F, L
        if not more:
            self.settle(updates, rounds)
        return True

    def settle(self, updates: OverlappingUpdates, rounds: Rounds) -> None:
        """Insert facts that have a first round, and delete those that have none."""
        engine, I = updates.engine, updates.I
        pairs = engine.hold(self.F)
        pairs |= engine.hold(self.L)
        self.F = self.L = None
        changed = engine.derive(rounds.facts, touching=pairs, within=pairs)
        del pairs
        found = engine.provable(rounds.facts, changed, within=I)
        changed -= found
        changed -= ~I
        updates.delete(changed)
        found -= I
        updates.insert(found)


class Whole(_WithExplicit):
    """A stratum that any algorithm brings up to date in one step: updates overlap between strata,
    and not within this one."""

    def __init__(self, stratum: Stratum, algorithm: Algorithm) -> None:
        super().__init__(stratum)
        self._maintain = algorithm

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        self.run(updates, lower.change(self.taken(updates)))

    def step(self, updates: OverlappingUpdates) -> bool:
        if self.X is None:
            return False
        none = updates.engine.none
        self.run(updates, StratumChange(none(), none(), self.taken(updates)))
        return True

    def run(self, updates: OverlappingUpdates, change: StratumChange) -> None:
        """Follow the change, whose sets are used up."""
        engine, relations = updates.engine, self.stratum.relations
        with updates.parked():
            u = updates.update(change)
            self._maintain(u, self.stratum, (), ())
            deleted = engine.save(engine.collect(u.D, relations))
            inserted = engine.save(engine.collect(u.A, relations))
            del u
        updates.note_deleted(engine.hold(deleted))
        updates.note_inserted(engine.hold(inserted))


def _in_steps(updates: OverlappingUpdates, stratum: Stratum, D: FactSet, A: FactSet) -> int:
    """How many facts to follow in a step. A group is evaluated as a whole, however few of its facts
    have changed: where there are groups, half of the facts that are left, so that none is
    evaluated often."""
    grouped = updates.u.memory.known(stratum).grouped
    return max(updates.size, (len(D) + len(A)) // 2) if grouped else updates.size


def _is_quick(updates: OverlappingUpdates, stratum: Stratum, deletes: bool, facts: int) -> bool:
    """Does such a change usually take little more than a step?"""
    usual = updates.u.memory.costs(stratum).usual(deletes, facts)
    return usual is not None and usual < 2 * STEP


class Modular(Whole):
    """A stratum with closure modules: in one step where that is usually quick, else a part of the
    change at a time.

    While it follows a part, the rest of the change is undone, so that the lower facts are as if it
    had not happened yet. That costs a little for every fact of the rest, so there are at most
    `PARTS`.
    """

    def __init__(self, stratum: Stratum) -> None:
        super().__init__(stratum, BY_STRATUM["auto"])

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        facts = len(D) + len(A)
        return facts if _is_quick(updates, self.stratum, bool(D), facts) else facts // PARTS

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        engine = updates.engine
        if lower.d is not lower.D:
            lower.D -= lower.d
            lower.A -= lower.a
            change = StratumChange(lower.a, lower.d, engine.none())
            with engine.as_before(lower.D, lower.A), self.held_back(updates):
                self.run(updates, change)
        else:
            with self.held_back(updates):
                self.run(updates, lower.change(engine.none()))

    def step(self, updates: OverlappingUpdates) -> bool:
        engine = updates.engine
        if self.X is None:
            return False
        X = self.taken(updates)
        facts = len(X)
        if not _is_quick(updates, self.stratum, bool(engine.some(X - updates.E, 1)), facts):
            some = updates.take(X, self.stratum.relations, max(updates.size, facts // OWN_PARTS))
            self.X = engine.save(X) if X else None
            X = some
        with self.held_back(updates):
            self.run(updates, StratumChange(engine.none(), engine.none(), X))
        return True

    @contextmanager
    def held_back(self, updates: OverlappingUpdates) -> Iterator[None]:
        """In the block, facts that the stratum has kept in X are explicit, or not, as before."""
        if self.X is None:
            yield
            return
        engine, E = updates.engine, updates.E
        X = engine.hold(self.X)
        inserted, deleted = engine.save(engine.collect(X & E)), engine.save(engine.collect(X - E))
        del X
        E -= engine.hold(inserted)
        E |= engine.hold(deleted)
        try:
            yield
        finally:
            E |= engine.hold(inserted)
            E -= engine.hold(deleted)


class Auto:
    """As a whole where that is usually quick, else in steps: by ages, or without recursion by
    counters, if they are kept or pay from now on (see `auto`), else by checks."""

    def __init__(self, stratum: Stratum, memory: Memory) -> None:
        self.stratum = stratum
        self._whole = Whole(stratum, BY_STRATUM["auto"])
        self._steps: Stepwise
        if stratum.recursive:
            self._steps = Aged(stratum)
        elif memory.has("nonrecursive", stratum):
            self._steps = Counting(stratum)
        else:
            self._steps = BackwardForward(stratum)
        self._followed = (0, 0)  # facts deleted and inserted
        self._seconds = 0.0  # of steps for them

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        if self.at_once(updates, D, A):
            return len(D) + len(A)
        return _in_steps(updates, self.stratum, D, A)

    def at_once(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> bool:
        if any(self.has_some(updates, F) for F in (updates.S, updates.R, updates.N)):
            return False  # steps are under way
        return _is_quick(updates, self.stratum, bool(D), len(D) + len(A))

    def has_some(self, updates: OverlappingUpdates, F: FactSet) -> bool:
        return any(name in self.stratum.relations for name in updates.engine.relations(F))

    def explicit(self, updates: OverlappingUpdates, inserted: FactSet, deleted: FactSet) -> None:
        self._steps.explicit(updates, inserted, deleted)

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        if lower.d is lower.D and self.at_once(updates, lower.D, lower.A):
            self._whole.follow(updates, lower)
            return
        self.choose(updates, lower.D, lower.A)
        self._followed = self._followed[0] + len(lower.d), self._followed[1] + len(lower.a)
        with self.timed(updates):
            self._steps.follow(updates, lower)

    def step(self, updates: OverlappingUpdates) -> bool:
        self.choose(updates, updates.engine.none(), updates.engine.none())
        with self.timed(updates):
            more = self._steps.step(updates)
        if not more and any(self._followed):
            deleted, inserted = self._followed
            costs = updates.u.memory.costs(self.stratum)
            costs.followed(deleted > 0, deleted + inserted, self._seconds)
            self._followed, self._seconds = (0, 0), 0.0
        return more

    def choose(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> None:
        """Continue by counters instead of checks, if they are kept, or pay from now on. D and A are
        not followed yet. There must be no candidates, which counters would not rederive."""
        if isinstance(self._steps, BackwardForward) and not self.has_some(updates, updates.R):
            known = updates.u.memory.has("nonrecursive", stratum := self.stratum)
            if known or self.begins_to_count(updates, D, A):
                self._steps = Counting(stratum)
                self._followed, self._seconds = (0, 0), 0.0

    def begins_to_count(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> bool:
        deleted, inserted = self._followed[0] + len(D), self._followed[1] + len(A)
        if not deleted:
            return False
        u = updates.update(StratumChange(A, D, updates.engine.none()))
        costs = u.memory.costs(self.stratum)
        if not begins_to_count(u, self.stratum, costs, deleted + inserted):
            return False
        count(u, self.stratum, costs, (), ())
        return True

    @contextmanager
    def timed(self, updates: OverlappingUpdates) -> Iterator[None]:
        """The block's time counts for following what has changed."""
        began = updates.u.clock()
        yield
        seconds = updates.u.clock() - began
        self._seconds += seconds
        if self._followed[0] and isinstance(self._steps, BackwardForward):
            updates.u.memory.costs(self.stratum).searched(seconds)
