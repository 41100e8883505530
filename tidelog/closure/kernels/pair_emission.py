"""Pairs out of rows: all of them, or those by which rows differ from what they were."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.rows import (
    L_AT,
    L_LENGTH,
    L_NODE,
    LOG,
    LOGGED,
    NONE,
    ONE,
    root_before,
)
from tidelog.closure.kernels.word_bits import lowest


@njit
def spell(r, ids, at, length, other, other_length, names):
    """The ids of bits of one row that are not in another; returns how many."""
    n = 0
    k = other
    end = other + other_length
    for i in range(at, at + length):
        w = r.places[i]
        word = r.words[i]
        while k < end and r.places[k] < w:
            k += 1
        if k < end and r.places[k] == w:
            word &= ~r.words[k]
        base = np.int64(w) << 6
        while word != NONE:
            names[n] = ids[base + lowest(word)]
            n += 1
            word &= word - ONE
    return n


@njit
def write_pairs(name, names, n, pairs, k, room):
    """Write the pairs of a node at place k, if there is room; returns the next place."""
    if k + n > room:
        return room + 1
    for j in range(n):
        pairs[2 * (k + j)] = name
        pairs[2 * (k + j) + 1] = names[j]
    return k + n


@njit(cache=True)
def all_pairs(rows, ids, nodes, buffer, flat):
    """All pairs; returns how many."""
    r, named, names, pairs = bare(rows), bare(ids), bare(buffer), bare(flat)
    k = 0
    for c in range(nodes):
        if r.root[c] == c and r.bits[c] > 0:
            n = spell(r, named, r.at[c], r.length[c], 0, 0, names)
            x = c
            while True:
                k = write_pairs(named[x], names, n, pairs, k, len(flat) // 2)
                x = r.ring[x]
                if x == c:
                    break
    return k


@njit(cache=True)
def changed_pairs(rows, ids, gone, buffer, flat):
    """Pairs that are new since the log began, or those that are gone; returns how many.

    More than there is room for means that rows and their figures differ.
    """
    r, named, names, pairs = bare(rows), bare(ids), bare(buffer), bare(flat)
    k = 0
    for entry in range(r.info[LOGGED]):
        c = r.log[entry * LOG + L_NODE]
        if r.root[c] != c:
            continue
        x = c
        before = np.int64(-1)
        n = 0
        while True:
            d = root_before(r, x)
            if d != before:  # nodes that were one component stand together
                before = d
                seen = (np.int64(r.logged[d]) - 1) * LOG
                at = r.log[seen + L_AT] if seen >= 0 else r.at[d]
                length = r.log[seen + L_LENGTH] if seen >= 0 else np.int64(r.length[d])
                if gone:
                    n = spell(r, named, at, length, r.at[c], r.length[c], names)
                else:
                    n = spell(r, named, r.at[c], r.length[c], at, length, names)
            k = write_pairs(named[x], names, n, pairs, k, len(flat) // 2)
            x = np.int64(r.ring[x])
            if x == c:
                break
    return k
