"""Indexes: from the values of some columns to the rows that have them.

Per key, one vector of the remaining columns, contiguous, so that a join streams it. A
vector's capacity is the power of two at or above its length; outgrown ones go to free
lists. A single value of one column lives in the slot itself. Rows are appended in
order, and a slot remembers its length at the start of the epoch: the vector before
that mark is exactly what was there before the newest rows, which is what seminaive
evaluation reads as 'old'.

Keys of three and more columns are hashed; their vectors hold all columns, and the
join compares them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.jit.prefetch import prefetch
from tidelog.local.kernels.hashing import AHEAD, key_of, mix, pack
from tidelog.local.kernels.layout import (
    R_ARITY,
    R_ROWS,
    R_WIDTH,
    S_EPOCH,
    S_LEN,
    S_OFF,
    S_OLD,
    SLOT,
    X_ARENA,
    X_CAP,
    X_COLS,
    X_DONE,
    X_EPOCH,
    X_FREE,
    X_LIMIT,
    X_NKEY,
    X_REL,
    X_SIZE,
    X_SLOTS,
    X_STRIDE,
    X_TOP,
    X_USED,
    X_WIDTH,
)
from tidelog.local.kernels.pointers import i64, u32

INDEXED = 0
GROW_SLOTS = 1
GROW_ARENA = 2
NO_CHUNK = np.int64(-1)


@njit
def index_key(t, nkey):
    return key_of(t, nkey)


@njit
def spread(key, size):
    return np.int64(((mix(key) >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))


@njit
def find_key(idxs, x, key):
    """The slot of a key as a word offset, or of the empty slot where it would go."""
    slots = u32(idxs[x * X_WIDTH + X_SLOTS])
    size = idxs[x * X_WIDTH + X_SIZE]
    slot = spread(key, size)
    low = np.uint32(key & np.uint64(0xFFFFFFFF))
    high = np.uint32(key >> np.uint64(32))
    while True:
        base = slot * SLOT
        if slots[base] == low and slots[base + 1] == high:
            return base
        if slots[base + S_LEN] == 0:
            return base
        slot += 1
        if slot == size:
            slot = 0


@njit
def size_class(length):
    c = 0
    while (1 << c) < length:
        c += 1
    return c


@njit(cache=True)
def append_rows(relations, indexes, x, upto, scratch):
    """Index the relation's rows from X_DONE to `upto`; stops where something must grow."""
    rels = i64(relations)
    idxs = i64(indexes)
    t = i64(scratch)
    r = idxs[x * X_WIDTH + X_REL]
    arity = rels[r * R_WIDTH + R_ARITY]
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    slots = u32(idxs[x * X_WIDTH + X_SLOTS])
    arena = u32(idxs[x * X_WIDTH + X_ARENA])
    free = i64(idxs[x * X_WIDTH + X_FREE])
    cols = i64(idxs[x * X_WIDTH + X_COLS])
    nkey = idxs[x * X_WIDTH + X_NKEY]
    stride = idxs[x * X_WIDTH + X_STRIDE]
    epoch = np.uint32(idxs[x * X_WIDTH + X_EPOCH])
    inline = stride == 1
    for row in range(idxs[x * X_WIDTH + X_DONE], upto):
        base = row * arity
        if row + AHEAD < upto:
            for k in range(nkey):
                t[k] = np.int64(rows[base + AHEAD * arity + cols[k]])
            ahead = spread(index_key(t, nkey), idxs[x * X_WIDTH + X_SIZE])
            prefetch(idxs[x * X_WIDTH + X_SLOTS] + 4 * SLOT * ahead)
        for k in range(nkey):
            t[k] = np.int64(rows[base + cols[k]])
        key = index_key(t, nkey)
        at = find_key(idxs, x, key)
        length = np.int64(slots[at + S_LEN])
        if length == 0 and idxs[x * X_WIDTH + X_USED] >= idxs[x * X_WIDTH + X_LIMIT]:
            idxs[x * X_WIDTH + X_DONE] = row
            return GROW_SLOTS
        if inline and length == 0:
            slots[at + S_OFF] = rows[base + cols[nkey]]
        else:
            if length & (length - 1) == 0:  # full: capacities are powers of two
                c = size_class(length + 1)
                size = (np.int64(1) << c) * stride
                offset = free[c]
                if offset != NO_CHUNK:
                    free[c] = np.int64(arena[offset]) - 1
                else:
                    offset = idxs[x * X_WIDTH + X_TOP]
                    if offset + size > idxs[x * X_WIDTH + X_CAP]:
                        idxs[x * X_WIDTH + X_DONE] = row
                        return GROW_ARENA
                    idxs[x * X_WIDTH + X_TOP] = offset + size
                if length == 1 and inline:
                    arena[offset] = slots[at + S_OFF]
                elif length > 0:
                    old = np.int64(slots[at + S_OFF])
                    for i in range(length * stride):
                        arena[offset + i] = arena[old + i]
                    was = size_class(length)
                    arena[old] = np.uint32(free[was] + 1)
                    free[was] = old
                slots[at + S_OFF] = np.uint32(offset)
            offset = np.int64(slots[at + S_OFF]) + length * stride
            for i in range(stride):
                arena[offset + i] = rows[base + cols[nkey + i]]
        if length == 0:
            slots[at] = np.uint32(key & np.uint64(0xFFFFFFFF))
            slots[at + 1] = np.uint32(key >> np.uint64(32))
            idxs[x * X_WIDTH + X_USED] += 1
        if slots[at + S_EPOCH] != epoch:
            slots[at + S_OLD] = np.uint32(length)
            slots[at + S_EPOCH] = epoch
        slots[at + S_LEN] = np.uint32(length + 1)
    idxs[x * X_WIDTH + X_DONE] = upto
    return INDEXED


@njit(cache=True)
def rehash_slots(old, slots):
    """Move slots into a larger, zeroed array."""
    size = len(slots) // SLOT
    for i in range(len(old) // SLOT):
        b = i * SLOT
        if old[b + S_LEN] != 0:
            slot = spread(pack(old[b + 1], old[b]), size)
            while slots[slot * SLOT + S_LEN] != 0:
                slot += 1
                if slot == size:
                    slot = 0
            for j in range(SLOT):
                slots[slot * SLOT + j] = old[b + j]
