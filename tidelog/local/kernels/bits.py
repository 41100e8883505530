"""Rows that join sets and leave them, and rows that an evaluation is given.

A call of these takes less time than one step of what NumPy would need several for, and most
sets of a small update have a few rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.local.kernels.layout import R_MASK, R_WIDTH
from tidelog.local.kernels.pointers import i64, u16


@njit(cache=True)
def turn(relations, r, rows, first, size, on, off, changed):
    """Turn bits on and off in the masks of `size` rows: of those listed, or from `first` on.

    Returns how many masks that changes; their rows are listed in `changed`, where it has room.
    """
    mask = u16(i64(relations)[r * R_WIDTH + R_MASK])
    keep, add = np.uint16(~off), np.uint16(on)
    listed, listing = len(rows) > 0, len(changed) > 0
    count = 0
    for i in range(size):
        row = np.int64(rows[i]) if listed else first + i
        before = mask[row]
        after = np.uint16((before & keep) | add)
        mask[row] = after
        if listing:
            changed[count] = np.uint32(row)
        count += np.int64(before != after)
    return count


@njit(cache=True)
def select(relations, r, rows, holds, wanted, found):
    """List in `found` those rows whose masks a truth table holds, or does not; returns how many
    there are."""
    mask = u16(i64(relations)[r * R_WIDTH + R_MASK])
    count = 0
    for i in range(len(rows)):
        found[count] = rows[i]
        count += np.int64((holds[mask[rows[i]]] != 0) == wanted)
    return count


@njit(cache=True)
def give(relations, r, column, rows, first, end):
    """Let a relation's delta be the rows listed or, where none are, a range. The list must live
    as long as the delta is read."""
    rels = i64(relations)
    listed = len(rows) > 0
    rels[r * R_WIDTH + column] = rows.ctypes.data if listed else 0
    rels[r * R_WIDTH + column + 1] = 0 if listed else first
    rels[r * R_WIDTH + column + 2] = len(rows) if listed else end
