"""How heads join the result: at once, or through a buffer while their cache lines come."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.jit.prefetch import prefetch
from tidelog.local.kernels.hashing import (
    EMPTY,
    append_row,
    find_slot,
    home,
    key_of,
    maybe_fresh,
    note_fresh,
)
from tidelog.local.kernels.layout import (
    A_REG,
    BUFFER,
    DONE,
    E_COUNTER,
    E_GUARD,
    E_GUARD_NEW,
    E_GUARD_PLAIN,
    E_OUTBIT,
    E_SIGN,
    GROW_OUT,
    GROW_ROWS,
    R_ARITY,
    R_CAP,
    R_FAST,
    R_FRESH,
    R_HKEYS,
    R_HROWS,
    R_HSIZE,
    R_MASK,
    R_MULT,
    R_N,
    R_ODD,
    R_OUT,
    R_OUTCAP,
    R_OUTN,
    R_ROWS,
    R_WIDTH,
    T_BUFFERED,
    T_WHAT,
)
from tidelog.local.kernels.pointers import i32, u8, u16, u32, u64

DUPLICATE = 0
ADDED = 1
NO_ROOM = -1
NO_OUT_ROOM = -2

FAR = 1 << 14  # slots of a table that no longer fits into the nearest cache


@njit
def mark(rels, env, r, row):
    """Put an existing row into the result."""
    mask = u16(rels[r * R_WIDTH + R_MASK])
    bit = np.uint16(env[E_OUTBIT])
    if mask[row] & bit:
        return DUPLICATE
    n = rels[r * R_WIDTH + R_OUTN]
    if n >= rels[r * R_WIDTH + R_OUTCAP]:
        return NO_OUT_ROOM
    mask[row] |= bit
    u32(rels[r * R_WIDTH + R_OUT])[n] = np.uint32(row)
    rels[r * R_WIDTH + R_OUTN] = n + 1
    return ADDED


@njit
def emit(rels, env, r, t):
    """Put fact t into the result if the guard lets it."""
    key = key_of(t, rels[r * R_WIDTH + R_ARITY])
    if rels[r * R_WIDTH + R_HSIZE] == 0:
        return NO_ROOM if env[E_GUARD_NEW] != 0 else DUPLICATE
    slot = find_slot(rels, r, key, t)
    counter = env[E_COUNTER]
    if u64(rels[r * R_WIDTH + R_HKEYS])[slot] == EMPTY:
        if env[E_GUARD_NEW] == 0:
            return DUPLICATE
        if rels[r * R_WIDTH + R_N] >= rels[r * R_WIDTH + R_CAP]:
            return NO_ROOM
        row = append_row(rels, r, slot, key, t, env[E_OUTBIT])
        if counter != 0:
            u32(rels[r * R_WIDTH + R_HROWS])[slot] = np.uint32(row + 1)
            i32(rels[r * R_WIDTH + counter])[row] = np.int32(env[E_SIGN])
        return ADDED
    if rels[r * R_WIDTH + R_FAST] != 0:
        return DUPLICATE
    odd = rels[r * R_WIDTH + R_ODD]
    if odd != 0 and counter == 0 and env[E_GUARD_PLAIN] == 0 and not maybe_fresh(odd, key):
        return DUPLICATE
    row = np.int64(u32(rels[r * R_WIDTH + R_HROWS])[slot]) - 1
    if row < 0:  # fresh, so in the result already
        return DUPLICATE
    done = DUPLICATE
    if u8(env[E_GUARD])[u16(rels[r * R_WIDTH + R_MASK])[row]] != 0:
        done = mark(rels, env, r, row)
    # What found no room comes again, and must count once.
    if counter != 0 and done >= 0:
        i32(rels[r * R_WIDTH + counter])[row] += np.int32(env[E_SIGN])
    return done


@njit
def drain(rels, r, outbit, buffer, count):
    """Add the heads that wait in the buffer; there must be room for them.

    Only for relations where a row that exists is never new. Their places in the table
    were asked for when they were put there, so that cache misses overlap.
    """
    keys = u64(rels[r * R_WIDTH + R_HKEYS])
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    mask = u16(rels[r * R_WIDTH + R_MASK])
    size = rels[r * R_WIDTH + R_HSIZE]
    multiplier = np.uint64(rels[r * R_WIDTH + R_MULT])
    n = rels[r * R_WIDTH + R_N]
    arity = rels[r * R_WIDTH + R_ARITY]
    odd = rels[r * R_WIDTH + R_ODD]
    if arity > 2:
        numbers = u32(rels[r * R_WIDTH + R_HROWS])
        if size > FAR:  # ask for the rows that will be compared
            for i in range(count):
                key = buffer[i * (arity + 1)]
                slot = home(key, multiplier, size)
                if keys[slot] == key:
                    row = np.int64(numbers[slot]) - 1
                    prefetch(rels[r * R_WIDTH + R_ROWS] + 4 * arity * row)
        for i in range(count):
            at = i * (arity + 1)
            key = buffer[at]
            slot = home(key, multiplier, size)
            while True:
                k = keys[slot]
                if k == EMPTY:
                    keys[slot] = key
                    numbers[slot] = np.uint32(n + 1)
                    for c in range(arity):
                        rows[n * arity + c] = np.uint32(buffer[at + 1 + c])
                    mask[n] = outbit
                    n += 1
                    if odd != 0:
                        note_fresh(odd, key)
                    break
                if k == key:
                    base = (np.int64(numbers[slot]) - 1) * arity
                    same = True
                    for c in range(arity):
                        if rows[base + c] != np.uint32(buffer[at + 1 + c]):
                            same = False
                            break
                    if same:
                        break
                slot += 1
                if slot == size:
                    slot = 0
        rels[r * R_WIDTH + R_N] = n
        return
    fresh = rels[r * R_WIDTH + R_FRESH]
    # Most heads that exist are found at once: they are sifted out without a branch that
    # nobody could foretell, and only the others are searched for.
    left = 0
    for i in range(count):
        key = buffer[i]
        slot = home(key, multiplier, size)
        buffer[left] = key
        left += np.int64(keys[slot] != key)
    for i in range(left):
        key = buffer[i]
        slot = home(key, multiplier, size)
        while True:
            k = keys[slot]
            if k == key:
                break
            if k == EMPTY:
                keys[slot] = key
                if arity == 2:
                    rows[2 * n] = np.uint32(key >> np.uint64(32))
                    rows[2 * n + 1] = np.uint32(key & np.uint64(0xFFFFFFFF))
                elif arity == 1:
                    rows[n] = np.uint32(key)
                mask[n] = outbit
                n += 1
                if fresh != 0:
                    note_fresh(fresh, key)
                if odd != 0:
                    note_fresh(odd, key)
                break
            slot += 1
            if slot == size:
                slot = 0
    rels[r * R_WIDTH + R_N] = n


@njit
def deliver(rels, env, args, b, h, reg, t, buffer, state):
    """Make the head and put it into the result, or into the buffer; DONE, or what must grow."""
    arity = rels[h * R_WIDTH + R_ARITY]
    for c in range(arity):
        what = args[b + 2 * c + 1]
        t[c] = reg[what] if args[b + 2 * c] == A_REG else what
    state[T_WHAT] = h
    if rels[h * R_WIDTH + R_FAST] == 0:
        done = emit(rels, env, h, t)
        if done >= 0:
            return DONE
        return GROW_ROWS if done == NO_ROOM else GROW_OUT
    waiting = state[T_BUFFERED]
    if waiting == BUFFER:
        if rels[h * R_WIDTH + R_CAP] - rels[h * R_WIDTH + R_N] < BUFFER:
            return GROW_ROWS
        drain(rels, h, np.uint16(env[E_OUTBIT]), buffer, waiting)
        waiting = 0
    key = key_of(t, arity)
    if arity <= 2:
        buffer[waiting] = key
    else:
        at = waiting * (arity + 1)
        buffer[at] = key
        for c in range(arity):
            buffer[at + 1 + c] = np.uint64(t[c])
    size = rels[h * R_WIDTH + R_HSIZE]
    if size > FAR:
        slot = home(key, np.uint64(rels[h * R_WIDTH + R_MULT]), size)
        prefetch(rels[h * R_WIDTH + R_HKEYS] + 8 * slot)
        if arity > 2:
            prefetch(rels[h * R_WIDTH + R_HROWS] + 4 * slot)
    state[T_BUFFERED] = waiting + 1
    return DONE
