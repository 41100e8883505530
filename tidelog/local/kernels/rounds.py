"""The step from one round of seminaive evaluation to the next, without a return to Python.

A small round costs far less than the call of a kernel and what has to be set up for it. What a
round has found are the newest rows of its relations: they become the delta, join the sets that
they belong to and the indexes that the plans read, and the plans run again.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.local.kernels.hashing import fill_rows
from tidelog.local.kernels.index import INDEXED, append_rows
from tidelog.local.kernels.layout import (
    E_ROUNDS,
    R_AGE,
    R_DHI,
    R_DLIST,
    R_DLO,
    R_FAST,
    R_FILLED,
    R_FULL,
    R_MASK,
    R_N,
    R_OLD,
    R_OUTN,
    R_START,
    R_WIDTH,
    ROLE_ALL,
    ROLE_NEG,
    ROLE_OLD,
    U_COVERED,
    U_HEAD,
    U_MEMBER,
    W_ADDED,
    W_AGE,
    W_BITS,
    W_BOUNDED,
    W_BOUNDS,
    W_HIGH,
    W_INDEXED,
    W_INDEXES,
    W_LARGE,
    W_LOW,
    W_NEW,
    W_PASSED,
    W_RELATIONS,
    W_ROOM,
    W_USED,
    X_EPOCH,
    X_MARK,
    X_REL,
    X_WIDTH,
)
from tidelog.local.kernels.pointers import i32, i64, u16, u32


@njit
def next_round(relations, indexes, environment, scratch):
    """Make what the round has found the delta of the next one.

    False if there is no next round, or Python must look first: nothing has changed then, but
    that indexes may have some of the new rows.
    """
    rels = i64(relations)
    idxs = i64(indexes)
    w = i64(i64(environment)[E_ROUNDS])
    used = i64(w[W_USED])
    found = 0
    for k in range(w[W_RELATIONS]):
        of = used[2 * k] * R_WIDTH
        kind = used[2 * k + 1]
        if kind & U_HEAD:
            more = rels[of + R_N] - rels[of + R_START]
            # Rows that were there before are listed; no plan reads the delta of some relations.
            if rels[of + R_OUTN] != 0 or (more != 0 and kind & U_COVERED == 0):
                return False
            found += more
    if found == 0 or found > w[W_LARGE] or w[W_ADDED] + found > w[W_ROOM]:
        return False
    bounds = i64(w[W_BOUNDS])
    low = i64(w[W_LOW])
    high = i64(w[W_HIGH])
    for k in range(w[W_BOUNDED]):
        n = rels[bounds[k] * R_WIDTH + R_N]
        if n < low[k] or n >= high[k]:
            return False
    read = i64(w[W_INDEXES])
    for k in range(w[W_INDEXED]):
        x = read[k]
        of = idxs[x * X_WIDTH + X_REL] * R_WIDTH
        if idxs[x * X_WIDTH + X_MARK] != rels[of + R_START]:
            idxs[x * X_WIDTH + X_MARK] = rels[of + R_START]
            idxs[x * X_WIDTH + X_EPOCH] += 1
        if append_rows(relations, indexes, x, rels[of + R_N], scratch) != INDEXED:
            return False
    keep = np.uint16(~w[W_NEW])
    bits = np.uint16(w[W_BITS])
    age = w[W_AGE]
    for k in range(w[W_RELATIONS]):
        r = used[2 * k]
        kind = used[2 * k + 1]
        of = r * R_WIDTH
        mask = u16(rels[of + R_MASK])
        listed = rels[of + R_DLIST]
        for i in range(rels[of + R_DLO], rels[of + R_DHI]):
            row = np.int64(u32(listed)[i]) if listed != 0 else i
            mask[row] &= keep
        start = rels[of + R_START]
        n = rels[of + R_N]
        for row in range(start, n):
            mask[row] = bits
        if rels[of + R_AGE] != 0:
            ages = i32(rels[of + R_AGE])
            for row in range(start, n):
                ages[row] = np.int32(age)
                age += 1
        if rels[of + R_FILLED] < n and (
            kind & U_MEMBER != 0
            or (kind & U_HEAD != 0 and rels[of + R_FAST] == 0)
            or rels[of + R_FULL + ROLE_ALL] == 0
            or rels[of + R_FULL + ROLE_NEG] == 0
        ):
            fill_rows(relations, r, scratch)
        rels[of + R_DLIST] = 0
        rels[of + R_DLO] = start
        rels[of + R_DHI] = n
        rels[of + R_OLD] = start
        rels[of + R_START] = n
        rels[of + R_FULL + ROLE_OLD] = rels[of + R_FULL + ROLE_ALL]
    w[W_AGE] = age
    w[W_ADDED] += found
    w[W_PASSED] += 1
    return True
