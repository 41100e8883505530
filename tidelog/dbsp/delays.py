"""What operators remember: changes that are summed up, and changes whose time is to come."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from tidelog.dbsp.kernels.cells import NEVER
from tidelog.dbsp.row_columns import LIMIT, check_reach, reach
from tidelog.dbsp.trace import Batch, Match, Trace, Words, consolidated, none

ENDLESS = int(NEVER)


def at(batch: Batch, time: int) -> Batch:
    """The same rows, all at one time."""
    moved = batch.copy()
    moved[:, -2] = time
    return moved


def once(lines: Batch) -> Batch:
    """A batch, in which each row and time is once, from lines that may repeat."""
    check_reach(reach(lines[:, -1]))
    return consolidated(np.ascontiguousarray(lines))


def plus(batches: Sequence[Batch], width: int) -> Batch:
    """The sum of batches; of one, itself, so that nobody may change a batch that was given out."""
    some = [batch for batch in batches if len(batch)]
    if not some:
        return none(width)
    return some[0] if len(some) == 1 else once(np.concatenate(some))


class Past:
    """All changes of one input until now, as one Z-set of rows with inner times: its integral."""

    def __init__(self, width: int, key: tuple[int, ...] | None = None) -> None:
        self.trace = Trace(width)
        self._reach = 0.0  # of its weights, or more
        if key is not None:
            self.trace.index(key)

    def add(self, batch: Batch) -> None:
        self._admit(batch)
        self.trace.add(batch)

    def distinct(self, outputs: Past, rows: Batch, time: int) -> tuple[Words, Words]:
        """Add rows at a time; what the outputs lack there, and when to look again."""
        self._admit(rows)
        return self.trace.distinct(outputs.trace, rows, time)

    def meet(self, match: Match, given: Batch) -> list[Batch]:
        """Pairs of given rows and those here, each at the later of both times."""
        factor = reach(given[:, -1])
        check_reach(factor * self._bound(times=factor))
        return list(match.pairs(given, self.trace))

    def _admit(self, batch: Batch) -> None:
        more = reach(batch[:, -1])
        check_reach(self._bound(times=1.0, plus=more) + more)
        self._reach += more

    def _bound(self, times: float, plus: float = 0.0) -> float:
        if self._reach * times + plus >= LIMIT:
            # What has cancelled out since no longer counts.
            self._reach = reach(self.trace.batch()[:, -1])
        return self._reach


class Future:
    """Changes by the inner times at which they are due."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._due: dict[int, list[Batch]] = {}
        self._times: list[int] = []  # a heap of those that are due, and of some that were

    def put(self, batch: Batch) -> None:
        if not len(batch):
            return
        times = batch[:, -2]
        if times[0] == times[-1] and (times == times[0]).all():
            self._put(int(times[0]), batch)
            return
        batch = batch[np.argsort(times, kind="stable")]
        cuts = np.flatnonzero(np.diff(batch[:, -2])) + 1
        for part in np.split(batch, cuts):
            self._put(int(part[0, -2]), part)

    def _put(self, time: int, batch: Batch) -> None:
        if time not in self._due:
            self._due[time] = []
            heappush(self._times, time)
        self._due[time].append(batch)

    def take(self, time: int) -> Batch:
        """What is due at a time, each row once."""
        return plus(self._due.pop(time, ()), self.width)

    def first(self) -> int:
        while self._times and self._times[0] not in self._due:
            heappop(self._times)
        return self._times[0] if self._times else ENDLESS
