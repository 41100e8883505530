"""Overlapping updates for an algorithm that takes all strata at once.

It has no steps between which updates could join. They join while they wait, and those that are
there when work begins are one update: what they change and change back cancels before that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.engine import Engine, FactSet, Saved
from tidelog.maintain.driver.update_loop import at_once
from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Update, WholeAlgorithm
from tidelog.program.rules import Stratum


class OverlappingWholeUpdates:
    """As `overlap.OverlappingUpdates`."""

    def __init__(
        self,
        engine: Engine,
        E: FactSet,
        I: FactSet,
        watch: Watch,
        memory: Memory,
        strata: Sequence[Stratum],
        algorithm: WholeAlgorithm,
        report: Report,
    ) -> None:
        self.engine, self.E, self.I = engine, E, I
        self.X, self.t = engine.none(), engine.none()  # changed: explicit facts, all facts
        self.waiting: Callable[[], bool] = lambda: False
        self._watch, self._memory, self._strata = watch, memory, strata
        self._algorithm, self._report = algorithm, report

    @property
    def settled(self) -> bool:
        """Is I the materialisation of E?"""
        return not self.X

    def join(self, inserted: FactSet, deleted: FactSet) -> None:
        """These facts have become explicit, or ceased to be; E is up to date."""
        for facts in (inserted, deleted):
            _turn(self.engine, self.X, facts)

    def step(self) -> bool:
        engine = self.engine
        D, A = engine.none(), engine.none()
        u = Update(engine, self.E, self.I, self._watch, self._memory, self.X, D, A)
        u.report = self._report
        at_once(u, self._strata, (), (), self._algorithm)
        self.X = engine.none()
        for facts in (D, A):
            _turn(engine, self.t, facts)
        return True

    def changes(self) -> tuple[Saved, Saved]:
        """The facts deleted and inserted since everything had settled."""
        collect, save = self.engine.collect, self.engine.save
        return save(collect(self.t - self.I)), save(collect(self.t & self.I))

    def restart(self, report: Report) -> None:
        """Everything has settled: start a new delta and report."""
        self.t, self._report = self.engine.none(), report


def _turn(engine: Engine, changed: FactSet, facts: FactSet) -> None:
    """Facts have changed once more: those that had changed already are as before."""
    back = engine.collect(changed & facts)
    changed |= facts
    changed -= back
