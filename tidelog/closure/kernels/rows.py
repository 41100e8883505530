"""Bit rows: which nodes a component reaches, by words of 64 columns.

A row is a run of words that are not 0, with their places in `index`: a node that reaches few
others has a short row, however many nodes there are, and one that reaches many has little
more than a bit for each. Rows are never changed: a new one is written at the end, so that the
old one is still there to compare with and to go back to.

A component is named by one of its nodes, its root; `ring` leads from node to node in it. What
a change does to a node's entry is noted in the log, once, as it was before.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.bits import lowest, popcount

ONE = np.uint64(1)
NONE = np.uint64(0)
GROUP = 4  # 2**GROUP words of the accumulator share a bit of `seen`

# Places in `info`.
TOP, LIVE, SIZE, LOGGED, NEXT, WORK, NEED, COLUMNS = range(8)
HEAP, PIECE, PIECES, WHOLE = range(8, 12)
INFO = 12
# What a kernel says when it stops.
DONE, ROOM, PAUSE, DEAR = range(4)
# Columns of the log.
L_NODE, L_ROOT, L_RING, L_MEMBERS, L_AT, L_LENGTH, L_COUNT = range(7)

SLICE = 50_000_000  # words and edges between two looks at the limits


@njit
def put(r, column):
    """Set a bit of the accumulator."""
    w = np.int64(column) >> 6
    r.sum[w] |= ONE << np.uint64(column & 63)
    g = w >> GROUP
    r.seen[g >> 6] |= ONE << np.uint64(g & 63)


@njit
def is_put(r, column):
    return (r.sum[np.int64(column) >> 6] >> np.uint64(column & 63)) & ONE != NONE


@njit
def put_row(r, c):
    """Add the row of a component to the accumulator."""
    length = np.int64(r.length[c])
    if length == 0:
        return
    at = r.at[c]
    first = np.int64(r.index[at])
    last = np.int64(r.index[at + length - 1])
    if last - first + 1 == length:
        for i in range(length):
            r.sum[first + i] |= r.words[at + i]
        for g in range(first >> GROUP, (last >> GROUP) + 1):
            r.seen[g >> 6] |= ONE << np.uint64(g & 63)
    else:
        for i in range(at, at + length):
            w = np.int64(r.index[i])
            r.sum[w] |= r.words[i]
            g = w >> GROUP
            r.seen[g >> 6] |= ONE << np.uint64(g & 63)


@njit
def write_row(r):
    """Write the accumulator at the end of the rows and clear it; returns length and bits."""
    top = r.info[TOP]
    n = 0
    count = 0
    for s in range(len(r.seen)):
        groups = r.seen[s]
        r.seen[s] = NONE
        while groups != NONE:
            base = ((s << 6) + lowest(groups)) << GROUP
            groups &= groups - ONE
            for w in range(base, base + (1 << GROUP)):
                word = r.sum[w]
                r.index[top + n] = w
                r.words[top + n] = word
                r.sum[w] = NONE
                count += popcount(word)
                n += np.int64(word != NONE)
    return n, count


@njit
def reaches(r, c, column):
    """Is the column's bit in the row of component c?"""
    w = np.int64(column) >> 6
    length = np.int64(r.length[c])
    if length == 0:
        return False
    at = r.at[c]
    # Places rise by at least one, so w stands no later than this.
    high = w - np.int64(r.index[at])
    if high < 0:
        return False
    low = np.int64(0)
    if high >= length:
        high = length - 1
    if r.index[at + high] < w:
        return False
    while r.index[at + high] != w:
        middle = (low + high) >> 1
        if r.index[at + middle] < w:
            low = middle + 1
        else:
            high = middle
        if low == high and r.index[at + high] != w:
            return False
    return (r.words[at + high] >> np.uint64(column & 63)) & ONE != NONE


@njit
def note(r, log, x):
    """Remember a node's entry as it was before this change."""
    if r.logged[x] == 0:
        n = r.info[LOGGED]
        log[n, L_NODE] = x
        log[n, L_ROOT] = r.root[x]
        log[n, L_RING] = r.ring[x]
        log[n, L_MEMBERS] = r.members[x]
        log[n, L_AT] = r.at[x]
        log[n, L_LENGTH] = r.length[x]
        log[n, L_COUNT] = r.count[x]
        r.info[LOGGED] = n + 1
        r.logged[x] = n + 1


@njit
def root_before(r, log, x):
    n = r.logged[x]
    return log[n - 1, L_ROOT] if n > 0 else np.int64(r.root[x])


@njit
def set_row(r, log, c, length, count):
    """The row just written becomes the row of component c."""
    note(r, log, c)
    r.info[LIVE] += length - r.length[c]
    r.info[SIZE] += np.int64(r.members[c]) * (count - r.count[c])
    r.at[c] = r.info[TOP]
    r.length[c] = length
    r.count[c] = count
    r.info[TOP] += length


@njit
def merge(r, log, c, d):
    """Component d becomes part of component c, whose row it gets."""
    note(r, log, c)
    x = d
    while True:
        note(r, log, x)
        r.root[x] = c
        x = r.ring[x]
        if x == d:
            break
    r.ring[c], r.ring[d] = r.ring[d], r.ring[c]
    r.info[LIVE] -= r.length[d]
    r.info[SIZE] += np.int64(r.members[d]) * (np.int64(r.count[c]) - r.count[d])
    r.members[c] += r.members[d]


@njit
def gather(out, r, c):
    """Put the row of component c together from the rows of its successors."""
    turns = r.members[c] > 1
    work = np.int64(0)
    x = np.int64(c)
    while True:
        at = out.at[x]
        work += out.used[x]
        for j in range(at, at + out.used[x]):
            y = out.data[j]
            d = r.root[y]
            if d == c:
                turns = True
            elif not is_put(r, r.column[y]):
                # Rows are put whole: what has its bit has its successors' bits, too.
                put(r, r.column[y])
                put_row(r, d)
                work += r.length[d]
        x = np.int64(r.ring[x])
        if x == c:
            break
    if turns:
        while True:
            put(r, r.column[x])
            x = np.int64(r.ring[x])
            if x == c:
                break
    r.info[WORK] += work


@njit
def give_column(r, ids, x):
    if r.column[x] < 0:
        r.column[x] = r.info[COLUMNS]
        r.named[r.info[COLUMNS]] = ids[x]
        r.info[COLUMNS] += 1


@njit
def is_full(r):
    """Might the next row not fit?"""
    r.info[NEED] = len(r.sum) + 1
    return r.info[TOP] + r.info[NEED] > len(r.words)


@njit(cache=True)
def open_entries(r, first, end):
    """New nodes are components of their own, without rows and columns."""
    for x in range(first, end):
        r.root[x] = x
        r.ring[x] = x
        r.members[x] = 1
        r.column[x] = -1


@njit(cache=True)
def undo(r, log):
    """Every entry as it was before this change."""
    for n in range(r.info[LOGGED]):
        x = log[n, L_NODE]
        r.root[x] = log[n, L_ROOT]
        r.ring[x] = log[n, L_RING]
        r.members[x] = log[n, L_MEMBERS]
        r.at[x] = log[n, L_AT]
        r.length[x] = log[n, L_LENGTH]
        r.count[x] = log[n, L_COUNT]
        r.logged[x] = 0
    r.info[LOGGED] = 0


@njit(cache=True)
def forget_log(r, log):
    for n in range(r.info[LOGGED]):
        r.logged[log[n, L_NODE]] = 0
    r.info[LOGGED] = 0


@njit(cache=True)
def move_rows(r, nodes, index, words):
    """Copy all rows into new arrays, without gaps."""
    top = 0
    for c in range(nodes):
        if r.root[c] == c:
            at = r.at[c]
            for i in range(r.length[c]):
                index[top + i] = r.index[at + i]
                words[top + i] = r.words[at + i]
            r.at[c] = top
            top += r.length[c]
    r.info[TOP] = top
