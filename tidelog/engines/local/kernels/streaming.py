"""The innermost lookup and the emission in one: a vector's values become heads of two columns."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.engines.local.kernels.hashing import home, pack
from tidelog.engines.local.kernels.index import index_key
from tidelog.engines.local.kernels.layout import (
    A_REG,
    BUFFER,
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
    R_FAST,
    R_FULL,
    R_HKEYS,
    R_HSIZE,
    R_MULT,
    R_WIDTH,
    ROLE_OLD,
    T_BUFFERED,
)
from tidelog.engines.local.kernels.memory import i64, prefetch, u32
from tidelog.engines.local.kernels.views import vector


@njit
def streams(rels, steps, d):
    """Is step d a lookup whose every match is the value of a head that may wait in the buffer?"""
    step = i64(steps + 8 * P_WIDTH * d)
    if step[P_OP] != OP_LOOKUP or step[P_FUSE] < FUSE_VALUE_SECOND:
        return False
    h = i64(steps + 8 * P_WIDTH * (d + 1))[P_REL]
    full = rels[step[P_REL] * R_WIDTH + R_FULL + step[P_ROLE]] != 0
    return full and rels[h * R_WIDTH + R_FAST] != 0


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
def put_matches(rels, idxs, steps, d, args, reg, t, buffer, state):
    """All of step d, which streams, where the buffer has room; its matches, or -1 if not."""
    step = i64(steps + 8 * P_WIDTH * d)
    at, count = matches(rels, idxs, step, args, reg, t)
    waiting = state[T_BUFFERED]
    if waiting + count > BUFFER:
        return np.int64(-1)
    h = i64(steps + 8 * P_WIDTH * (d + 1))[P_REL]
    put(rels, h, step, reg, buffer, waiting, at, count)
    state[T_BUFFERED] = waiting + count
    return count
