"""Open-addressing tables: rows of relations, words of the dictionary.

A table of a relation with at most two columns holds the packed row itself, so that
membership needs no second load; wider rows are found by a 64-bit hash and compared.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.jit.prefetch import prefetch
from tidelog.local.kernels.layout import (
    R_ARITY,
    R_CAP,
    R_FILLED,
    R_FRESH,
    R_HKEYS,
    R_HROWS,
    R_HSIZE,
    R_MASK,
    R_MULT,
    R_N,
    R_ODD,
    R_ROWS,
    R_WIDTH,
)
from tidelog.local.kernels.pointers import i64, u8, u16, u32, u64

EMPTY = np.uint64(0)  # no row packs to it: no value has the id 0
_C1 = np.uint64(0x9E3779B97F4A7C15)
_C2 = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)
AHEAD = 16  # rows between asking for a cache line and using it
BLOCK = 256  # slots of a table that move at a time when it grows


@njit
def mix(key):
    h = key * _C1
    h ^= h >> _32
    h *= _C2
    return h ^ (h >> _32)


@njit
def home(key, multiplier, size):
    """Where a key's search begins.

    One multiplication spreads packed pairs of ids better than a full mix and costs less.
    A pattern that defeats it shows when the table grows, and gets another multiplier.
    """
    return np.int64((((key * multiplier) >> _32) * np.uint64(size)) >> _32)


@njit
def pack(a, b):
    return (np.uint64(a) << _32) | np.uint64(b)


@njit
def key_of(t, arity):
    """The table key of the row t[0:arity]."""
    if arity == 2:
        return pack(t[0], t[1])
    if arity == 1:
        return np.uint64(t[0])
    h = np.uint64(arity)
    for i in range(arity):
        h = mix(h ^ np.uint64(t[i])) + _C1
    if h == EMPTY:
        h = np.uint64(1)
    return h


@njit
def find_slot(rels, r, key, t):
    """The slot of row t, or the empty slot where it would go."""
    keys = u64(rels[r * R_WIDTH + R_HKEYS])
    size = rels[r * R_WIDTH + R_HSIZE]
    arity = rels[r * R_WIDTH + R_ARITY]
    slot = home(key, np.uint64(rels[r * R_WIDTH + R_MULT]), size)
    while True:
        k = keys[slot]
        if k == EMPTY:
            return slot
        if k == key:
            if arity <= 2:
                return slot
            rows = u32(rels[r * R_WIDTH + R_ROWS])
            base = (np.int64(u32(rels[r * R_WIDTH + R_HROWS])[slot]) - 1) * arity
            same = True
            for i in range(arity):
                if np.int64(rows[base + i]) != t[i]:
                    same = False
                    break
            if same:
                return slot
        slot += 1
        if slot == size:
            slot = 0


@njit
def find_row(rels, r, t):
    """The number of row t[0:arity], or -1; -1 too if the table has no number for it yet."""
    if rels[r * R_WIDTH + R_N] == 0:
        return np.int64(-1)
    slot = find_slot(rels, r, key_of(t, rels[r * R_WIDTH + R_ARITY]), t)
    if u64(rels[r * R_WIDTH + R_HKEYS])[slot] == EMPTY:
        return np.int64(-1)
    return np.int64(u32(rels[r * R_WIDTH + R_HROWS])[slot]) - 1


@njit(cache=True)
def locate(relations, r, scratch):
    """The number of the row in scratch, or -1; all rows must have their numbers."""
    return find_row(i64(relations), r, i64(scratch))


@njit
def fresh_bit(address, key):
    return np.int64((key * _C2) >> u64(address)[0])


@njit
def note_fresh(address, key):
    """Remember a row with this key in a bitmap; see `bitmap.py`."""
    bit = fresh_bit(address, key)
    u8(address + 8)[bit >> 3] |= np.uint8(1 << (bit & 7))


@njit
def maybe_fresh(address, key):
    """False if certainly no row with this key was noted."""
    bit = fresh_bit(address, key)
    return u8(address + 8)[bit >> 3] & np.uint8(1 << (bit & 7)) != 0


@njit
def append_row(rels, r, slot, key, t, bits):
    """Add row t at an empty slot; there must be room. Returns its number."""
    arity = rels[r * R_WIDTH + R_ARITY]
    n = rels[r * R_WIDTH + R_N]
    u64(rels[r * R_WIDTH + R_HKEYS])[slot] = key
    if arity > 2:
        u32(rels[r * R_WIDTH + R_HROWS])[slot] = np.uint32(n + 1)
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    for i in range(arity):
        rows[n * arity + i] = np.uint32(t[i])
    u16(rels[r * R_WIDTH + R_MASK])[n] = np.uint16(bits)
    rels[r * R_WIDTH + R_N] = n + 1
    if rels[r * R_WIDTH + R_FRESH] != 0:
        note_fresh(rels[r * R_WIDTH + R_FRESH], key)
    if rels[r * R_WIDTH + R_ODD] != 0:
        note_fresh(rels[r * R_WIDTH + R_ODD], key)
    return n


@njit(cache=True)
def note_odd(relations, r, data):
    """Remember rows, given by their values, as odd."""
    rels = i64(relations)
    odd = rels[r * R_WIDTH + R_ODD]
    arity = data.shape[1]
    for i in range(data.shape[0]):
        note_fresh(odd, key_of(data[i], arity))


@njit(cache=True)
def rehash(old_keys, old_rows, keys, rows, multiplier):
    """Move every slot of a table into a larger one, which is empty.

    Without `old_rows` no row has its number yet: `rows` is left alone, and its pages untouched.
    Returns how many slots were passed over: many, where the multiplier fits badly.
    """
    size = len(keys)
    numbered = len(old_rows) > 0
    passed = 0
    taken = np.empty(BLOCK, dtype=np.int64)
    for start in range(0, len(old_keys), BLOCK):
        # Taken slots are listed first, without a branch that nobody could foretell.
        count = 0
        for i in range(start, min(start + BLOCK, len(old_keys))):
            taken[count] = i
            count += np.int64(old_keys[i] != EMPTY)
        for k in range(count):
            key = old_keys[taken[k]]
            slot = home(key, multiplier, size)
            while keys[slot] != EMPTY:
                passed += 1
                slot += 1
                if slot == size:
                    slot = 0
            keys[slot] = key
            if numbered:
                rows[slot] = old_rows[taken[k]]
    return passed


@njit(cache=True)
def fill_rows(relations, r, scratch):
    """Write the numbers of rows that were added without (writing them at once would cost a
    second cache miss for every new fact, and many relations never need them)."""
    rels = i64(relations)
    t = i64(scratch)
    arity = rels[r * R_WIDTH + R_ARITY]
    n = rels[r * R_WIDTH + R_N]
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    numbers = u32(rels[r * R_WIDTH + R_HROWS])
    size = rels[r * R_WIDTH + R_HSIZE]
    multiplier = np.uint64(rels[r * R_WIDTH + R_MULT])
    for row in range(rels[r * R_WIDTH + R_FILLED], n):
        if row + AHEAD < n:
            for c in range(arity):
                t[c] = np.int64(rows[(row + AHEAD) * arity + c])
            slot = home(key_of(t, arity), multiplier, size)
            prefetch(rels[r * R_WIDTH + R_HKEYS] + 8 * slot)
            prefetch(rels[r * R_WIDTH + R_HROWS] + 4 * slot)
        for c in range(arity):
            t[c] = np.int64(rows[row * arity + c])
        numbers[find_slot(rels, r, key_of(t, arity), t)] = np.uint32(row + 1)
    rels[r * R_WIDTH + R_FILLED] = n


@njit(cache=True)
def load_rows(relations, r, data, first, scratch, bits, found):
    """Add data[first:], skipping rows that exist; found[i] is the number of row i.

    Returns how far it came: less than len(data) where the relation must grow. All rows
    must have their numbers in the table, and the new ones do.
    """
    rels = i64(relations)
    t = i64(scratch)
    arity = rels[r * R_WIDTH + R_ARITY]
    room = rels[r * R_WIDTH + R_CAP]
    size = rels[r * R_WIDTH + R_HSIZE]
    multiplier = np.uint64(rels[r * R_WIDTH + R_MULT])
    for i in range(first, data.shape[0]):
        if rels[r * R_WIDTH + R_N] >= room:
            return i
        if i + AHEAD < data.shape[0]:
            for c in range(arity):
                t[c] = np.int64(data[i + AHEAD, c])
            slot = home(key_of(t, arity), multiplier, size)
            prefetch(rels[r * R_WIDTH + R_HKEYS] + 8 * slot)
            prefetch(rels[r * R_WIDTH + R_HROWS] + 4 * slot)
        for c in range(arity):
            t[c] = np.int64(data[i, c])
        key = key_of(t, arity)
        slot = find_slot(rels, r, key, t)
        if u64(rels[r * R_WIDTH + R_HKEYS])[slot] == EMPTY:
            found[i] = append_row(rels, r, slot, key, t, bits)
            u32(rels[r * R_WIDTH + R_HROWS])[slot] = np.uint32(found[i] + 1)
            rels[r * R_WIDTH + R_FILLED] = found[i] + 1
        else:
            found[i] = np.int64(u32(rels[r * R_WIDTH + R_HROWS])[slot]) - 1
    return data.shape[0]


@njit(cache=True)
def enter_pairs(relations, r, data, first, bits, known, count):
    """Add data[first:], rows of two columns, where they are absent; known[count:] are the numbers
    of those that were there before.

    Returns how far it came, as `load_rows` does, and how many are known. All rows must have
    their numbers in the table; new ones do not get theirs.
    """
    rels = i64(relations)
    of = r * R_WIDTH
    keys, rows, mask = u64(rels[of + R_HKEYS]), u64(rels[of + R_ROWS]), u16(rels[of + R_MASK])
    numbers, filled = u32(rels[of + R_HROWS]), rels[of + R_FILLED]
    n, room, size = rels[of + R_N], rels[of + R_CAP], rels[of + R_HSIZE]
    multiplier = np.uint64(rels[of + R_MULT])
    fresh, odd = rels[of + R_FRESH], rels[of + R_ODD]
    end = data.shape[0]
    pairs = data.ravel()
    for i in range(first, end):
        if n >= room:
            rels[of + R_N] = n
            return i, count
        if i + AHEAD < end:
            j = 2 * (i + AHEAD)
            prefetch(rels[of + R_HKEYS] + 8 * home(pack(pairs[j], pairs[j + 1]), multiplier, size))
        key = pack(pairs[2 * i], pairs[2 * i + 1])
        slot = home(key, multiplier, size)
        while keys[slot] != EMPTY and keys[slot] != key:
            slot += 1
            if slot == size:
                slot = 0
        if keys[slot] == EMPTY:
            keys[slot] = key
            rows[n] = pack(pairs[2 * i + 1], pairs[2 * i])
            mask[n] = np.uint16(bits)
            n += 1
            if fresh != 0:
                note_fresh(fresh, key)
            if odd != 0:
                note_fresh(odd, key)
        else:
            row = np.int64(numbers[slot]) - 1
            known[count] = np.uint32(row)
            count += np.int64(0 <= row < filled)
    rels[of + R_N] = n
    return end, count
