"""How a stratum follows overlapping updates: by DRed, by B/F, by counting, or as a whole.

The sets are those of `overlap`. Lower strata are up to date whenever a stratum is worked on, so the
facts of S, R and N that its rules could read are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tidelog.engine import FactSet
from tidelog.maintain.driver.algorithms import BY_STRATUM
from tidelog.maintain.driver.auto import begins_to_count, count
from tidelog.maintain.driver.overlap import LowerChange, OverlappingUpdates, Stepwise
from tidelog.maintain.driver.overlap_at_once import AtOnce, Modular, is_quick
from tidelog.maintain.driver.overlap_counting import Counting, CountingByRounds
from tidelog.maintain.driver.overlap_suspects import (
    Aged,
    BackwardForward,
    Checks,
    CountingBackwardForward,
    CountingDred,
    Dred,
)
from tidelog.maintain.memory import Memory
from tidelog.maintain.update import StratumChange
from tidelog.program.rules import Stratum

WITH_SUSPECTS: dict[str, Callable[[Stratum], Stepwise]] = {
    each.name: each for each in (Dred, BackwardForward, CountingDred, CountingBackwardForward)
}


def stepwise(algorithm: str, stratum: Stratum, memory: Memory) -> Stepwise:
    """The algorithm of this name, in steps, for a stratum."""
    if stratum.pruned:
        return AtOnce(stratum, BY_STRATUM["recompute"])
    if algorithm in WITH_SUSPECTS:
        return WITH_SUSPECTS[algorithm](stratum)
    if algorithm == "counting":
        return CountingByRounds(stratum) if stratum.recursive else Counting(stratum)
    if algorithm == "auto":
        return Modular(stratum) if memory.had_modules(stratum) else Auto(stratum, memory)
    return AtOnce(stratum, BY_STRATUM[algorithm])


class Auto:
    """As a whole where that is usually quick, else in steps: by ages, or without recursion by
    counters, if they are kept or pay from now on (see `auto`), else by checks."""

    def __init__(self, stratum: Stratum, memory: Memory) -> None:
        self.stratum = stratum
        self._whole = AtOnce(stratum, BY_STRATUM["auto"])
        self._steps: Stepwise
        if stratum.recursive:
            self._steps = Aged(stratum)
        elif memory.has("nonrecursive", stratum):
            self._steps = Counting(stratum)
        else:
            self._steps = Checks(stratum)
        self._followed = (0, 0)  # facts deleted and inserted
        self._seconds = 0.0  # of steps for them

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        if self.at_once(updates, D, A):
            return len(D) + len(A)
        return updates.share(self.stratum, D, A)

    def at_once(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> bool:
        if any(self.has_some(updates, F) for F in (updates.S, updates.R, updates.N)):
            return False  # steps are under way
        return is_quick(updates, self.stratum, bool(D), len(D) + len(A))

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
