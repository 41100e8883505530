"""What a body literal sees: views as truth tables, vectors of indexes, member tests."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.jit.prefetch import prefetch
from tidelog.local.kernels.hashing import EMPTY, find_row, home, key_of, maybe_fresh, pack
from tidelog.local.kernels.index import find_key, spread
from tidelog.local.kernels.layout import (
    A_REG,
    E_PLAIN,
    E_VIEWS,
    FLAG_NEGATED,
    P_ARGS,
    P_FLAG,
    P_PRE,
    P_PRE_A,
    P_PRE_A_HOW,
    P_PRE_B,
    P_PRE_B_HOW,
    P_PRE_ID,
    P_PRE_N,
    P_REL,
    P_ROLE,
    PRE_COLUMN,
    PRE_INDEX,
    PRE_NONE,
    PRE_REG,
    R_ARITY,
    R_FRESH,
    R_FULL,
    R_HKEYS,
    R_HROWS,
    R_HSIZE,
    R_MASK,
    R_MULT,
    R_ODD,
    R_OLD,
    R_SIDE,
    R_START,
    R_WIDTH,
    ROLE_OLD,
    S_EPOCH,
    S_LEN,
    S_OFF,
    S_OLD,
    SLOT,
    X_ARENA,
    X_EPOCH,
    X_SIZE,
    X_SLOTS,
    X_STRIDE,
    X_WIDTH,
)
from tidelog.local.kernels.pointers import u8, u16, u32, u64


@njit
def in_view(rels, env, r, row, role):
    table = u8(env[E_VIEWS + rels[r * R_WIDTH + R_SIDE] + role])
    return table[u16(rels[r * R_WIDTH + R_MASK])[row]] != 0


@njit
def sure(rels, env, r, key, role):
    """Is the existing row with this key in the role's view (1), or not (-1)? 0 if it is odd.

    During an update most rows are in the materialisation and in no other set that changes:
    all of these are in a view, or none. Those that are odd set a bit; for the others nobody
    has to look up their masks.
    """
    odd = rels[r * R_WIDTH + R_ODD]
    if odd == 0:
        return np.int64(0)
    plain = env[E_PLAIN + rels[r * R_WIDTH + R_SIDE] + role]
    if plain == 0 or maybe_fresh(odd, key):
        return np.int64(0)
    return plain


@njit
def reaches(rels, env, r, row, role):
    """Is this existing row in the role's view?"""
    if rels[r * R_WIDTH + R_FULL + role] != 0:
        return row < (
            rels[r * R_WIDTH + R_OLD] if role == ROLE_OLD else rels[r * R_WIDTH + R_START]
        )
    return in_view(rels, env, r, row, role)


@njit
def holds(rels, env, r, t, role):
    """Is the existing row t in the role's view, which is not that of all rows?"""
    key = key_of(t, rels[r * R_WIDTH + R_ARITY])
    known = sure(rels, env, r, key, role)
    if known != 0:
        return known > 0
    return in_view(rels, env, r, find_row(rels, r, t), role)


@njit
def has_pair(rels, env, r, key, role):
    """Is this packed row of two columns in the role's view?

    Where the view is all rows, one that this run did not add needs no second look.
    """
    size = rels[r * R_WIDTH + R_HSIZE]
    if size == 0:
        return False
    keys = u64(rels[r * R_WIDTH + R_HKEYS])
    slot = home(key, np.uint64(rels[r * R_WIDTH + R_MULT]), size)
    while True:
        k = keys[slot]
        if k == key:
            if role != ROLE_OLD and rels[r * R_WIDTH + R_FULL + role] != 0:
                fresh = rels[r * R_WIDTH + R_FRESH]
                if fresh == 0 or not maybe_fresh(fresh, key):
                    return True
            else:
                known = sure(rels, env, r, key, role)
                if known != 0:
                    return known > 0
            row = np.int64(u32(rels[r * R_WIDTH + R_HROWS])[slot]) - 1
            return row >= 0 and reaches(rels, env, r, row, role)
        if k == EMPTY:
            return False
        slot += 1
        if slot == size:
            slot = 0


@njit
def passes(rels, env, step, args, reg, t):
    """A member step: is the fact there, or not there if it is negated?"""
    r = step[P_REL]
    a = step[P_ARGS]
    if rels[r * R_WIDTH + R_ARITY] == 2:
        first = args[a + 1]
        if args[a] == A_REG:
            first = reg[first]
        second = args[a + 3]
        if args[a + 2] == A_REG:
            second = reg[second]
        good = has_pair(rels, env, r, pack(first, second), step[P_ROLE])
    else:
        for c in range(rels[r * R_WIDTH + R_ARITY]):
            what = args[a + 2 * c + 1]
            t[c] = reg[what] if args[a + 2 * c] == A_REG else what
        # A row without a number yet is fresh: not visible to this run.
        row = find_row(rels, r, t)
        good = row >= 0 and reaches(rels, env, r, row, step[P_ROLE])
    return good != ((step[P_FLAG] & FLAG_NEGATED) != 0)


@njit
def vector(idxs, x, key, old):
    """Address and length (in rows) of the key's vector; of its old part if asked."""
    at = find_key(idxs, x, key)
    slots = u32(idxs[x * X_WIDTH + X_SLOTS])
    length = np.int64(slots[at + S_LEN])
    if length == 0:
        return np.int64(0), np.int64(0)
    shown = length
    if old and np.int64(slots[at + S_EPOCH]) == idxs[x * X_WIDTH + X_EPOCH]:
        shown = np.int64(slots[at + S_OLD])
    if length == 1 and idxs[x * X_WIDTH + X_STRIDE] == 1:
        return idxs[x * X_WIDTH + X_SLOTS] + 4 * (at + S_OFF), shown
    return idxs[x * X_WIDTH + X_ARENA] + 4 * np.int64(slots[at + S_OFF]), shown


@njit
def next_key(step, reg, row):
    """The key that the next step will look up for this row of the present one."""
    a = step[P_PRE_A]
    how = step[P_PRE_A_HOW]
    if how == PRE_COLUMN:
        a = np.int64(u32(row)[a])
    elif how == PRE_REG:
        a = reg[a]
    if step[P_PRE_N] == 1:
        return np.uint64(a)
    b = step[P_PRE_B]
    how = step[P_PRE_B_HOW]
    if how == PRE_COLUMN:
        b = np.int64(u32(row)[b])
    elif how == PRE_REG:
        b = reg[b]
    return pack(a, b)


@njit
def pair_passes(rels, env, step, test, key):
    """The member step `test` of two columns, by its key."""
    good = has_pair(rels, env, step[P_PRE_ID], key, test[P_ROLE])
    return good != ((test[P_FLAG] & FLAG_NEGATED) != 0)


@njit
def worth_asking(rels, idxs, step):
    """Is there a next step to prefetch for, and its table larger than the nearest caches?"""
    if step[P_PRE] == PRE_NONE:
        return False
    if step[P_PRE] == PRE_INDEX:
        return idxs[step[P_PRE_ID] * X_WIDTH + X_SIZE] > 4096
    return rels[step[P_PRE_ID] * R_WIDTH + R_HSIZE] > 16384


@njit
def ask_ahead(rels, idxs, step, reg, row):
    """Prefetch what the next step will look at for this row of the present one."""
    key = next_key(step, reg, row)
    which = step[P_PRE_ID]
    if step[P_PRE] == PRE_INDEX:
        slot = spread(key, idxs[which * X_WIDTH + X_SIZE])
        prefetch(idxs[which * X_WIDTH + X_SLOTS] + 4 * SLOT * slot)
    else:
        size = rels[which * R_WIDTH + R_HSIZE]
        slot = home(key, np.uint64(rels[which * R_WIDTH + R_MULT]), size)
        prefetch(rels[which * R_WIDTH + R_HKEYS] + 8 * slot)
        if rels[which * R_WIDTH + R_FULL] == 0:
            prefetch(rels[which * R_WIDTH + R_HROWS] + 4 * slot)
