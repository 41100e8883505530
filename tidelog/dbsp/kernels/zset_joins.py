"""Sums and joins of columns, with equal rows brought together as they come."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.dbsp.kernels.row_table import (
    BLOCK,
    HEAVIEST,
    SEED,
    find_from,
    hash_row,
    mix,
    place,
    seek,
)

BUFFER = 1024  # pairs that wait to be summed up

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
def _grown(rows, count, room):
    """The sums so far in more room, and a table for them."""
    width = rows.shape[1]
    wider = np.empty((room, width), dtype=np.int64)
    wider[:count] = rows[:count]
    slots = np.zeros(2 * room, dtype=np.int32)
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
def _absorb(sums, slots, count, rows, stop):
    """Add rows, whose last column is a weight, to the sums; there must be room.

    Returns how many sums there are, and the largest that one of them came to.
    """
    width = sums.shape[1] - 1
    top = np.int64(0)
    homes = np.empty(BLOCK, dtype=np.int64)
    for i in range(stop):
        if i % BLOCK == 0:
            seek(sums, slots, rows, i, width, homes)
        slot = find_from(sums, slots, rows, i, width, homes[i % BLOCK])
        other = slots[slot] - 1
        if other >= 0:
            sums[other, width] += rows[i, width]
            top = max(top, abs(sums[other, width]))
        else:
            for c in range(width + 1):
                sums[count, c] = rows[i, c]
            count += 1
            slots[slot] = count
    return count, top


@njit
def _nonzero(sums, count):
    width = sums.shape[1] - 1
    kept = 0
    for i in range(count):
        if sums[i, width] != 0:
            if kept != i:
                sums[kept] = sums[i]
            kept += 1
    # A slice keeps all of the room alive.
    return sums[:kept] if 2 * kept > len(sums) else sums[:kept].copy()


@njit
def _total(rows):
    sums = np.empty(rows.shape, dtype=np.int64)
    slots = np.zeros(2 * len(rows) + 2, dtype=np.int32)
    count, top = _absorb(sums, slots, 0, rows, len(rows))
    return sums, count, top


@njit(cache=True)
def total(rows):
    """Rows whose last column is a weight, each once, with the sum of its weights if not 0; and the
    largest sum, in which one below `HEAVIEST` has not wrapped around."""
    sums, count, top = _total(rows)
    return _nonzero(sums, count), top


@njit(cache=True)
def total_kept(rows):
    """The same, with rows whose weights add up to 0."""
    sums, count, top = _total(rows)
    return sums[:count], top


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
    expected,
):
    """Pairs of given rows and the cells that an index has for their keys.

    Given rows have a time and a weight as their last columns, and so has the result. The time of
    a pair is the later of both, after `shift` is added to the given one's; a cell's time is read
    as `late` more, or, if that is negative, as no time at all. Weights are multiplied; as with
    `total`, the largest is told. There is room for as many sums as are expected, and for more if
    need be.
    """
    wide = given.shape[1] - 2
    depth = cells.shape[1] - 3
    width = len(result)
    room = max(BUFFER, expected)
    sums = np.empty((room, width + 2), dtype=np.int64)
    table = np.zeros(2 * room, dtype=np.int32)
    found = np.empty((BUFFER, width + 2), dtype=np.int64)
    size = len(slots)
    count = filled = 0
    top = np.int64(0)
    for i in range(start, stop):
        if not _passes(given, i, asked, given, i):
            continue
        h = SEED
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
            for c in range(width):
                how, what = result[c, 0], result[c, 1]
                if how == GIVEN:
                    found[filled, c] = given[i, what]
                elif how == FOUND:
                    found[filled, c] = cells[cell, what]
                else:
                    found[filled, c] = what
            found[filled, width] = max(time, cells[cell, depth] + late) if late >= 0 else time
            found[filled, width + 1] = weight * cells[cell, depth + 1]
            if abs(np.float64(weight) * np.float64(cells[cell, depth + 1])) >= HEAVIEST:
                top = HEAVIEST
            filled += 1
            if filled == BUFFER:
                if count + filled > len(sums):
                    sums, table = _grown(sums, count, 2 * (count + filled))
                count, most = _absorb(sums, table, count, found, filled)
                top = max(top, most)
                filled = 0
    if count + filled > len(sums):
        sums, table = _grown(sums, count, count + filled)
    count, most = _absorb(sums, table, count, found, filled)
    return _nonzero(sums, count), max(top, most)


@njit(cache=True)
def by_time(rows):
    """The rows in the order of their times, and where each time begins, with the end at last."""
    width = rows.shape[1] - 2
    low = high = rows[0, width]
    for i in range(1, len(rows)):
        low = min(low, rows[i, width])
        high = max(high, rows[i, width])
    if low == high:
        return rows, np.array([0, len(rows)])
    if high - low > 4 * len(rows):  # far apart: rounds of long chains
        order = np.argsort(rows[:, width], kind="mergesort")
    else:
        starts = np.zeros(high - low + 2, dtype=np.int64)
        for i in range(len(rows)):
            starts[rows[i, width] - low + 1] += 1
        starts = np.cumsum(starts)
        order = np.empty(len(rows), dtype=np.int64)
        for i in range(len(rows)):
            at = rows[i, width] - low
            order[starts[at]] = i
            starts[at] += 1
    ordered = rows[order]
    bounds = [0]
    for i in range(1, len(rows)):
        if ordered[i, width] != ordered[i - 1, width]:
            bounds.append(i)
    bounds.append(len(rows))
    return ordered, np.array(bounds)
