"""Questions about rows: which pairs are there, and which have a path through given edges."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.nodes import find
from tidelog.closure.kernels.rows import NONE, ONE, reaches
from tidelog.closure.kernels.word_bits import lowest


@njit(cache=True)
def number_known(ids, table, wanted, numbers):
    """The numbers of ids, -1 for those that have none."""
    known, slots = bare(ids), bare(table)
    for i in range(len(wanted)):
        numbers[i] = table[find(known, slots, len(table), wanted[i])] - 1


@njit(cache=True)
def are_reached(rows, numbers, found):
    """Of pairs of numbers, one after the other: does the first node reach the second?"""
    r = bare(rows)
    for i in range(len(found)):
        x = numbers[2 * i]
        y = numbers[2 * i + 1]
        found[i] = x >= 0 and y >= 0 and reaches(r, r.root[x], y)


@njit
def mark_row(r, c, marks, list_, n):
    """List nodes of a row that have no mark yet, and mark them; returns how many are listed."""
    at = r.at[c]
    for i in range(at, at + r.length[c]):
        base = np.int64(r.places[i]) << 6
        word = r.words[i]
        while word != NONE:
            y = base + lowest(word)
            word &= word - ONE
            if marks[y] == 0:
                marks[y] = 1
                list_[n] = y
                n += 1
    return n


@njit(cache=True)
def pairs_through(rows, ids, nodes, numbers, marks, listed, pairs):
    """Pairs (x, y) such that x is or reaches the tail of an edge whose head is or reaches y.

    Writes them if there is room; returns how many they are. `marks` is left cleared.
    """
    r, edges, marked, list_ = bare(rows), bare(numbers), bare(marks), bare(listed)
    count = np.int64(len(numbers) // 2)
    room = len(pairs)
    k = 0
    for c in range(nodes):
        if r.root[c] != c:
            continue
        n = np.int64(0)
        for e in range(count):
            x = edges[2 * e]
            y = edges[2 * e + 1]
            if x < 0 or y < 0 or (r.root[x] != c and not reaches(r, c, x)):
                continue
            # A node that is marked has been listed with all that it reaches.
            if marked[y] == 0:
                marked[y] = 1
                list_[n] = y
                n = mark_row(r, r.root[y], marked, list_, n + 1)
        x = np.int64(c)
        while n > 0:
            if k + n <= room:
                for j in range(n):
                    pairs[k + j, 0] = ids[x]
                    pairs[k + j, 1] = ids[list_[j]]
            k += n
            x = np.int64(r.ring[x])
            if x == c:
                break
        for j in range(n):
            marked[list_[j]] = 0
    return k
