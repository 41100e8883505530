"""Estimates how large a table will grow, because moving a large one is slow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.local.kernels import layout as at
from tidelog.local.plan_cache import PlanBatch
from tidelog.local.row_store import RowStore

COPIES = 16  # times as many rows, at most, that a look ahead makes room for


class Pace(NamedTuple):
    """How a relation grew while a plan scanned another."""

    plan: int
    done: int  # rows that were scanned
    rows: int
    rate: float  # new rows for each that was scanned, since it grew last


class Paces:
    """The paces of relations in one run."""

    def __init__(self, store: RowStore, batch: PlanBatch) -> None:
        self._store = store
        self._batch = batch
        self._last: dict[int, Pace] = {}

    def likely(self, plan: int, r: int) -> int:
        """Rows that the relation which has no room will have, if a plan that copies what it scans
        goes on as it did; 0 where that is not known."""
        size = self._store.size
        steps, _, starts, _, places, ends, _ = self._batch.arrays
        scan = int(starts[plan])
        if not _copies(steps, scan):
            return 0
        done, rows = int(places[scan]), size(r)
        last = self._last.get(r)
        rate = 0.0 if last is None else last.rate
        if last is not None and last.plan == plan and last.done < done:
            rate = (rows - last.rows) / (done - last.done)
        self._last[r] = Pace(plan, done, rows, rate)
        more = int(1.02 * rate * (int(ends[scan]) - done))
        if not more:
            return 0
        for later in starts[plan + 1 : len(self._batch.plans)].tolist():
            if _copies(steps, later) and steps[later + 1, at.P_REL] == r:
                copied = size(int(steps[later, at.P_REL]))
                more += min(int(rate * copied), rows + more)  # twice as many at most, if it errs
        return min(rows + more + 2 * at.BUFFER, COPIES * rows)


def _copies(steps: NDArray[np.int64], scan: int) -> bool:
    """Is a plan that begins with this step one that makes heads of what it scans?"""
    return bool(steps[scan, at.P_OP] == at.OP_SCAN and steps[scan, at.P_FUSE] != at.FUSE_NONE)
