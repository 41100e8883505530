"""A trace's cells: weights change, tables and indexes follow, and empty cells are given back."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.dbsp.kernels.row_table import (
    BLOCK,
    ask_next,
    find_from,
    find_row,
    hash_key,
    hash_row,
    place,
    same_key,
    seek,
    seek_keys,
    seek_some,
)

NEVER = np.int64(1) << np.int64(62)  # a time that does not come


@njit(cache=True)
def add(cells, slots, used, rows, sign):
    """Add rows, which end in a time and a weight, `sign` times; there must be room for them.

    Returns how many cells are used, by how many those without a weight have become more, and the
    largest weight that a cell came to.
    """
    width = rows.shape[1] - 2
    time, weight, link = width, width + 1, width + 2
    empty = 0
    top = np.int64(0)
    homes = np.empty(BLOCK, dtype=np.int64)
    for i in range(len(rows)):
        if i % BLOCK == 0:
            seek(cells, slots, rows, i, width, homes)
        slot = find_from(cells, slots, rows, i, width, homes[i % BLOCK])
        first = slots[slot] - 1
        at = first
        while at >= 0 and cells[at, time] != rows[i, time]:
            at = cells[at, link] - 1
        if at >= 0:
            empty -= cells[at, weight] == 0
            cells[at, weight] += sign * rows[i, weight]
            top = max(top, abs(cells[at, weight]))
            empty += cells[at, weight] == 0
            continue
        for c in range(width + 1):
            cells[used, c] = rows[i, c]
        cells[used, weight] = sign * rows[i, weight]
        empty += rows[i, weight] == 0
        if first < 0:
            cells[used, link] = 0
            slots[slot] = used + 1
        else:
            cells[used, link] = cells[first, link]
            cells[first, link] = used + 1
        used += 1
    return used, empty, top


@njit(cache=True)
def rehash(cells, slots, used, width):
    """Fill a table anew with the first cells of rows."""
    link = width + 2
    later = np.zeros(used, dtype=np.bool_)
    for i in range(used):
        if cells[i, link]:
            later[cells[i, link] - 1] = True
    size = len(slots)
    for i in range(used):
        if not later[i]:
            slot = place(hash_row(cells, i, width), size)
            while slots[slot] != 0:
                slot += 1
                if slot == size:
                    slot = 0
            slots[slot] = i + 1


@njit(cache=True)
def pack(cells, used, width, into):
    """Copy the cells that have a weight, without links; returns how many."""
    weight = width + 1
    count = 0
    for i in range(used):
        if cells[i, weight] != 0:
            into[count] = cells[i]
            into[count, width + 2] = 0
            count += 1
    return count


@njit(cache=True)
def chain(cells, slots, used, width):
    """Fill a table, and link the cells of the same row, none of which are linked yet."""
    link = width + 2
    for i in range(used):
        slot = find_row(cells, slots, cells, i, width)
        first = slots[slot] - 1
        if first < 0:
            slots[slot] = i + 1
        else:
            cells[i, link] = cells[first, link]
            cells[first, link] = i + 1


@njit(cache=True)
def enter(cells, columns, slots, links, keys, start, stop):
    """Put cells[start:stop] into an index, as far as its table has room for keys.

    Returns how far it came, and how many keys there are.
    """
    size = len(slots)
    homes = np.empty(BLOCK, dtype=np.int64)
    for i in range(start, stop):
        if 2 * keys >= size:
            return i, keys
        if (i - start) % BLOCK == 0:
            seek_keys(cells, slots, i, stop, columns, homes)
        slot = homes[(i - start) % BLOCK]
        while slots[slot] != 0 and not same_key(cells, slots[slot] - 1, i, columns):
            slot += 1
            if slot == size:
                slot = 0
        keys += slots[slot] == 0
        links[i] = slots[slot]
        slots[slot] = i + 1
    return stop, keys


@njit(cache=True)
def move(cells, columns, slots, wider):
    """Put the chains of an index into a larger table, which is empty."""
    size = len(wider)
    for first in slots:
        if first != 0:
            slot = place(hash_key(cells, first - 1, columns), size)
            while wider[slot] != 0:
                slot += 1
                if slot == size:
                    slot = 0
            wider[slot] = first


@njit(cache=True)
def distinct(inputs, in_slots, used, outputs, out_slots, rows, time, rising, again, changes, later):
    """Add rows to the inputs at a time, and say what `distinct` has to change there.

    At a time, a row that weighs more than nothing in all inputs until then counts once. `changes`
    becomes what its output at this time lacks; `later`, the next time at which the row has
    anything. A row without a weight is only looked at.

    Where sums are `rising`, never less at a later time, a row that counts needs no later look at
    its inputs; and one that counts as it did, by what is there until this time, has the output that
    it should have, unless it is one of the first `again`: rows that were to be looked at now.

    Returns how many cells of the inputs are used, by how many those without a weight have become
    more, and the largest sum of weights; there must be room.
    """
    width = rows.shape[1] - 2
    at_time, weight, link = width, width + 1, width + 2
    empty = 0
    top = np.int64(0)
    homes, out_homes = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int64)
    doubtful, count = np.empty(BLOCK, dtype=np.int64), 0
    for i in range(len(rows)):
        if i % BLOCK == 0:
            seek(inputs, in_slots, rows, i, width, homes)
            ask_next(inputs, in_slots, homes, min(BLOCK, len(rows) - i))
        before, now, following = np.int64(0), rows[i, weight], NEVER
        slot = find_from(inputs, in_slots, rows, i, width, homes[i % BLOCK])
        first = in_slots[slot] - 1
        cell, mine = first, np.int64(-1)
        while cell >= 0:
            when = inputs[cell, at_time]
            if when < time:
                before += inputs[cell, weight]
                top = max(top, abs(before))
            elif when == time:
                now += inputs[cell, weight]
                mine = cell
            elif when < following and inputs[cell, weight] != 0:
                following = when
            cell = inputs[cell, link] - 1
        if mine >= 0:
            empty += np.int64(now == 0) - np.int64(inputs[mine, weight] == 0)
            inputs[mine, weight] = now
        elif now != 0:
            for c in range(width):
                inputs[used, c] = rows[i, c]
            inputs[used, at_time] = time
            inputs[used, weight] = now
            inputs[used, link] = 0 if first < 0 else inputs[first, link]
            used += 1
            if first < 0:
                in_slots[slot] = used
            else:
                inputs[first, link] = used
        top = max(top, abs(now), abs(before + now))
        counts = before + now > 0
        changes[i] = np.int64(counts) - np.int64(before > 0)
        later[i] = NEVER if rising and counts else following
        counted = before + now - rows[i, weight] > 0
        if rising and i >= again and counts and counted:
            changes[i] = 0
        else:
            doubtful[count] = i
            count += 1
        if count == BLOCK or i + 1 == len(rows):
            which = doubtful[:count]
            _compare(outputs, out_slots, rows, time, which, out_homes, changes, later)
            count = 0
    return used, empty, top


@njit
def _compare(outputs, slots, rows, time, which, homes, changes, later):
    """Take what outputs have at a time from the changes of some rows, and see when they have
    anything later."""
    width = rows.shape[1] - 2
    at_time, weight, link = width, width + 1, width + 2
    seek_some(outputs, slots, rows, which, width, homes)
    for k in range(len(which)):
        i = which[k]
        cell = slots[find_from(outputs, slots, rows, i, width, homes[k])] - 1
        while cell >= 0:
            when = outputs[cell, at_time]
            if when == time:
                changes[i] -= outputs[cell, weight]
            elif time < when < later[i] and outputs[cell, weight] != 0:
                later[i] = when
            cell = outputs[cell, link] - 1


@njit(cache=True)
def weigh(cells, slots, rows, weights):
    """The weights of rows over all times."""
    width = rows.shape[1]
    for i in range(len(rows)):
        weights[i] = 0
        cell = slots[find_row(cells, slots, rows, i, width)] - 1
        while cell >= 0:
            weights[i] += cells[cell, width + 1]
            cell = cells[cell, width + 2] - 1
