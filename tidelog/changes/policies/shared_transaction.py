"""A transaction that overlapping updates share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tidelog.changes.policies.policy import Changes
from tidelog.control.limits import Interrupts, LimitWatch
from tidelog.engine import FactSet
from tidelog.formats.frames import to_table
from tidelog.maintain.driver.algorithms import WHOLE
from tidelog.maintain.driver.overlap import STEP, OverlappingUpdates
from tidelog.maintain.driver.overlap_strata import stepwise
from tidelog.maintain.driver.overlap_whole import OverlappingWholeUpdates
from tidelog.maintain.report import Report
from tidelog.program.changes import Op
from tidelog.transaction.core import Core, Options
from tidelog.transaction.delta import Delta
from tidelog.transaction.transaction import Transaction

PIECE = 2048  # deleted facts whose memory is freed at a time
SPELL = STEP / 2  # seconds of work between two checks for updates


class Overlap(Transaction):
    """Updates of facts that take effect step by step, and settle together.

    Explicit facts change as soon as an update joins. When all updates have settled, their effect is
    kept, and more may join; rolling back undoes those that have joined since.
    """

    def __init__(self, core: Core, options: Options, waiting: Callable[[], bool]) -> None:
        super().__init__(core, options)
        engine, state, book = self._engine.overlapping, self._state, self._book
        assert engine is not None, "the policy is refused where updates do not overlap"
        self._overlapping = engine
        E, I = self._engine.explicit, self._engine.all
        self._interrupts = Interrupts(whole=True, quiet=True)
        self._watch = LimitWatch(
            options.limits, self._engine.facts, options.progress, self._interrupts
        )
        self.spell = SPELL
        self.working = 0.0  # seconds
        shared = (engine, E, I, self._watch, state.memory)
        whole = WHOLE.get(options.algorithm)
        self.flow: OverlappingUpdates | OverlappingWholeUpdates
        if whole is not None:
            self.flow = OverlappingWholeUpdates(*shared, book.strata, whole, self.report)
        else:
            choose = partial(stepwise, options.algorithm)
            self.flow = OverlappingUpdates(*shared, book, choose, self.report)
        self.flow.waiting = waiting

    def _origin(self) -> None:
        """Overlapping updates settle together: none of them is the origin of their delta."""

    @property
    def settled(self) -> bool:
        return self.flow.settled

    def join(self, changes: Changes) -> None:
        """Make facts explicit, or no longer explicit."""
        with self._working():
            engine = self._engine
            arriving: dict[Op, FactSet] = {"+": engine.none(), "-": engine.none()}
            for name, rows in changes.items():
                for op, facts in arriving.items():
                    mine = [row for row, sign in rows.items() if sign == op]
                    if mine:
                        table = to_table(self._book.relations[name], mine)
                        engine.change_explicit(op, name, table, facts)
            self.flow.join(arriving["+"], arriving["-"])

    def step(self) -> None:
        """Work for a while: several steps, if they are short."""
        with self._working():
            end = time.perf_counter() + self.spell
            while self.flow.step() and not self.flow.settled and time.perf_counter() < end:
                pass
            if self.flow.settled:
                self._watch.tick(None)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """A period of work: the watch's checks raise Ctrl-C, and time is measured."""
        watch, began = self._watch, time.perf_counter()
        with Interrupts(whole=True, quiet=True) as watch.interrupts:
            watch.began = began - self.working  # time limits apply to work, not to waiting
            self._engine.watch(watch.tick)
            try:
                yield
            finally:
                self._engine.watch(None)
                self.working += time.perf_counter() - began

    def settle(self) -> tuple[Delta, Report]:
        """Keep what has settled; returns its delta and report."""
        with Interrupts(whole=True, quiet=True):
            delta = self._delta_of([self.flow.changes()])
            report, self.report = self.report, Report()
            # Changes that were taken back before anything ran leave no work.
            report.works = [work for work in report.works if work.algorithm]
            self._overlapping.keep()
            self._state.memory.settle(undone=False)
            self.flow.restart(self.report)
            self.working = 0.0
        return delta, report

    def tidy(self) -> bool:
        """Free the memory of some deleted facts; False if none are left."""
        with Interrupts(whole=True, quiet=True):
            return self._overlapping.tidy(PIECE)

    def end(self) -> None:
        """Commit when all updates have settled and none will join."""
        with Interrupts(whole=True, quiet=True):
            del self.flow
            self._adopt()

    def rollback(self) -> None:
        if self._closed:
            return  # the finalizer was here first
        if hasattr(self, "flow"):
            del self.flow
        super().rollback()

    @property
    def facts(self) -> int:
        return len(self._engine.all)

    @property
    def litter(self) -> int:
        """About how many deleted facts still take up memory."""
        return self._overlapping.litter
