"""Edges that go: rows shrink and components fall apart.

Components whose rows may shrink wait in a heap, those first that reach least: what a
component reaches has a smaller row than its own, or as large a one and lies on a cycle. So
every component is looked at once, after all its successors, and one whose row comes out the
same is the end of it: what reaches it has no reason to be looked at.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.nodes import lower, upper
from tidelog.closure.kernels.rows import (
    DONE,
    HEAP,
    L_AT,
    L_COUNT,
    L_LENGTH,
    LIVE,
    PAUSE,
    PIECE,
    PIECES,
    ROOM,
    SIZE,
    SLICE,
    WHOLE,
    WORK,
    gather,
    is_full,
    note,
    reaches,
    root_before,
    set_row,
    write_row,
)
from tidelog.closure.kernels.strong import BOUNDS, ORDER, condense_within, holds_together

WAITS, TORN = np.uint8(1), np.uint8(2)  # lost something outside; lost an edge of its own
_NODE = (1 << 31) - 1


@njit
def wait(r, heap, waiting, c, why):
    """Enter component c into the heap, if it is not there yet."""
    if waiting[c] == 0:
        alone = r.members[c] == 1 and not reaches(r, c, r.column[c])
        key = ((2 * np.int64(r.count[c]) + np.int64(alone)) << 31) | np.int64(c)
        i = r.info[HEAP]
        r.info[HEAP] = i + 1
        while i > 0 and heap[(i - 1) >> 1] > key:
            heap[i] = heap[(i - 1) >> 1]
            i = (i - 1) >> 1
        heap[i] = key
    waiting[c] |= why


@njit
def take_first(r, heap):
    """The component of the heap that reaches least."""
    first = heap[0]
    n = r.info[HEAP] - 1
    r.info[HEAP] = n
    key = heap[n]
    i = 0
    while True:
        k = 2 * i + 1
        if k >= n:
            break
        if k + 1 < n and heap[k + 1] < heap[k]:
            k += 1
        if heap[k] >= key:
            break
        heap[i] = heap[k]
        i = k
    heap[i] = key
    return first & _NODE


@njit(cache=True)
def begin_cut(r, ways, heap, waiting, lost, link):
    """Tails of edges that are gone wait; lost[c] and link chain the edges inside component c."""
    for i in range(len(ways)):
        c = np.int64(r.root[upper(ways[i])])
        if r.root[lower(ways[i])] != c:
            wait(r, heap, waiting, c, WAITS)
        else:
            wait(r, heap, waiting, c, TORN)
            link[i] = lost[c]
            lost[c] = i + 1


@njit
def wake_sources(into, r, log, heap, waiting, c, whole):
    """The row of c has shrunk: its predecessors wait, but those that were one with it."""
    x = np.int64(c)
    while True:
        r.info[WORK] += into.used[x]
        for j in range(into.at[x], into.at[x] + into.used[x]):
            y = into.data[j]
            if r.root[y] != c and root_before(r, log, y) != whole:
                wait(r, heap, waiting, np.int64(r.root[y]), WAITS)
        x = np.int64(r.ring[x])
        if x == c:
            break


@njit
def fall_apart(r, log, c, scratch, found):
    """The nodes of component c form components of their own, whose rows are to be found."""
    order, bounds = scratch[ORDER], scratch[BOUNDS]
    for i in range(bounds[found]):
        note(r, log, order[i])
    r.info[LIVE] -= r.length[c]
    r.info[SIZE] -= np.int64(r.members[c]) * r.count[c]
    for k in range(found):
        first, end = bounds[k], bounds[k + 1]
        d = order[first]
        for i in range(first, end):
            r.root[order[i]] = d
            r.ring[order[i]] = order[i + 1] if i + 1 < end else d
        r.members[d] = end - first
        r.length[d] = 0
        r.count[d] = 0
    r.info[WHOLE] = c
    r.info[PIECE] = 0
    r.info[PIECES] = found


@njit
def settle_piece(out, into, r, log, heap, waiting, c):
    """The row of a component that was part of the component info[WHOLE]."""
    whole = r.info[WHOLE]
    before = r.logged[whole] - 1
    gather(out, r, c)
    length, count = write_row(r)
    if count == log[before, L_COUNT]:
        r.at[c] = log[before, L_AT]
        r.length[c] = log[before, L_LENGTH]
        r.count[c] = count
        r.info[LIVE] += r.length[c]
        r.info[SIZE] += np.int64(r.members[c]) * count
    else:
        set_row(r, log, c, length, count)
        wake_sources(into, r, log, heap, waiting, c, whole)


@njit(cache=True)
def cut(out, into, r, log, ways, heap, waiting, lost, link, num, scratch, degree):
    """Follow what `begin_cut` began until nothing waits; `degree` is the mean of all nodes."""
    while True:
        if is_full(r):
            return ROOM
        if r.info[WORK] > SLICE:
            r.info[WORK] = 0
            return PAUSE
        if r.info[PIECE] < r.info[PIECES]:
            c = np.int64(scratch[ORDER, scratch[BOUNDS, r.info[PIECE]]])
            r.info[PIECE] += 1
            settle_piece(out, into, r, log, heap, waiting, c)
            continue
        if r.info[HEAP] == 0:
            return DONE
        c = take_first(r, heap)
        why, edge = waiting[c], np.int64(lost[c])
        waiting[c] = 0
        lost[c] = 0
        members = np.int64(r.members[c])
        if why & TORN and members > 1:
            # Searching for every edge must not cost more than finding all components.
            budget = members * degree
            r.info[WORK] += budget
            if not holds_together(out, into, r, ways, edge, link, num, scratch, budget):
                found = condense_within(out, r, c, num, scratch)
                r.info[WORK] += budget
                if found > 1:
                    fall_apart(r, log, c, scratch, found)
                    continue
            if why == TORN:
                continue
        gather(out, r, c)
        length, count = write_row(r)
        if count != r.count[c]:
            set_row(r, log, c, length, count)
            wake_sources(into, r, log, heap, waiting, c, -1)
