"""Aggregates: one pass over the facts of a group."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tidelog.local.kernels.arithmetic import float_word, less
from tidelog.local.kernels.hashing import find_row
from tidelog.local.kernels.index import index_key
from tidelog.local.kernels.layout import (
    A_BIND,
    A_CHECK,
    A_CONST,
    A_REG,
    G_COUNT,
    G_MAX,
    G_MEAN,
    G_MIN,
    G_SUM,
    KIND_FLOAT,
    KIND_UNSIGNED,
    P_A,
    P_ARGS,
    P_B,
    P_IDX,
    P_NCOL,
    P_NKEY,
    P_REL,
    P_ROLE,
    R_FULL,
    R_ROWS,
    R_START,
    R_WIDTH,
    X_COLS,
    X_WIDTH,
)
from tidelog.local.kernels.pointers import as_float, i64, u32
from tidelog.local.kernels.views import holds, vector
from tidelog.local.kernels.words import decode

SCALE = 2.0**-100  # of parts of large values, whose sums would overflow
LARGE = 2.0**900
MOST_PARTS = 48  # non-overlapping parts that the range of a double leaves room for, and some
ALL_BOUND = -2  # an aggregate over one fact: no index, a member test


@njit
def add_exactly(parts, used, x):
    """Add x to a sum that is kept as non-overlapping parts (Shewchuk 1997), with no error.

    The sum of floats must not depend on the order of facts, which an update may change.
    """
    kept = 0
    for i in range(used):
        y = parts[i]
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            parts[kept] = low
            kept += 1
        x = high
    parts[kept] = x
    return kept + 1


@njit
def round_parts(parts, used):
    """The sum of the parts, rounded once, to even where it lies in the middle."""
    if used == 0:
        return 0.0
    n = used - 1
    high = parts[n]
    low = 0.0
    while n > 0:
        x = high
        n -= 1
        y = parts[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and ((low < 0.0 and parts[n - 1] < 0.0) or (low > 0.0 and parts[n - 1] > 0.0)):
        y = low * 2.0
        x = high + y
        if y == x - high:
            high = x
    return high


@njit
def round_sum(small, used, large, used_large):
    """The sum of the small parts and of the large ones, which are scaled down, rounded once."""
    if used_large == 0:
        return round_parts(small, used)
    top = round_parts(large, used_large)
    if not math.isfinite(top / SCALE) or not math.isfinite(large[used_large - 1] / SCALE):
        return top / SCALE
    for i in range(used_large):
        used = add_exactly(small, used, large[i] / SCALE)
    return round_parts(small, used)


@njit
def fold(rels, idxs, env, step, args, reg, t, result):
    """An aggregate: result[0] is its word, result[1] the facts looked at; False if none.

    P_A is op | kind << 8. P_B is the place of the value among the columns read; for
    count it is -1 where every fact of the vector counts.
    """
    r = step[P_REL]
    op = step[P_A] & 255
    kind = step[P_A] >> 8
    nkey = step[P_NKEY]
    ncol = step[P_NCOL]
    role = step[P_ROLE]
    a = step[P_ARGS]
    full = rels[r * R_WIDTH + R_FULL + role] != 0
    x = step[P_IDX]
    stride = ncol
    base = np.int64(0)
    if x >= 0:
        for k in range(nkey):
            t[k] = reg[args[a + 2 * k + 1]] if args[a + 2 * k] == A_REG else args[a + 2 * k + 1]
        base, count = vector(idxs, x, index_key(t, nkey), False)
        cols = i64(idxs[x * X_WIDTH + X_COLS])
    elif x == ALL_BOUND:
        for c in range(ncol):
            t[c] = reg[args[a + 2 * c + 1]] if args[a + 2 * c] == A_CHECK else args[a + 2 * c + 1]
        row = find_row(rels, r, t)
        count = np.int64(0 <= row < rels[r * R_WIDTH + R_START])
        base = rels[r * R_WIDTH + R_ROWS] + 4 * row * ncol
        cols = i64(0)
    else:
        count = rels[r * R_WIDTH + R_START]
        base = rels[r * R_WIDTH + R_ROWS]
        cols = i64(0)
    values = u32(base)
    offset = a + 2 * nkey
    total = np.int64(0)
    sum_word = np.int64(0)
    not_finite = 0.0
    room = MOST_PARTS if op == G_SUM or op == G_MEAN else 1
    small = np.empty(2 * room, dtype=np.float64)
    large = np.empty(room, dtype=np.float64)
    used = used_large = 0
    result[1] = count
    if op == G_COUNT and full and step[P_B] < 0:  # nothing to compare
        result[0] = count
        return True
    for i in range(count):
        good = True
        for c in range(ncol):
            how = args[offset + 2 * c]
            v = np.int64(values[i * stride + c])
            if how == A_CONST:
                good = good and v == args[offset + 2 * c + 1]
            elif how == A_CHECK:
                good = good and v == reg[args[offset + 2 * c + 1]]
            elif how == A_BIND:
                reg[args[offset + 2 * c + 1]] = v
        if not good:
            continue
        if not full:
            if x >= 0 and nkey <= 2:
                for k in range(nkey):
                    g = a + 2 * k
                    t[cols[k]] = reg[args[g + 1]] if args[g] == A_REG else args[g + 1]
                for c in range(ncol):
                    t[cols[nkey + c]] = np.int64(values[i * stride + c])
            else:
                for c in range(ncol):
                    t[c] = np.int64(values[i * stride + c])
            if not holds(rels, env, r, t, role):
                continue
        if op != G_COUNT:
            word = decode(env, np.int64(values[i * stride + step[P_B]]))
            if op == G_SUM and kind != KIND_FLOAT:
                sum_word += word
            elif op == G_SUM or op == G_MEAN:
                if kind == KIND_FLOAT:
                    value = as_float(word)
                elif kind == KIND_UNSIGNED:
                    value = np.float64(np.uint64(word))
                else:
                    value = np.float64(word)
                if not math.isfinite(value):
                    not_finite += value
                elif abs(value) < LARGE:
                    used = add_exactly(small, used, value)
                else:
                    used_large = add_exactly(large, used_large, value * SCALE)
            elif (
                total == 0
                or (op == G_MIN and less(env, kind, word, sum_word))
                or (op == G_MAX and less(env, kind, sum_word, word))
            ):
                sum_word = word
        total += 1
    sum_float = not_finite
    if not_finite == 0.0:
        sum_float = round_sum(small, used, large, used_large)
    if op == G_COUNT:
        result[0] = total
    elif op == G_SUM:
        result[0] = float_word(sum_float) if kind == KIND_FLOAT else sum_word
    elif total == 0:
        return False
    elif op == G_MEAN:
        result[0] = float_word(sum_float / total)
    else:
        result[0] = sum_word
    return True
