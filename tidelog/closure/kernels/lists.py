"""Lists of neighbours: every node has one contiguous piece of one array.

A list that outgrows its piece moves to a new one at the end of the array; one that shrinks
keeps its piece, so that what was taken away can always be put back without asking for memory.
Pairs (node, neighbour) are packed into words and come sorted, so that a node's pairs stand
together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.nodes import lower, pack, upper


@njit
def place(lists, x, y):
    """Where y stands in the list of x, or -1."""
    for j in range(lists.at[x], lists.at[x] + lists.used[x]):
        if lists.data[j] == y:
            return j
    return -1


@njit
def is_edge(out, into, x, y):
    if out.used[x] <= into.used[y]:
        return place(out, x, y) >= 0
    return place(into, y, x) >= 0


@njit(cache=True)
def sift(out, into, ways, there):
    """Keep each of the sorted edges once, if it is there (or if it is not); returns how many."""
    kept = 0
    last = np.uint64(0)
    for i in range(len(ways)):
        if i > 0 and ways[i] == last:
            continue
        last = ways[i]
        if is_edge(out, into, upper(ways[i]), lower(ways[i])) == there:
            ways[kept] = ways[i]
            kept += 1
    return kept


@njit
def run_end(ways, i):
    """Where the pairs of the node of ways[i] end."""
    x = upper(ways[i])
    while i < len(ways) and upper(ways[i]) == x:
        i += 1
    return i


@njit
def enlarged(lists, x, more):
    """The room for a list that gets so many more: 0 if it has enough."""
    total = lists.used[x] + more
    if total <= lists.room[x]:
        return 0
    return total if lists.room[x] == 0 else total + total // 2


@njit(cache=True)
def room_needed(lists, ways):
    """How much of the array new pieces for these pairs will take."""
    needed = 0
    i = 0
    while i < len(ways):
        end = run_end(ways, i)
        needed += enlarged(lists, upper(ways[i]), end - i)
        i = end
    return needed


@njit(cache=True)
def extend(lists, other, ways, top):
    """Add pairs; `other` are the lists of the other direction, `top` is the array's end.

    Returns the new end, and how many of the nodes had no edge before.
    """
    woken = 0
    i = 0
    while i < len(ways):
        x = upper(ways[i])
        end = run_end(ways, i)
        if lists.used[x] == 0 and other.used[x] == 0:
            woken += 1
        room = enlarged(lists, x, end - i)
        if room > 0:
            for j in range(lists.used[x]):
                lists.data[top + j] = lists.data[lists.at[x] + j]
            lists.at[x] = top
            lists.room[x] = room
            top += room
        j = lists.at[x] + lists.used[x]
        lists.used[x] += end - i
        while i < end:
            lists.data[j] = lower(ways[i])
            j += 1
            i += 1
    return top, woken


@njit
def drop(lists, x, y):
    """Take y out of the list of x: the last one takes its place."""
    j = place(lists, x, y)
    lists.used[x] -= 1
    lists.data[j] = lists.data[lists.at[x] + lists.used[x]]


@njit(cache=True)
def withdraw(lists, other, ways):
    """Take pairs away, all of which are there; returns how many nodes have no edge any more."""
    asleep = 0
    i = 0
    while i < len(ways):
        x = upper(ways[i])
        end = run_end(ways, i)
        if end - i == 1:
            drop(lists, x, lower(ways[i]))
        else:
            # One pass over the list, however many go.
            kept = lists.at[x]
            for j in range(lists.at[x], lists.at[x] + lists.used[x]):
                y = lists.data[j]
                way = pack(x, y)
                where = i + np.searchsorted(ways[i:end], way)
                if where == end or ways[where] != way:
                    lists.data[kept] = y
                    kept += 1
            lists.used[x] = kept - lists.at[x]
        if lists.used[x] == 0 and other.used[x] == 0:
            asleep += 1
        i = end
    return asleep


@njit(cache=True)
def tighten(lists, count, data):
    """Copy all lists into a new array, without gaps; returns its end."""
    top = 0
    for x in range(count):
        for j in range(lists.used[x]):
            data[top + j] = lists.data[lists.at[x] + j]
        lists.at[x] = top
        lists.room[x] = lists.used[x]
        top += lists.used[x]
    return top


@njit(cache=True)
def all_edges(lists, ids, count, edges):
    k = 0
    for x in range(count):
        for j in range(lists.at[x], lists.at[x] + lists.used[x]):
            edges[k, 0] = ids[x]
            edges[k, 1] = ids[lists.data[j]]
            k += 1
