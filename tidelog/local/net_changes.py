"""The net change of several phases of an update."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Ids
from tidelog.local.sets import Saved


def net(phases: Sequence[tuple[Saved, Saved]]) -> tuple[Saved, Saved]:
    """Facts deleted and inserted over all phases; deleting and inserting one cancel out."""
    events: dict[int, list[tuple[int, Ids]]] = {}
    for removed, added in phases:
        for sign, side in ((-1, removed), (1, added)):
            for r, rows in side.items():
                events.setdefault(r, []).append((sign, rows))
    deleted: Saved = {}
    inserted: Saved = {}
    for r, mine in events.items():
        deleted[r], inserted[r] = _summed(mine)
    return deleted, inserted


def _summed(events: Sequence[tuple[int, Ids]]) -> tuple[Ids, Ids]:
    """Rows deleted more often than inserted, and rows inserted more often than deleted."""
    rows = np.concatenate([rows for _, rows in events])
    if len({sign for sign, _ in events}) == 1:
        return (rows, rows[:0]) if events[0][0] < 0 else (rows[:0], rows)
    signs = np.repeat([sign for sign, _ in events], [len(rows) for _, rows in events])
    _, where, which = np.unique(_numbered(rows), return_index=True, return_inverse=True)
    sums = np.bincount(which.reshape(-1), weights=signs)
    return rows[where[sums < 0]], rows[where[sums > 0]]


def _numbered(rows: Ids) -> NDArray[np.int64]:
    """A number for every row; equal rows have equal numbers."""
    numbers = np.zeros(len(rows), dtype=np.int64)
    for i, column in enumerate(rows.T):
        if i > 1:  # two ids fit
            numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        numbers = (numbers << np.int64(32)) | column.astype(np.int64)
    return numbers
