"""What several phases of an update changed in all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Ids
from tidelog.local.sets import Saved


def net(phases: Sequence[tuple[Saved, Saved]]) -> tuple[Saved, Saved]:
    """What went and what came, over phases: what went and came again did neither."""
    events: dict[int, list[tuple[int, Ids]]] = {}
    for gone, new in phases:
        for sign, side in ((-1, gone), (1, new)):
            for r, rows in side.items():
                events.setdefault(r, []).append((sign, rows))
    went: Saved = {}
    came: Saved = {}
    for r, mine in events.items():
        went[r], came[r] = _summed(mine)
    return went, came


def _summed(events: Sequence[tuple[int, Ids]]) -> tuple[Ids, Ids]:
    """Rows that went once more than they came, and the other way round."""
    rows = np.concatenate([rows for _, rows in events])
    if len({sign for sign, _ in events}) == 1:
        return (rows, rows[:0]) if events[0][0] < 0 else (rows[:0], rows)
    signs = np.repeat([sign for sign, _ in events], [len(rows) for _, rows in events])
    _, where, which = np.unique(_numbered(rows), return_index=True, return_inverse=True)
    sums = np.bincount(which.reshape(-1), weights=signs)
    return rows[where[sums < 0]], rows[where[sums > 0]]


def _numbered(rows: Ids) -> NDArray[np.int64]:
    """A number for every row, the same where rows are."""
    numbers = np.zeros(len(rows), dtype=np.int64)
    for i, column in enumerate(rows.T):
        if i > 1:  # two ids fit
            numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        numbers = (numbers << np.int64(32)) | column.astype(np.int64)
    return numbers
