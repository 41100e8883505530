"""Edges that go: rows shrink and components fall apart.

Components whose rows may shrink wait in a heap, those first that reach least: what a
component reaches has a smaller row than its own, or as large a one and lies on a cycle. So
every component is looked at once, after all its successors, and one whose row comes out the
same is the end of it: what reaches it has no reason to be looked at.

What a component loses because its successors shrank, one of them has lost. Where they lost but
few nodes, these are looked up in the rows of all successors; otherwise the row is put together
anew.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.nodes import lower, upper
from tidelog.closure.kernels.rows import (
    DONE,
    HEAP,
    L_AT,
    L_COUNT,
    L_LENGTH,
    L_NODE,
    LIVE,
    LOG,
    LOGGED,
    LOSSES,
    NONE,
    ONE,
    PAUSE,
    PIECE,
    PIECES,
    ROOM,
    SIZE,
    SLICE,
    TOP,
    WHOLE,
    WORK,
    gather,
    is_full,
    note,
    put_row,
    reaches,
    root_before,
    set_row,
    write_row,
)
from tidelog.closure.kernels.strong import condense_within, holds_together
from tidelog.closure.kernels.word_bits import lowest, popcount

# Why a component waits: a successor shrank, an edge that left it is gone, or one inside it.
WOKEN, SHORT, TORN = np.uint8(1), np.uint8(2), np.uint8(4)
FEW = 16  # nodes that are looked up one by one, at most
MANY = np.uint8(255)
_NODE = (1 << 31) - 1


@njit
def wait(r, q, c, why):
    """Enter component c into the heap, if it is not there yet."""
    if q.waiting[c] == 0:
        alone = r.members[c] == 1 and not reaches(r, c, c)
        key = ((2 * np.int64(r.bits[c]) + np.int64(alone)) << 31) | np.int64(c)
        i = r.info[HEAP]
        r.info[HEAP] = i + 1
        while i > 0 and q.heap[(i - 1) >> 1] > key:
            q.heap[i] = q.heap[(i - 1) >> 1]
            i = (i - 1) >> 1
        q.heap[i] = key
    q.waiting[c] |= why


@njit
def take_first(r, q):
    """The component of the heap that reaches least."""
    first = q.heap[0]
    n = r.info[HEAP] - 1
    r.info[HEAP] = n
    key = q.heap[n]
    i = 0
    while True:
        k = 2 * i + 1
        if k >= n:
            break
        if k + 1 < n and q.heap[k + 1] < q.heap[k]:
            k += 1
        if q.heap[k] >= key:
            break
        q.heap[i] = q.heap[k]
        i = k
    q.heap[i] = key
    return first & _NODE


@njit(cache=True)
def begin_cut(rows, ways, queue):
    """Tails of edges that are gone wait; `lost` and `link` chain the edges of one component."""
    r, q = bare(rows), bare(queue)
    for i in range(len(ways)):
        c = np.int64(r.root[upper(ways[i])])
        if r.root[lower(ways[i])] != c:
            wait(r, q, c, SHORT)
        else:
            wait(r, q, c, TORN)
            q.link[i] = q.lost[c]
            q.lost[c] = i + 1


@njit
def note_loss(r, q, c, count):
    """Write down what c has lost, its row being that of so many bits just written."""
    lost = r.bits[c] - count
    n = r.info[LOSSES]
    if lost > FEW or n + lost > q.losses[0]:
        q.losing[c] = MANY
        return
    q.losing[c] = lost
    q.loss_at[c] = n
    r.info[LOSSES] = n + lost
    k = r.info[TOP]
    for i in range(r.at[c], r.at[c] + r.length[c]):
        word = r.words[i]
        if count > 0 and r.places[k] == r.places[i]:
            word &= ~r.words[k]
            count -= popcount(r.words[k])
            k += 1
        while word != NONE:
            q.losses[n] = (np.int64(r.places[i]) << 6) + lowest(word)
            word &= word - ONE
            n += 1


@njit
def suspects(out, r, q, c):
    """Nodes that successors of c have lost, into q.suspects; returns how many, -1 for many."""
    n = 0
    x = np.int64(c)
    while True:
        at = out.at[x]
        for j in range(at, at + out.used[x]):
            d = r.root[out.data[j]]
            if q.losing[d] == 0 or d == c:
                continue
            if q.losing[d] == MANY:
                return -1
            first = q.loss_at[d]
            for i in range(first, first + q.losing[d]):
                y = q.losses[i]
                k = 0
                while k < n and q.suspects[k] != y:
                    k += 1
                if k == FEW:
                    return -1
                q.suspects[k] = y
                n = max(n, k + 1)
        x = np.int64(r.ring[x])
        if x == c:
            return n


@njit
def still_reaches(out, r, c, y):
    """Does component c, which holds together, reach y as other rows are now?"""
    if r.root[y] == c:
        return True
    x = np.int64(c)
    while True:
        at = out.at[x]
        for j in range(at, at + out.used[x]):
            z = out.data[j]
            if z == y or (r.root[z] != c and reaches(r, np.int64(r.root[z]), y)):
                return True
        x = np.int64(r.ring[x])
        if x == c:
            return False


@njit
def write_without(out, r, q, c, n):
    """Write the row of c without those of n suspects that it does not reach any more.

    Returns length and bits; where nothing goes, nothing is written.
    """
    gone = 0
    for k in range(n):
        y = q.suspects[k]
        if not still_reaches(out, r, c, y):
            if gone == 0:
                put_row(r, c)
            r.sum[y >> 6] &= ~(ONE << np.uint64(y & 63))
            gone += 1
    if gone == 0:
        return np.int64(r.length[c]), np.int64(r.bits[c])
    return write_row(r)


@njit
def wake_sources(into, r, q, c, whole):
    """The row of c has shrunk: its predecessors wait, but those that were one with it."""
    x = np.int64(c)
    while True:
        r.info[WORK] += into.used[x]
        for j in range(into.at[x], into.at[x] + into.used[x]):
            y = into.data[j]
            if r.root[y] != c and root_before(r, y) != whole:
                wait(r, q, np.int64(r.root[y]), WOKEN)
        x = np.int64(r.ring[x])
        if x == c:
            break


@njit
def fall_apart(r, c, s, found):
    """The nodes of component c form components of their own, whose rows are to be found."""
    order, bounds = s.order, s.bounds
    for i in range(bounds[found]):
        note(r, order[i])
    r.info[LIVE] -= r.length[c]
    r.info[SIZE] -= np.int64(r.members[c]) * r.bits[c]
    for k in range(found):
        first, end = bounds[k], bounds[k + 1]
        d = order[first]
        for i in range(first, end):
            r.root[order[i]] = d
            r.ring[order[i]] = order[i + 1] if i + 1 < end else d
        r.members[d] = end - first
        r.length[d] = 0
        r.bits[d] = 0
    r.info[WHOLE] = c
    r.info[PIECE] = 0
    r.info[PIECES] = found


@njit
def settle_piece(out, into, r, q, c):
    """The row of a component that was part of the component info[WHOLE]."""
    whole = r.info[WHOLE]
    before = (np.int64(r.logged[whole]) - 1) * LOG
    gather(out, r, c)
    length, count = write_row(r)
    if count == r.log[before + L_COUNT]:
        r.at[c] = r.log[before + L_AT]
        r.length[c] = r.log[before + L_LENGTH]
        r.bits[c] = count
        r.info[LIVE] += r.length[c]
        r.info[SIZE] += np.int64(r.members[c]) * count
    else:
        q.losing[c] = MANY
        set_row(r, c, length, count)
        wake_sources(into, r, q, c, whole)


@njit(cache=True)
def cut(out, into, rows, ways, queue, scratch, degree):
    """Follow what `begin_cut` began until nothing waits; `degree` is the mean of all nodes."""
    ahead, behind, r = bare(out), bare(into), bare(rows)
    q, s, pairs = bare(queue), bare(scratch), bare(ways)
    while True:
        if is_full(r):
            return ROOM
        if r.info[WORK] > r.info[SLICE]:
            r.info[WORK] = 0
            return PAUSE
        if r.info[PIECE] < r.info[PIECES]:
            c = np.int64(s.order[s.bounds[r.info[PIECE]]])
            r.info[PIECE] += 1
            settle_piece(ahead, behind, r, q, c)
            continue
        if r.info[HEAP] == 0:
            return DONE
        c = take_first(r, q)
        why, edge = q.waiting[c], np.int64(q.lost[c])
        q.waiting[c] = 0
        q.lost[c] = 0
        members = np.int64(r.members[c])
        if why & TORN and members > 1:
            # Searching for every edge must not cost more than finding all components.
            budget = members * degree
            r.info[WORK] += budget
            if not holds_together(ahead, behind, r, s, pairs, edge, q.link, budget):
                found = condense_within(ahead, r, c, s)
                r.info[WORK] += budget
                if found > 1:
                    fall_apart(r, c, s, found)
                    continue
            if why == TORN:
                continue
        few = suspects(ahead, r, q, c) if why == WOKEN else -1
        if few >= 0:
            length, count = write_without(ahead, r, q, c, few)
        else:
            gather(ahead, r, c)
            length, count = write_row(r)
        if count != r.bits[c]:
            note_loss(r, q, c, count)
            set_row(r, c, length, count)
            wake_sources(behind, r, q, c, -1)


@njit(cache=True)
def forget_losses(rows, queue):
    r, q = bare(rows), bare(queue)
    for n in range(r.info[LOGGED]):
        q.losing[r.log[n * LOG + L_NODE]] = 0
