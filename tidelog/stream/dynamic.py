"""Fully dynamic: an update joins those that are being worked on, between two steps.

What it changes explicitly takes effect at once, whatever is under way; updates that wait join
together, and those that undo each other cancel before their consequences are followed; and all that
overlapped settle together. An endless stream must settle now and then, for its deltas to come out
and for what went to be forgotten: after `MOST` updates, or `MANY` changes, no more join until all
have settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from tidelog.deltas import Delta
from tidelog.limits import Limits, Show
from tidelog.maintain.report import Report
from tidelog.stream.backlog import PORTION, Backlog, Taken
from tidelog.stream.overlap import Overlap
from tidelog.stream.policy import Arrived, Base, Finished, Look, finished
from tidelog.stream.sequential import Sequential

MOST = 1000  # updates that settle together
MANY = 1 << 18  # changes of theirs, but for those of the largest, which others may always join
LITTER = 1 << 14  # facts that have gone, whose room is not given back yet; or a quarter of all


class FullyDynamic:
    def __init__(
        self,
        database: Base,
        look: Look,
        algorithm: str | None = None,
        *,
        limits: Limits | None = None,
        progress: Show | None = None,
        **options: Any,
    ) -> None:
        self._database = database
        self._look = look
        self._algorithm = algorithm or database._algorithm
        self._limits = limits or database._limits
        self._progress = progress
        self._overlap: Overlap | None = None
        self._joined: list[Taken] = []
        self._backlog = Backlog()  # those of them that are not in yet
        self._taken = 0  # changes since the last of them joined
        self._changes = self._largest = 0  # of all of them, and of the largest
        self._ready: Arrived | None = None  # an update that a step was given up for
        self._alone = Sequential(
            database, look, algorithm, limits=limits, progress=progress, **options
        )

    @property
    def busy(self) -> bool:
        return self._overlap is not None or self._alone.busy

    def wants(self) -> bool:
        if self._alone.busy:
            return False
        if self._overlap is None:
            return True
        if not self._joined:
            # Where there is too much, it is given back first.
            return self._overlap.litter < max(LITTER, self._overlap.facts // 4)
        few = len(self._joined) < MOST and self._changes - self._largest < MANY
        return few and self._taken < PORTION

    def take(self, update: Arrived) -> None:
        if update.changes_rules:
            while self._overlap is not None:
                self.step()
            self._alone.take(update)
            return
        taken, changes = Taken(update, perf_counter()), update.last_changes()
        if self._overlap is None:
            self._overlap = Overlap(
                self._database, self._algorithm, self._limits, self._progress, self._waits
            )
        self._joined.append(taken)
        self._backlog.add(taken, changes)
        size = len(update.changes)
        self._taken += size
        self._changes, self._largest = self._changes + size, max(self._largest, size)

    def _waits(self) -> bool:
        """Has an update arrived in the midst of a step?"""
        if self._ready is None and self.wants():
            self._ready = self._look()
        return self._ready is not None

    def step(self) -> Sequence[Finished]:
        if self._alone.busy:
            return self._alone.step()
        overlap = self._overlap
        if overlap is None:
            return ()
        if not self._joined:
            if not overlap.tidy():
                self._overlap = None
                overlap.end()
            return ()
        if self._backlog and not self._join(overlap):
            return ()
        if not overlap.settled:
            overlap.step()
        if self._ready is not None:
            ready, self._ready = self._ready, None
            self.take(ready)
        return () if self._backlog or not overlap.settled else self._finish(overlap)

    def _join(self, overlap: Overlap) -> bool:
        """Some of those that wait are in then; false if more may wait, which might undo them."""
        enough = self.wants()
        self._taken = 0
        changes, updates = self._backlog.some()
        overlap.join(changes)
        now = perf_counter()
        for taken in updates:
            taken.effect = now
        return not self._backlog and (enough or not self.wants())

    def _finish(self, overlap: Overlap) -> Sequence[Finished]:
        joined, self._joined = self._joined, []
        self._changes = self._largest = 0
        work = overlap.working / len(joined)
        delta, report = overlap.settle()
        nothing, last = Delta({}, overlap._visible()), joined[-1]
        return [
            finished(
                one.update,
                delta if one is last else nothing,
                report if one is last else Report(),
                began=one.began,
                effect=one.effect,
                together=len(joined),
                seconds=work,
            )
            for one in joined
        ]

    def give_up(self) -> None:
        self._joined.clear()
        self._backlog, self._taken = Backlog(), 0
        self._changes = self._largest = 0
        self._ready = None
        overlap, self._overlap = self._overlap, None
        self._alone.give_up()
        if overlap is not None:
            overlap.rollback()
