"""Chains of facts, level by level: which of them lead from end to end, and what they connect.

A step between two levels is an array of pairs, one after the other; if it is turned, the pairs
lead from their second ids to their first ones. On a level, ids count from `low` on, and nodes from
`first` on: those of the first and the last level are the same, and come before all others. Sets of
nodes are as in `classes`: an entry of `parent` is a number plus one, and 0 where no chain comes by.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.classes import holder


@njit(cache=True)
def bounds(step):
    """The least and the largest first id, and the same for second ids; there is a pair."""
    ids = bare(step)
    low, high = np.int64(ids[0]), np.int64(ids[0])
    back_low, back_high = np.int64(ids[1]), np.int64(ids[1])
    for i in range(0, len(step), 2):
        x, y = np.int64(ids[i]), np.int64(ids[i + 1])
        low, high = min(low, x), max(high, x)
        back_low, back_high = min(back_low, y), max(back_high, y)
    return low, high, back_low, back_high


@njit(cache=True)
def mark(step, turned, here, low, there, there_low):
    """Mark where a step leads from marked nodes."""
    ids, marked, marks = bare(step), bare(here), bare(there)
    for i in range(0, len(step), 2):
        if marked[np.int64(ids[i + turned]) - low]:
            marks[np.int64(ids[i + 1 - turned]) - there_low] = 1


@njit
def entered(parent, x):
    if parent[x] == 0:
        parent[x] = x + 1
        return x
    return holder(parent, x)


@njit(cache=True)
def unite(step, turned, here, low, there, there_low, parents, first, there_first):
    """Bring the ends of a step together where both are marked. The first node of a set stands for
    it, so that it is an end of chains."""
    ids, marked, marks, parent = bare(step), bare(here), bare(there), bare(parents)
    for i in range(0, len(step), 2):
        x = np.int64(ids[i + turned]) - low
        y = np.int64(ids[i + 1 - turned]) - there_low
        if marked[x] and marks[y]:
            x, y = entered(parent, first + x), entered(parent, there_first + y)
            if x < y:
                parent[y] = x + 1
            elif y < x:
                parent[x] = y + 1


@njit(cache=True)
def list_stars(parents, ends, low, pairs):
    """For each of the first nodes that is in a set, the pair of it and the set's first node."""
    parent = bare(parents)
    k = 0
    for x in range(ends):
        if parent[x] != 0:
            pairs[k] = low + x
            pairs[k + 1] = low + holder(parent, x)
            k += 2


@njit(cache=True)
def count(step, turned, there, there_low, low, first, bounds):
    """Count the pairs of each node that lead to marked ones, one place after it."""
    ids, marks, counts = bare(step), bare(there), bare(bounds)
    for i in range(0, len(step), 2):
        if marks[np.int64(ids[i + 1 - turned]) - there_low]:
            counts[first + np.int64(ids[i + turned]) - low + 1] += 1


@njit(cache=True)
def arrange(step, turned, there, there_low, low, first, there_first, bounds, after):
    """Write the marked nodes down that a step leads to, node by node; `bounds` are where those of
    a node begin, and then where they end."""
    ids, marks, end, nodes = bare(step), bare(there), bare(bounds), bare(after)
    for i in range(0, len(step), 2):
        y = np.int64(ids[i + 1 - turned]) - there_low
        if marks[y]:
            x = first + np.int64(ids[i + turned]) - low
            nodes[end[x]] = there_first + y
            end[x] += 1


@njit(cache=True)
def join(bounds, after, steps, ends, low, marks, queue, pairs, x, n, work):
    """List the ends that chains lead to, from end x on, each once for an end. Returns how far it
    came, not to the last end where there is no room or so much work is done, and how many ids are
    listed."""
    end, nodes, mark, found, ids = bare(bounds), bare(after), bare(marks), bare(queue), bare(pairs)
    while x < ends and work > 0:
        work -= 1
        found[0] = x
        start, stop = 0, 1
        for _ in range(steps):
            top = stop
            for i in range(start, stop):
                z = np.int64(found[i])
                begin = end[z - 1] if z > 0 else 0
                work -= end[z] - begin
                for j in range(begin, end[z]):
                    y = nodes[j]
                    if mark[y] != x + 1:
                        mark[y] = x + 1
                        found[top] = y
                        top += 1
            start, stop = stop, top
        if n + 2 * (stop - start) > len(pairs):
            for i in range(stop):
                mark[found[i]] = 0
            return x, n
        for i in range(start, stop):
            ids[n] = low + x
            ids[n + 1] = low + found[i]
            n += 2
        x += 1
    return x, n
