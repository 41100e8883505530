"""Strata that follow overlapping updates in one step, by any algorithm, or in a few parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.engine import Engine, FactSet, Saved
from tidelog.maintain.driver.algorithms import BY_STRATUM
from tidelog.maintain.driver.overlap import STEP, LowerChange, OverlappingUpdates
from tidelog.maintain.update import Algorithm, StratumChange
from tidelog.program.rules import Stratum

# Parts in which a stratum with modules follows a change, at most: chosen, not measured.
PARTS = 512  # of lower facts
OWN_PARTS = 64  # of explicit facts of its own, which cost more to put back


def held(engine: Engine, saved: Saved | None) -> FactSet:
    return engine.none() if saved is None else engine.hold(saved)


class WithExplicit:
    """A stratum that keeps X, its facts that have become explicit or ceased to be, until it is
    worked on."""

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum
        self.X: Saved | None = None

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        return len(D) + len(A)

    def explicit(self, updates: OverlappingUpdates, inserted: FactSet, deleted: FactSet) -> None:
        engine = updates.engine
        X = held(engine, self.X)
        inserted |= deleted
        back = engine.collect(X & inserted)
        X |= inserted
        X -= back
        self.X = engine.save(X) if X else None

    def taken(self, updates: OverlappingUpdates) -> FactSet:
        saved, self.X = self.X, None
        return held(updates.engine, saved)


class AtOnce(WithExplicit):
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
        u = updates.update(change)
        self._maintain(u, self.stratum, (), ())
        updates.note_deleted(engine.collect(u.D, relations))
        updates.note_inserted(engine.collect(u.A, relations))


def is_quick(updates: OverlappingUpdates, stratum: Stratum, deletes: bool, facts: int) -> bool:
    """Does such a change usually take hardly longer than a step?"""
    usual = updates.u.memory.costs(stratum).usual(deletes, facts)
    return usual is not None and usual < 2 * STEP


class Modular(AtOnce):
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
        return facts if is_quick(updates, self.stratum, bool(D), facts) else facts // PARTS

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
        if not is_quick(updates, self.stratum, bool(engine.some(X - updates.E, 1)), facts):
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
        E -= engine.hold(inserted)
        E |= engine.hold(deleted)
        try:
            yield
        finally:
            E |= engine.hold(inserted)
            E -= engine.hold(deleted)
