"""Bit rows: which nodes a component reaches, a bit for each, in words of 64.

A row is a run of words that are not 0, with their `places`: a node that reaches few
others has a short row, however many nodes there are, and one that reaches many has little
more than a bit for each. Rows are never changed: a new one is written at the end, so that the
old one is still there to compare with and to go back to.

A component is named by one of its nodes, its root; `ring` leads from node to node in it. What
a change does to a node's entry is noted in the log, once, as it was before.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.word_bits import lowest, popcount

ONE = np.uint64(1)
NONE = np.uint64(0)
GROUP = 4  # 2**GROUP words of the accumulator share a bit of `seen`

# Places in `info`. How large arrays are, and how much work is done between two looks at limits:
CAPACITY, WORDS, SEEN, SLICE = range(4)
# What there is: the end of the rows, words in use, pairs, entries of the log.
TOP, LIVE, SIZE, LOGGED = range(4, 8)
# Where a kernel is that stopped: its next item, the work since it was called, the room it needs,
# components that wait, the pieces of one that fell apart, the end of the losses.
NEXT, WORK, NEED, HEAP, PIECE, PIECES, WHOLE, LOSSES = range(8, 16)
INFO = 16

# What a kernel says when it stops.
DONE, ROOM, PAUSE, DEAR = range(4)

# Columns of the log.
L_NODE, L_ROOT, L_RING, L_MEMBERS, L_AT, L_LENGTH, L_COUNT = range(7)
LOG = 7


@njit
def put(r, y):
    """Set the bit of node y in the accumulator."""
    w = np.int64(y) >> 6
    r.sum[w] |= ONE << np.uint64(y & 63)
    g = w >> GROUP
    r.seen[g >> 6] |= ONE << np.uint64(g & 63)


@njit
def is_put(r, y):
    return (r.sum[np.int64(y) >> 6] >> np.uint64(y & 63)) & ONE != NONE


@njit
def put_row(r, c):
    """Add the row of component c to the accumulator."""
    length = np.int64(r.length[c])
    if length == 0:
        return
    at = r.at[c]
    first = np.int64(r.places[at])
    last = np.int64(r.places[at + length - 1])
    if last - first + 1 == length:
        for i in range(length):
            r.sum[first + i] |= r.words[at + i]
        for g in range(first >> GROUP, (last >> GROUP) + 1):
            r.seen[g >> 6] |= ONE << np.uint64(g & 63)
    else:
        for i in range(at, at + length):
            w = np.int64(r.places[i])
            r.sum[w] |= r.words[i]
            g = w >> GROUP
            r.seen[g >> 6] |= ONE << np.uint64(g & 63)


@njit
def write_row(r):
    """Write the accumulator at the end of the rows and clear it; returns length and bits."""
    top = r.info[TOP]
    n = 0
    count = 0
    for s in range(r.info[SEEN]):
        groups = r.seen[s]
        r.seen[s] = NONE
        while groups != NONE:
            base = ((s << 6) + lowest(groups)) << GROUP
            groups &= groups - ONE
            for w in range(base, base + (1 << GROUP)):
                word = r.sum[w]
                r.sum[w] = NONE
                r.places[top + n] = w
                r.words[top + n] = word
                count += popcount(word)
                n += np.int64(word != NONE)
    return n, count


@njit
def reaches(r, c, y):
    """Is the bit of node y in the row of component c?"""
    length = np.int64(r.length[c])
    if length == 0:
        return False
    w = np.int64(y) >> 6
    at = r.at[c]
    # Places rise by at least one, so w stands no later than this.
    high = min(w - np.int64(r.places[at]), length - 1)
    if high < 0 or r.places[at + high] < w:
        return False
    low = np.int64(0)
    while r.places[at + high] != w:
        if low >= high:
            return False
        middle = (low + high) >> 1
        if r.places[at + middle] < w:
            low = middle + 1
        else:
            high = middle
    return (r.words[at + high] >> np.uint64(y & 63)) & ONE != NONE


@njit
def note(r, x):
    """Remember a node's entry as it was before this change."""
    if r.logged[x] == 0:
        n = r.info[LOGGED]
        e = n * LOG
        r.log[e + L_NODE] = x
        r.log[e + L_ROOT] = r.root[x]
        r.log[e + L_RING] = r.ring[x]
        r.log[e + L_MEMBERS] = r.members[x]
        r.log[e + L_AT] = r.at[x]
        r.log[e + L_LENGTH] = r.length[x]
        r.log[e + L_COUNT] = r.bits[x]
        r.info[LOGGED] = n + 1
        r.logged[x] = n + 1


@njit
def root_before(r, x):
    n = np.int64(r.logged[x])
    return r.log[(n - 1) * LOG + L_ROOT] if n > 0 else np.int64(r.root[x])


@njit
def set_row(r, c, length, count):
    """The row just written becomes the row of component c."""
    note(r, c)
    r.info[LIVE] += length - r.length[c]
    r.info[SIZE] += np.int64(r.members[c]) * (count - r.bits[c])
    r.at[c] = r.info[TOP]
    r.length[c] = length
    r.bits[c] = count
    r.info[TOP] += length


@njit
def merge(r, c, d):
    """Component d becomes part of component c, whose row it gets."""
    note(r, c)
    x = np.int64(d)
    while True:
        note(r, x)
        r.root[x] = c
        x = np.int64(r.ring[x])
        if x == d:
            break
    following = r.ring[c]
    r.ring[c] = r.ring[d]
    r.ring[d] = following
    r.info[LIVE] -= r.length[d]
    r.info[SIZE] += np.int64(r.members[d]) * (np.int64(r.bits[c]) - r.bits[d])
    r.members[c] += r.members[d]


@njit
def gather(out, r, c):
    """Put the row of component c together from the rows of its successors."""
    turns = r.members[c] > 1
    work = np.int64(0)
    x = np.int64(c)
    while True:
        at = out.at[x]
        used = np.int64(out.used[x])
        work += used
        # The last ones first: where numbers were arranged, they reach most.
        for j in range(at + used - 1, at - 1, -1):
            y = out.data[j]
            if is_put(r, y):
                continue  # rows are put whole: all that it reaches is there, too
            d = r.root[y]
            if d == c:
                turns = True
            else:
                put(r, y)
                put_row(r, d)
                work += r.length[d]
        x = np.int64(r.ring[x])
        if x == c:
            break
    if turns:
        while True:
            put(r, x)
            x = np.int64(r.ring[x])
            if x == c:
                break
    r.info[WORK] += work


@njit
def is_full(r):
    """Might the next row not fit?"""
    r.info[NEED] = r.info[WORDS] + 1
    return r.info[TOP] + r.info[NEED] > r.info[CAPACITY]


@njit(cache=True)
def undo(rows):
    """Every entry as it was before this change."""
    r = bare(rows)
    for n in range(r.info[LOGGED]):
        e = n * LOG
        x = r.log[e + L_NODE]
        r.root[x] = r.log[e + L_ROOT]
        r.ring[x] = r.log[e + L_RING]
        r.members[x] = r.log[e + L_MEMBERS]
        r.at[x] = r.log[e + L_AT]
        r.length[x] = r.log[e + L_LENGTH]
        r.bits[x] = r.log[e + L_COUNT]
        r.logged[x] = 0


@njit(cache=True)
def forget_log(rows):
    r = bare(rows)
    for n in range(r.info[LOGGED]):
        r.logged[r.log[n * LOG + L_NODE]] = 0
    r.info[LOGGED] = 0


@njit(cache=True)
def move_rows(rows, nodes, places, words):
    """Copy all rows into new arrays, without gaps."""
    r = bare(rows)
    top = 0
    for c in range(nodes):
        if r.root[c] == c:
            at = r.at[c]
            for i in range(r.length[c]):
                places[top + i] = r.places[at + i]
                words[top + i] = r.words[at + i]
            r.at[c] = top
            top += r.length[c]
    r.info[TOP] = top
