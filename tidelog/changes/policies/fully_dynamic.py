"""Fully dynamic: overlapping updates; an update joins those under way, between two steps.

Its changes of explicit facts take effect at once. Updates in the queue join together: changes that
undo each other cancel before their consequences are computed. All updates that overlap settle
together. An endless stream must settle now and then, to return deltas and to free deleted facts:
after `MOST` updates, or `MANY` changes, no more join until all have settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from tidelog.changes.policies.policy import Arrived, Finished, Look, Sequential, finished
from tidelog.changes.policies.shared_transaction import Overlap
from tidelog.changes.policies.update_queue import PORTION, StartedUpdate, UpdateQueue
from tidelog.maintain.report import Report
from tidelog.transaction.core import Core, Options

MOST = 1000  # updates that settle together
MANY = 1 << 18  # changes, without those of the largest update, which others may always join
LITTER = 1 << 14  # deleted facts whose memory is not freed yet; or a quarter of all facts


class FullyDynamic:
    def __init__(self, core: Core, look: Look, options: Options) -> None:
        self._core = core
        self._look = look
        self._options = options
        self._overlap: Overlap | None = None
        self._joined: list[StartedUpdate] = []
        self._queue = UpdateQueue()  # updates that have not joined yet
        self._taken = 0  # changes taken since updates last joined
        self._changes = self._largest = 0  # of all joined updates, and of the largest
        self._ready: Arrived | None = None  # an update that arrived during a step
        self._alone = Sequential(core, look, options)

    @property
    def busy(self) -> bool:
        return self._overlap is not None or self._alone.busy

    def wants(self) -> bool:
        if self._alone.busy:
            return False
        if self._overlap is None:
            return True
        if not self._joined:
            # Free memory first if too much is unused.
            return self._overlap.litter < max(LITTER, self._overlap.facts // 4)
        few = len(self._joined) < MOST and self._changes - self._largest < MANY
        return few and self._taken < PORTION

    def take(self, update: Arrived) -> None:
        if update.changes_rules:
            while self._overlap is not None:
                self.step()
            self._alone.take(update)
            return
        taken, changes = StartedUpdate(update, perf_counter()), update.last_changes()
        if self._overlap is None:
            self._overlap = Overlap(self._core, self._options, self._waits)
        self._joined.append(taken)
        self._queue.add(taken, changes)
        size = len(update.changes)
        self._taken += size
        self._changes, self._largest = self._changes + size, max(self._largest, size)

    def _waits(self) -> bool:
        """Has an update arrived during a step?"""
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
        if self._queue and not self._join(overlap):
            return ()
        if not overlap.settled:
            overlap.step()
        if self._ready is not None:
            ready, self._ready = self._ready, None
            self.take(ready)
        return () if self._queue or not overlap.settled else self._finish(overlap)

    def _join(self, overlap: Overlap) -> bool:
        """Let queued updates join; False if more are queued, which might undo them."""
        enough = self.wants()
        self._taken = 0
        changes, updates = self._queue.some()
        overlap.join(changes)
        now = perf_counter()
        for taken in updates:
            taken.effect = now
            overlap.working += taken.update.seconds
        return not self._queue and (enough or not self.wants())

    def _finish(self, overlap: Overlap) -> Sequence[Finished]:
        joined, self._joined = self._joined, []
        self._changes = self._largest = 0
        work = overlap.working / len(joined)
        delta, report = overlap.settle()
        nothing, last = delta.unchanged(), joined[-1]
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
        self._queue, self._taken = UpdateQueue(), 0
        self._changes = self._largest = 0
        self._ready = None
        overlap, self._overlap = self._overlap, None
        self._alone.give_up()
        if overlap is not None:
            overlap.rollback()
