"""Where nothing but emission follows, rows become heads without a step of their own for each: a
vector's values, heads of two columns; and rows that are scanned, heads of one or two."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.jit.prefetch import prefetch
from tidelog.local.kernels.emission import FAR
from tidelog.local.kernels.hashing import find_row, home, maybe_fresh, pack
from tidelog.local.kernels.index import index_key
from tidelog.local.kernels.layout import (
    A_BIND,
    A_CHECK,
    A_CONST,
    A_REG,
    BUFFER,
    E_PLAIN,
    FUSE_VALUE_FIRST,
    FUSE_VALUE_SECOND,
    OP_LOOKUP,
    P_A,
    P_ARGS,
    P_B,
    P_FUSE,
    P_IDX,
    P_NKEY,
    P_OP,
    P_REL,
    P_ROLE,
    P_WIDTH,
    R_ARITY,
    R_FAST,
    R_FULL,
    R_HKEYS,
    R_HSIZE,
    R_MULT,
    R_ODD,
    R_ROWS,
    R_SIDE,
    R_WIDTH,
    ROLE_OLD,
    T_BUFFERED,
    X_COLS,
    X_WIDTH,
)
from tidelog.local.kernels.pointers import i64, u32
from tidelog.local.kernels.views import in_view, vector


@njit
def streams(rels, env, steps, d):
    """Is step d a lookup whose matches are values of heads that may wait in the buffer?"""
    step = i64(steps + 8 * P_WIDTH * d)
    if step[P_OP] != OP_LOOKUP or step[P_FUSE] < FUSE_VALUE_SECOND:
        return False
    h = i64(steps + 8 * P_WIDTH * (d + 1))[P_REL]
    if rels[h * R_WIDTH + R_FAST] == 0:
        return False
    r = step[P_REL]
    if rels[r * R_WIDTH + R_FULL + step[P_ROLE]] != 0:
        return True
    plain = env[E_PLAIN + rels[r * R_WIDTH + R_SIDE] + step[P_ROLE]] > 0
    return plain and rels[r * R_WIDTH + R_ODD] != 0 and rels[r * R_WIDTH + R_ARITY] == 2


@njit
def is_copied(rels, args, step, h):
    """Are heads of relation h, which may wait in the buffer, made of all rows that a scan meets?"""
    if rels[h * R_WIDTH + R_FAST] == 0 or not 1 <= rels[h * R_WIDTH + R_ARITY] <= 2:
        return False
    a = step[P_ARGS]
    for c in range(rels[step[P_REL] * R_WIDTH + R_ARITY]):
        if args[a + 2 * c] == A_CHECK or args[a + 2 * c] == A_CONST:
            return False
    return True


@njit
def column_of(rels, args, step, how, what):
    """The column of a scanned row that is this operand of the head, or -1 if it is none of them."""
    a = step[P_ARGS]
    for c in range(rels[step[P_REL] * R_WIDTH + R_ARITY]):
        if how == A_REG and args[a + 2 * c] == A_BIND and args[a + 2 * c + 1] == what:
            return c
    return -1


@njit
def put_rows(rels, env, step, args, b, h, reg, listed, buffer, waiting, i, count):
    """Put the heads of `count` scanned rows from i on into the buffer; there must be room for them.
    Returns how many heads wait then, and how many rows were in view. What is the same as the head
    before it need not wait."""
    r = step[P_REL]
    role = step[P_ROLE]
    arity = rels[r * R_WIDTH + R_ARITY]
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    full = rels[r * R_WIDTH + R_FULL + role] != 0
    pairs = rels[h * R_WIDTH + R_ARITY] == 2
    left = args[b + 1] if args[b] != A_REG else reg[args[b + 1]]
    c = column_of(rels, args, step, args[b], args[b + 1])
    right, k = np.int64(0), -1
    if pairs:
        right = args[b + 3] if args[b + 2] != A_REG else reg[args[b + 3]]
        k = column_of(rels, args, step, args[b + 2], args[b + 3])
    size = rels[h * R_WIDTH + R_HSIZE]
    keys_at = rels[h * R_WIDTH + R_HKEYS]
    multiplier = np.uint64(rels[h * R_WIDTH + R_MULT])
    far = size > FAR
    seen = 0
    for j in range(i, i + count):
        row = np.int64(u32(listed)[j]) if listed != 0 else j
        if not (full or in_view(rels, env, r, row, role)):
            continue
        seen += 1
        if c >= 0:
            left = np.int64(rows[row * arity + c])
        key = np.uint64(left)
        if pairs:
            if k >= 0:
                right = np.int64(rows[row * arity + k])
            key = pack(left, right)
        elif waiting > 0 and buffer[waiting - 1] == key:
            continue
        buffer[waiting] = key
        waiting += 1
        if far:
            prefetch(keys_at + 8 * home(key, multiplier, size))
    return waiting, seen


@njit
def matches(rels, idxs, step, args, reg, t):
    """Address and length of the vector that a lookup finds."""
    a = step[P_ARGS]
    nkey = step[P_NKEY]
    role = step[P_ROLE]
    for k in range(nkey):
        what = args[a + 2 * k + 1]
        t[k] = reg[what] if args[a + 2 * k] == A_REG else what
    old = role == ROLE_OLD and rels[step[P_REL] * R_WIDTH + R_FULL + role] != 0
    return vector(idxs, step[P_IDX], index_key(t, nkey), old)


@njit
def put(rels, h, step, reg, buffer, waiting, at, count):
    """Put `count` values into the buffer, as heads; there must be room for them."""
    fixed = step[P_B]
    if step[P_A] == A_REG:
        fixed = reg[fixed]
    values = u32(at)
    size = rels[h * R_WIDTH + R_HSIZE]
    keys_at = rels[h * R_WIDTH + R_HKEYS]
    multiplier = np.uint64(rels[h * R_WIDTH + R_MULT])
    if step[P_FUSE] == FUSE_VALUE_FIRST:
        for i in range(count):
            key = pack(values[i], fixed)
            buffer[waiting + i] = key
            prefetch(keys_at + 8 * home(key, multiplier, size))
    else:
        for i in range(count):
            key = pack(fixed, values[i])
            buffer[waiting + i] = key
            prefetch(keys_at + 8 * home(key, multiplier, size))


@njit
def put_seen(rels, idxs, env, h, step, args, reg, t, buffer, waiting, at, count):
    """The same for a relation of two columns some rows of which are not in view; returns how
    many heads there are."""
    r = step[P_REL]
    role = step[P_ROLE]
    odd = rels[r * R_WIDTH + R_ODD]
    fixed = step[P_B]
    if step[P_A] == A_REG:
        fixed = reg[fixed]
    what = args[step[P_ARGS] + 1]
    key = reg[what] if args[step[P_ARGS]] == A_REG else what
    key_first = i64(idxs[step[P_IDX] * X_WIDTH + X_COLS])[0] == 0
    value_first = step[P_FUSE] == FUSE_VALUE_FIRST
    values = u32(at)
    size = rels[h * R_WIDTH + R_HSIZE]
    keys_at = rels[h * R_WIDTH + R_HKEYS]
    multiplier = np.uint64(rels[h * R_WIDTH + R_MULT])
    n = 0
    for i in range(count):
        value = values[i]
        row = pack(key, value) if key_first else pack(value, key)
        if maybe_fresh(odd, row):
            t[0] = np.int64(row >> np.uint64(32))
            t[1] = np.int64(row & np.uint64(0xFFFFFFFF))
            if not in_view(rels, env, r, find_row(rels, r, t), role):
                continue
        head = pack(value, fixed) if value_first else pack(fixed, value)
        buffer[waiting + n] = head
        prefetch(keys_at + 8 * home(head, multiplier, size))
        n += 1
    return n


@njit
def put_matches(rels, idxs, env, steps, d, args, reg, t, buffer, state):
    """All of step d, which streams, where the buffer has room; its matches, or -1 if not."""
    step = i64(steps + 8 * P_WIDTH * d)
    at, count = matches(rels, idxs, step, args, reg, t)
    waiting = state[T_BUFFERED]
    if waiting + count > BUFFER:
        return np.int64(-1)
    h = i64(steps + 8 * P_WIDTH * (d + 1))[P_REL]
    if rels[step[P_REL] * R_WIDTH + R_FULL + step[P_ROLE]] != 0:
        put(rels, h, step, reg, buffer, waiting, at, count)
    else:
        count = put_seen(rels, idxs, env, h, step, args, reg, t, buffer, waiting, at, count)
    state[T_BUFFERED] = waiting + count
    return count
