"""Sums and joins of columns, with equal rows brought together as they come."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.dbsp.kernels.hashing import _C1, hash_row, mix, place

# Where a word of a key or of a result is from.
GIVEN = 0  # a column of the given rows
FOUND = 1  # a column of a cell
FIXED = 2  # a constant

# What a row must satisfy: (how, left, right).
IS_FIXED = 0  # its column is a constant
IS_SAME = 1  # two of its columns are the same
IS_GIVEN = 2  # a cell's column is one of the given row's


@njit
def _passes(rows, i, tests, given, j):
    for t in range(len(tests)):
        how, left, right = tests[t, 0], tests[t, 1], tests[t, 2]
        if how == IS_FIXED:
            if rows[i, left] != right:
                return False
        elif how == IS_SAME:
            if rows[i, left] != rows[i, right]:
                return False
        elif rows[i, left] != given[j, right]:
            return False
    return True


@njit
def _grown(rows, count):
    """The sums so far in twice the room, and a table for them."""
    width = rows.shape[1]
    wider = np.empty((2 * len(rows), width), dtype=np.int64)
    wider[:count] = rows[:count]
    slots = np.zeros(4 * len(rows), dtype=np.int32)
    size = len(slots)
    for i in range(count):
        slot = place(hash_row(wider, i, width - 1), size)
        while slots[slot] != 0:
            slot += 1
            if slot == size:
                slot = 0
        slots[slot] = i + 1
    return wider, slots


@njit
def _add(sums, slots, count):
    """Row number `count` of the sums has come: keep it, or add its weight to that of its like."""
    width = sums.shape[1] - 1
    size = len(slots)
    slot = place(hash_row(sums, count, width), size)
    while slots[slot] != 0:
        other = slots[slot] - 1
        same = True
        for c in range(width):
            if sums[other, c] != sums[count, c]:
                same = False
                break
        if same:
            sums[other, width] += sums[count, width]
            return count
        slot += 1
        if slot == size:
            slot = 0
    slots[slot] = count + 1
    return count + 1


@njit
def _nonzero(sums, count):
    width = sums.shape[1] - 1
    kept = 0
    for i in range(count):
        if sums[i, width] != 0:
            if kept != i:
                sums[kept] = sums[i]
            kept += 1
    return sums[:kept]


@njit(cache=True)
def total(rows):
    """Rows whose last column is a weight, each once, with the sum of its weights if not 0."""
    width = rows.shape[1]
    sums = np.empty((len(rows) + 1, width), dtype=np.int64)
    slots = np.zeros(2 * len(rows) + 2, dtype=np.int32)
    count = 0
    for i in range(len(rows)):
        sums[count] = rows[i]
        count = _add(sums, slots, count)
    return _nonzero(sums, count)


@njit(cache=True)
def join(
    given,
    start,
    stop,
    asked,
    probe,
    cells,
    slots,
    links,
    columns,
    tests,
    result,
    shift,
    late,
    sign,
):
    """Pairs of given rows and the cells that an index has for their keys.

    Given rows have a time and a weight as their last columns, and so has the result. The time of
    a pair is the later of both, after `shift` is added to the given one's; a cell's time is read
    as `late` more, or, if that is negative, as no time at all. Weights are multiplied.
    """
    wide = given.shape[1] - 2
    depth = cells.shape[1] - 3
    width = len(result)
    room = max(16, stop - start)
    sums = np.empty((room, width + 2), dtype=np.int64)
    table = np.zeros(2 * room, dtype=np.int32)
    size = len(slots)
    count = 0
    for i in range(start, stop):
        if not _passes(given, i, asked, given, i):
            continue
        h = _C1
        for k in range(len(probe)):
            how, what = probe[k, 0], probe[k, 1]
            h = mix(h, given[i, what] if how == GIVEN else what)
        slot = place(h, size)
        while slots[slot] != 0:
            cell = slots[slot] - 1
            same = True
            for k in range(len(probe)):
                how, what = probe[k, 0], probe[k, 1]
                word = given[i, what] if how == GIVEN else what
                if cells[cell, columns[k]] != word:
                    same = False
                    break
            if same:
                break
            slot += 1
            if slot == size:
                slot = 0
        time = given[i, wide] + shift
        weight = given[i, wide + 1] * sign
        at = slots[slot]
        while at != 0:
            cell = at - 1
            at = links[cell]
            if cells[cell, depth + 1] == 0 or not _passes(cells, cell, tests, given, i):
                continue
            if count == len(sums):
                sums, table = _grown(sums, count)
            for c in range(width):
                how, what = result[c, 0], result[c, 1]
                if how == GIVEN:
                    sums[count, c] = given[i, what]
                elif how == FOUND:
                    sums[count, c] = cells[cell, what]
                else:
                    sums[count, c] = what
            sums[count, width] = max(time, cells[cell, depth] + late) if late >= 0 else time
            sums[count, width + 1] = weight * cells[cell, depth + 1]
            count = _add(sums, table, count)
    return _nonzero(sums, count)
