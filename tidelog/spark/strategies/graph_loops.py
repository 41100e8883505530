"""Loops over graphs that run in executors at native speed.

Nodes are numbers from 0. Edges of a node x are `ends[first[x]:first[x + 1]]`.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def reach(first, ends, starts, seeds, source, seen, queue, out):
    """Nodes that each source's seeds lead to, the seeds included, as long as there is room.

    Sources from `source` on are done one after the other; `starts` says where the seeds of each
    begin. Pairs of source and node go to `out`. Returns the next source and the number of pairs:
    one that may not fit is left for the next call, so `out` must have room for all nodes.
    """
    nodes = len(first) - 1
    count = 0
    while source < len(starts) - 1 and len(out) - count >= nodes:
        head = tail = 0
        for i in range(starts[source], starts[source + 1]):
            y = seeds[i]
            if seen[y] != source:
                seen[y] = source
                queue[tail] = y
                tail += 1
        while head < tail:
            x = queue[head]
            head += 1
            for i in range(first[x], first[x + 1]):
                y = ends[i]
                if seen[y] != source:
                    seen[y] = source
                    queue[tail] = y
                    tail += 1
        for i in range(tail):
            out[count, 0] = source
            out[count, 1] = queue[i]
            count += 1
        source += 1
    return source, count


@njit
def root(parent, x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@njit(cache=True)
def unite(parent, edges, kept):
    """Unite the classes of each edge's ends; `kept` gets those edges that united two, whose number
    is returned. A class is known by its least node."""
    count = 0
    for i in range(len(edges)):
        x, y = root(parent, edges[i, 0]), root(parent, edges[i, 1])
        if x != y:
            parent[max(x, y)] = min(x, y)
            kept[count] = i
            count += 1
    return count


@njit(cache=True)
def label(parent):
    """Each node's class, by its least node."""
    for x in range(len(parent)):
        parent[x] = parent[parent[x]]  # the parent is less, so it has its own class already


@njit(cache=True)
def pairs(bounds, row, out):
    """All pairs of nodes of one class, from those of the row-th node on, as long as there is room.

    Nodes of a class stand side by side; `bounds` has where the class of each begins and ends.
    Returns the next row and the number of pairs.
    """
    count = 0
    while row < len(bounds):
        begin, end = bounds[row, 0], bounds[row, 1]
        if end - begin > len(out) - count:
            break
        for j in range(begin, end):
            out[count, 0] = row
            out[count, 1] = j
            count += 1
        row += 1
    return row, count


def adjacency(edges, nodes):
    """Edges by their first node: `first` and `ends`."""
    order = np.argsort(edges[:, 0], kind="stable")
    first = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(edges[:, 0], minlength=nodes), out=first[1:])
    return first, np.ascontiguousarray(edges[order, 1])
