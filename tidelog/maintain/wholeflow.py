"""Updates that overlap, where an algorithm takes all strata at once.

It has no steps to join between: updates join while they wait, and those that are there when work
begins are one update. What they change and change back cancels before that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report
from tidelog.maintain.seam import Engine, FactSet, Saved
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Update, WholeAlgorithm
from tidelog.program.rules import Stratum


class WholeFlow:
    """The materialisation while updates overlap; as `flow.Flow`."""

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
        self.X, self.t = engine.none(), engine.none()  # explicit facts that changed, and all
        self.waiting: Callable[[], bool] = lambda: False
        self._watch, self._memory, self._strata = watch, memory, strata
        self._algorithm, self._report = algorithm, report

    @property
    def settled(self) -> bool:
        """Is I the materialisation of E?"""
        return not self.X

    def join(self, came: FactSet, went: FactSet) -> None:
        """These facts are explicit now, or no more; E has them so already."""
        for facts in (came, went):
            _turn(self.engine, self.X, facts)

    def step(self) -> bool:
        engine = self.engine
        D, A = engine.none(), engine.none()
        u = Update(engine, self.E, self.I, self.X, D, A, self._watch, self._memory)
        u.report = self._report
        self._algorithm.maintain(u, self._strata, (), ())
        self.X = engine.none()
        for facts in (D, A):
            _turn(engine, self.t, facts)
        return True

    def changes(self) -> tuple[Saved, Saved]:
        """What went and what came since all had settled."""
        collect, save = self.engine.collect, self.engine.save
        return save(collect(self.t - self.I)), save(collect(self.t & self.I))

    def restart(self, report: Report) -> None:
        """All has settled: what follows is told of apart."""
        self.t, self._report = self.engine.none(), report


def _turn(engine: Engine, changed: FactSet, facts: FactSet) -> None:
    """Facts have changed once more: those that had already are as they were."""
    back = engine.collect(changed & facts)
    changed |= facts
    changed -= back
