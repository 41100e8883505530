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
from tidelog.closure.kernels.pointers import bare


@njit
def place(lists, x, y):
    """Where y stands in the list of x, or -1."""
    at = lists.at[x]
    for j in range(at, at + lists.used[x]):
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
    ahead, behind = bare(out), bare(into)
    kept = 0
    last = np.uint64(0)
    for i in range(len(ways)):
        if i > 0 and ways[i] == last:
            continue
        last = ways[i]
        if is_edge(ahead, behind, upper(last), lower(last)) == there:
            ways[kept] = last
            kept += 1
    return kept


@njit
def run_end(ways, i, n):
    """Where the pairs of the node of ways[i] end."""
    x = upper(ways[i])
    while i < n and upper(ways[i]) == x:
        i += 1
    return i


@njit
def enlarged(lists, x, more):
    """The room for a list that gets so many more: 0 if it has enough."""
    total = np.int64(lists.used[x]) + more
    if total <= lists.room[x]:
        return 0
    return total if lists.room[x] == 0 else total + total // 2


@njit(cache=True)
def room_needed(lists, ways):
    """How much of the array new pieces for these pairs will take."""
    all_lists, pairs, n = bare(lists), bare(ways), len(ways)
    needed = 0
    i = 0
    while i < n:
        end = run_end(pairs, i, n)
        needed += enlarged(all_lists, upper(ways[i]), end - i)
        i = end
    return needed


@njit(cache=True)
def extend(lists, other, ways, top):
    """Add pairs; `other` are the lists of the other direction, `top` is the array's end.

    Returns the new end, and how many of the nodes had no edge before.
    """
    all_lists, pairs, n = bare(lists), bare(ways), len(ways)
    woken = 0
    i = 0
    while i < n:
        x = upper(ways[i])
        end = run_end(pairs, i, n)
        if lists.used[x] == 0 and other.used[x] == 0:
            woken += 1
        room = enlarged(all_lists, x, end - i)
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


@njit
def find_pair(pairs, low, end, pair):
    """Is a pair among the sorted pairs[low:end]?"""
    high = end
    while low < high:
        middle = (low + high) >> 1
        if pairs[middle] < pair:
            low = middle + 1
        else:
            high = middle
    return low < end and pairs[low] == pair


@njit(cache=True)
def withdraw(lists, other, ways):
    """Take pairs away, all of which are there; returns how many nodes have no edge any more."""
    all_lists, pairs, n = bare(lists), bare(ways), len(ways)
    asleep = 0
    i = 0
    while i < n:
        x = upper(ways[i])
        end = run_end(pairs, i, n)
        if end - i == 1:
            drop(all_lists, x, lower(ways[i]))
        else:
            # One pass over the list, however many go.
            kept = lists.at[x]
            for j in range(lists.at[x], lists.at[x] + lists.used[x]):
                y = lists.data[j]
                if not find_pair(pairs, i, end, pack(x, y)):
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
