"""Rows taken away: out of the hash table, out of every index, and the gap closed.

The last row moves into the gap, so that rows stay contiguous and every row that a
relation has is a fact: joins need not look whether what they read is still there. In
an open-addressing table the entries after a gap move up as far as their homes allow
(Knuth, The Art of Computer Programming 6.4, algorithm R), so that searches end where
they should and no tombstones pile up.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.jit.prefetch import prefetch
from tidelog.local.kernels.hashing import AHEAD, EMPTY, find_slot, home, key_of, mix, pack
from tidelog.local.kernels.index import NO_CHUNK, find_key, index_key, size_class, spread
from tidelog.local.kernels.layout import (
    COUNTERS,
    R_ARITY,
    R_COUNT,
    R_FILLED,
    R_HKEYS,
    R_HROWS,
    R_HSIZE,
    R_MASK,
    R_MULT,
    R_N,
    R_ROWS,
    R_WIDTH,
    S_LEN,
    S_OFF,
    SLOT,
    X_ARENA,
    X_COLS,
    X_DONE,
    X_EPOCH,
    X_FREE,
    X_MARK,
    X_NKEY,
    X_REL,
    X_SIZE,
    X_SLOTS,
    X_STRIDE,
    X_USED,
    X_WIDTH,
)
from tidelog.local.kernels.pointers import i32, i64, u16, u32, u64

FEW = 4  # rows with one key that are looked for one by one in their vector


@njit
def between(low, x, high):
    """Does x lie in the cyclic interval (low, high]?"""
    if low <= high:
        return low < x <= high
    return low < x or x <= high


@njit
def close_gap(rels, r, slot):
    """Empty a slot of the relation's table."""
    keys = u64(rels[r * R_WIDTH + R_HKEYS])
    numbers = u32(rels[r * R_WIDTH + R_HROWS])
    size = rels[r * R_WIDTH + R_HSIZE]
    multiplier = np.uint64(rels[r * R_WIDTH + R_MULT])
    gap = slot
    while True:
        slot += 1
        if slot == size:
            slot = 0
        key = keys[slot]
        if key == EMPTY:
            break
        if not between(gap, home(key, multiplier, size), slot):
            keys[gap] = key
            numbers[gap] = numbers[slot]
            gap = slot
    keys[gap] = EMPTY
    numbers[gap] = np.uint32(0)


@njit
def close_index_gap(idxs, x, base):
    """Empty a slot of an index."""
    slots = u32(idxs[x * X_WIDTH + X_SLOTS])
    size = idxs[x * X_WIDTH + X_SIZE]
    gap = base // SLOT
    slot = gap
    while True:
        slot += 1
        if slot == size:
            slot = 0
        b = slot * SLOT
        if slots[b + S_LEN] == 0:
            break
        if not between(gap, spread(pack(slots[b + 1], slots[b]), size), slot):
            for j in range(SLOT):
                slots[gap * SLOT + j] = slots[b + j]
            gap = slot
    for j in range(SLOT):
        slots[gap * SLOT + j] = np.uint32(0)


@njit
def give_back(idxs, x, offset, c):
    """Put a chunk of size class c on its free list."""
    free = i64(idxs[x * X_WIDTH + X_FREE])
    u32(idxs[x * X_WIDTH + X_ARENA])[offset] = np.uint32(free[c] + 1)
    free[c] = offset


@njit
def unindex(idxs, x, rows, base, t):
    """Take the row at rows[base] out of an index that has it."""
    nkey = idxs[x * X_WIDTH + X_NKEY]
    stride = idxs[x * X_WIDTH + X_STRIDE]
    cols = i64(idxs[x * X_WIDTH + X_COLS])
    for k in range(nkey):
        t[k] = np.int64(rows[base + cols[k]])
    at = find_key(idxs, x, index_key(t, nkey))
    slots = u32(idxs[x * X_WIDTH + X_SLOTS])
    length = np.int64(slots[at + S_LEN])
    inline = stride == 1
    if length == 1:
        if not inline:
            give_back(idxs, x, np.int64(slots[at + S_OFF]), 0)
        idxs[x * X_WIDTH + X_USED] -= 1
        close_index_gap(idxs, x, at)
        return
    arena = u32(idxs[x * X_WIDTH + X_ARENA])
    offset = np.int64(slots[at + S_OFF])
    i = length - 1  # what goes often came last
    while i > 0:
        same = True
        for c in range(stride):
            if arena[offset + i * stride + c] != rows[base + cols[nkey + c]]:
                same = False
                break
        if same:
            break
        i -= 1
    length -= 1
    for c in range(stride):
        arena[offset + i * stride + c] = arena[offset + length * stride + c]
    slots[at + S_LEN] = np.uint32(length)
    if length == 1 and inline:
        slots[at + S_OFF] = arena[offset]
        give_back(idxs, x, offset, 1)
    elif length & (length - 1) == 0:  # half of the chunk is enough
        # A chunk that stays whole serves when the vector grows again; halves never would.
        c = size_class(length)
        free = i64(idxs[x * X_WIDTH + X_FREE])
        other = free[c]
        if other == NO_CHUNK:
            give_back(idxs, x, offset + length * stride, c)
        else:
            free[c] = np.int64(arena[other]) - 1
            for i in range(length * stride):
                arena[other + i] = arena[offset + i]
            slots[at + S_OFF] = np.uint32(other)
            give_back(idxs, x, offset, c + 1)


@njit
def rest_hash(words, at, cols, first, stride):
    """A hash of a vector's element, or of a row's columns, which are at cols[first:]."""
    h = np.uint64(0)
    for c in range(stride):
        place = at + c if first < 0 else at + cols[first + c]
        h = mix(h ^ np.uint64(words[place]))
    return h


@njit
def drop_run(idxs, x, rows, arity, at, going, start, stop):
    """Take rows with one key, going[start:stop], out of their vector, by one look at all of it."""
    nkey = idxs[x * X_WIDTH + X_NKEY]
    stride = idxs[x * X_WIDTH + X_STRIDE]
    cols = i64(idxs[x * X_WIDTH + X_COLS])
    slots = u32(idxs[x * X_WIDTH + X_SLOTS])
    arena = u32(idxs[x * X_WIDTH + X_ARENA])
    size = np.int64(1) << size_class(2 * (stop - start))
    table = np.zeros(size, dtype=np.int64)
    for g in range(start, stop):
        base = np.int64(going[g]) * arity
        place = np.int64(rest_hash(rows, base, cols, nkey, stride) & np.uint64(size - 1))
        while table[place] != 0:
            place = (place + 1) & (size - 1)
        table[place] = g + 1
    offset = np.int64(slots[at + S_OFF])
    length = np.int64(slots[at + S_LEN])
    kept = 0
    for i in range(length):
        element = offset + i * stride
        place = np.int64(rest_hash(arena, element, cols, -1, stride) & np.uint64(size - 1))
        goes = False
        while table[place] != 0 and not goes:
            base = np.int64(going[table[place] - 1]) * arity
            goes = True
            for c in range(stride):
                if arena[element + c] != rows[base + cols[nkey + c]]:
                    goes = False
                    break
            place = (place + 1) & (size - 1)
        if not goes:
            if kept != i:
                for c in range(stride):
                    arena[offset + kept * stride + c] = arena[element + c]
            kept += 1
    shrink(idxs, x, at, length, kept)


@njit
def shrink(idxs, x, at, length, kept):
    """A vector has fewer elements now: what its chunk has too much goes to the free lists."""
    slots = u32(idxs[x * X_WIDTH + X_SLOTS])
    stride = idxs[x * X_WIDTH + X_STRIDE]
    offset = np.int64(slots[at + S_OFF])
    inline = stride == 1
    least = 1 if inline else 0  # the class of the smallest chunk
    wanted = max(least, size_class(max(kept, 1)))
    c = size_class(length)
    while c > wanted:
        c -= 1
        give_back(idxs, x, offset + (np.int64(1) << c) * stride, c)
    slots[at + S_LEN] = np.uint32(kept)
    if kept == 0:
        give_back(idxs, x, offset, wanted)
        idxs[x * X_WIDTH + X_USED] -= 1
        close_index_gap(idxs, x, at)
    elif kept == 1 and inline:
        value = u32(idxs[x * X_WIDTH + X_ARENA])[offset]
        give_back(idxs, x, offset, wanted)
        slots[at + S_OFF] = value


@njit(cache=True)
def unindex_rows(relations, indexes, x, going, scratch):
    """Take rows out of an index; those with the same key must follow one another."""
    rels = i64(relations)
    idxs = i64(indexes)
    t = i64(scratch)
    r = idxs[x * X_WIDTH + X_REL]
    arity = rels[r * R_WIDTH + R_ARITY]
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    nkey = idxs[x * X_WIDTH + X_NKEY]
    cols = i64(idxs[x * X_WIDTH + X_COLS])
    start = 0
    while start < len(going):
        base = np.int64(going[start]) * arity
        stop = start + 1
        while stop < len(going):
            other = np.int64(going[stop]) * arity
            same = True
            for k in range(nkey):
                if rows[other + cols[k]] != rows[base + cols[k]]:
                    same = False
                    break
            if not same:
                break
            stop += 1
        if stop - start > FEW:
            for k in range(nkey):
                t[k] = np.int64(rows[base + cols[k]])
            at = find_key(idxs, x, index_key(t, nkey))
            drop_run(idxs, x, rows, arity, at, going, start, stop)
        else:
            for g in range(start, stop):
                unindex(idxs, x, rows, np.int64(going[g]) * arity, t)
        start = stop


@njit
def ask_for(rels, r, rows, row, arity, t):
    """Prefetch the entry of a row in the relation's table."""
    for c in range(arity):
        t[c] = np.int64(rows[row * arity + c])
    multiplier = np.uint64(rels[r * R_WIDTH + R_MULT])
    slot = home(key_of(t, arity), multiplier, rels[r * R_WIDTH + R_HSIZE])
    prefetch(rels[r * R_WIDTH + R_HKEYS] + 8 * slot)
    prefetch(rels[r * R_WIDTH + R_HROWS] + 4 * slot)


@njit(cache=True)
def remove_rows(relations, indexes, r, going, which, scratch):
    """Take rows away, given in falling order; `which` are the relation's indexes, which have been
    complete and have lost the rows already. All rows must have their numbers."""
    rels = i64(relations)
    idxs = i64(indexes)
    t = i64(scratch)
    arity = rels[r * R_WIDTH + R_ARITY]
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    mask = u16(rels[r * R_WIDTH + R_MASK])
    n = rels[r * R_WIDTH + R_N]
    for g in range(len(going)):
        row = np.int64(going[g])
        base = row * arity
        if g + AHEAD < len(going):
            ask_for(rels, r, rows, np.int64(going[g + AHEAD]), arity, t)
            ask_for(rels, r, rows, n - 1 - AHEAD, arity, t)  # that may move then
        for c in range(arity):
            t[c] = np.int64(rows[base + c])
        close_gap(rels, r, find_slot(rels, r, key_of(t, arity), t))
        n -= 1
        if row != n:
            for c in range(arity):
                rows[base + c] = rows[n * arity + c]
                t[c] = np.int64(rows[base + c])
            mask[row] = mask[n]
            for c in range(COUNTERS):
                counts = rels[r * R_WIDTH + R_COUNT + c]
                if counts != 0:
                    i32(counts)[row] = i32(counts)[n]
            slot = find_slot(rels, r, key_of(t, arity), t)
            u32(rels[r * R_WIDTH + R_HROWS])[slot] = np.uint32(row + 1)
    for c in range(COUNTERS):
        counts = rels[r * R_WIDTH + R_COUNT + c]
        if counts != 0:
            for row in range(n, n + len(going)):
                i32(counts)[row] = np.int32(0)
    rels[r * R_WIDTH + R_N] = n
    rels[r * R_WIDTH + R_FILLED] = n
    for k in range(len(which)):
        idxs[which[k] * X_WIDTH + X_DONE] = n
        idxs[which[k] * X_WIDTH + X_MARK] = n
        idxs[which[k] * X_WIDTH + X_EPOCH] += 1
