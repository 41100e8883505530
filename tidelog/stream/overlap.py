"""A transaction that updates join while it is being worked on."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tidelog.deltas import Delta
from tidelog.engines.local.sets import LocalSet, Rows
from tidelog.io.frames import to_table
from tidelog.limits import Interrupts, Limits, Show, Watch
from tidelog.maintain.algorithms import WHOLE
from tidelog.maintain.courses import course_of
from tidelog.maintain.flow import STEP, Flow
from tidelog.maintain.report import Report
from tidelog.maintain.wholeflow import WholeFlow
from tidelog.program.changes import Op
from tidelog.stream.policy import Base, Changes
from tidelog.transactions import Ids, Transaction

PIECE = 2048  # facts whose room is given back at a time
SPELL = STEP / 2  # seconds of work before updates are looked for again


class Overlap(Transaction):
    """Updates of facts that take effect step by step, and settle together.

    The facts that an update gives are explicit as soon as it joins. When all has settled, it stays,
    and more may join; rolling back undoes what has joined since.
    """

    def __init__(
        self,
        base: Base,
        algorithm: str,
        limits: Limits,
        progress: Show | None,
        waiting: Callable[[], bool],
    ) -> None:
        super().__init__(
            base._engine,
            base._state,
            algorithm=algorithm,
            strict=False,
            dry_run=False,
            limits=limits,
            progress=progress,
        )
        engine, state, book = self._engine, self._state, self._book
        self._interrupts = Interrupts(whole=True, quiet=True)
        self._watch = Watch(limits, engine.facts, progress, self._interrupts)
        self._explicit.release()  # a set less: what is changed explicitly is noted in order
        self._made: list[tuple[Op, int, Ids]] = []
        self._arriving: dict[Op, LocalSet] = {}
        self.spell = SPELL
        self.working = 0.0  # seconds
        shared = (engine, engine.explicit, engine.all, self._watch, state.memory, book.strata)
        whole = WHOLE.get(algorithm)
        self.flow: Flow | WholeFlow
        if whole is not None:
            self.flow = WholeFlow(*shared, whole, self.report)
        else:
            courses = partial(course_of, algorithm)
            self.flow = Flow(*shared, book.stratum_of, book.readers, courses, self.report)
        self.flow.waiting = waiting

    @property
    def settled(self) -> bool:
        return self.flow.settled

    def join(self, changes: Changes) -> None:
        """These facts are explicit from now on, or no more."""
        with self._working():
            self._arriving = {"+": self._engine.none(), "-": self._engine.none()}
            try:
                for name, rows in changes.items():
                    for op in self._arriving:
                        mine = [row for row, sign in rows.items() if sign == op]
                        if mine:
                            self._set(op, name, to_table(self._book.relations[name], mine))
                self.flow.join(self._arriving["+"], self._arriving["-"])
            finally:
                self._arriving = {}

    def _note_explicit(self, op: Op, r: int, rows: Rows) -> None:
        self._arriving[op].add(r, rows)
        self._made.append((op, r, self._engine.store.rows(r)[rows]))

    def _undo_explicit(self) -> None:
        engine = self._engine
        for op, r, data in reversed(self._made):
            rows = engine.store.load(r, data, 0).astype(np.uint32)
            (engine.explicit.remove if op == "+" else engine.explicit.add)(r, rows)
        self._made.clear()

    def step(self) -> None:
        """Some work: several steps, where they are short."""
        with self._working():
            end = time.perf_counter() + self.spell
            while self.flow.step() and not self.flow.settled and time.perf_counter() < end:
                pass
            if self.flow.settled:
                self._watch.tick(None)

    def _working(self) -> _Working:
        return _Working(self)

    def settle(self) -> tuple[Delta, Report]:
        """All that joined has taken effect, and stays: what it changed, and what that took."""
        with Interrupts(whole=True, quiet=True):
            delta = self._changed(*self.flow.changes())
            report, self.report = self.report, Report()
            self._engine.keep()
            self._state.memory.settle(undone=False)
            self._made.clear()
            self.flow.restart(self.report)
            self.working = 0.0
        return delta, report

    def tidy(self) -> bool:
        """Give some room back that facts took up which are gone; false if there is none."""
        with Interrupts(whole=True, quiet=True):
            return self._engine.tidy(PIECE)

    def end(self) -> None:
        """All has settled, and no more will join."""
        with Interrupts(whole=True, quiet=True):
            del self.flow
            self._before = self._engine.begun
            self._adopt()

    def rollback(self) -> None:
        if self._closed:
            return  # whoever collected it first has done so
        if hasattr(self, "flow"):
            del self.flow
        self._before = self._engine.begun
        super().rollback()

    @property
    def facts(self) -> int:
        return len(self._engine.all)

    @property
    def litter(self) -> int:
        """Facts whose room is still to be given back, about."""
        return self._engine.litter


class _Working:
    """A piece of work: Ctrl-C is noted and raised where the watch looks, and time is taken."""

    def __init__(self, overlap: Overlap) -> None:
        self._overlap = overlap

    def __enter__(self) -> None:
        overlap = self._overlap
        self._interrupts = overlap._watch.interrupts = Interrupts(whole=True, quiet=True)
        self._interrupts.__enter__()
        self._began = time.perf_counter()
        # Limits of time are for work, and not for waiting.
        overlap._watch.began = self._began - overlap.working
        overlap._engine.watch(overlap._watch.tick)

    def __exit__(self, *error: object) -> None:
        overlap = self._overlap
        overlap._engine.watch(None)
        overlap.working += time.perf_counter() - self._began
        self._interrupts.__exit__(*error)  # type: ignore[arg-type]
