"""Lists of neighbours: every node has one contiguous piece of one array.

A list that outgrows its piece moves to a new one at the end of the array; one that shrinks
keeps its piece, so that what was taken away can always be put back without asking for memory.
Pairs (node, neighbour) are packed into words and come sorted, so that a node's pairs stand
together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.nodes import entered, find, lower, pack, upper


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
def pack_absent(ids, table, out, into, wanted, ways, count, first, kept):
    """The pairs of ids, from the first on, that are no edges yet; ids get numbers.

    Returns how far it came, less than all where there is no room, how many edges are kept, and
    the count of nodes.
    """
    known, slots, size, room = bare(ids), bare(table), len(table), len(ids)
    ahead, behind, names, pairs = bare(out), bare(into), bare(wanted), bare(ways)
    for i in range(first, len(ways)):
        x, count = entered(known, slots, size, room, count, names[2 * i])
        y, count = entered(known, slots, size, room, count, names[2 * i + 1])
        if x < 0 or y < 0:
            return i, kept, count
        if not is_edge(ahead, behind, x, y):
            pairs[kept] = pack(x, y)
            kept += 1
    return len(ways), kept, count


@njit(cache=True)
def pack_present(ids, table, out, into, wanted, ways):
    """The pairs of ids that are edges; returns how many there are."""
    known, slots, size = bare(ids), bare(table), len(table)
    ahead, behind, names, pairs = bare(out), bare(into), bare(wanted), bare(ways)
    kept = 0
    for i in range(len(ways)):
        x = np.int64(slots[find(known, slots, size, names[2 * i])]) - 1
        y = np.int64(slots[find(known, slots, size, names[2 * i + 1])]) - 1
        if x >= 0 and y >= 0 and is_edge(ahead, behind, x, y):
            pairs[kept] = pack(x, y)
            kept += 1
    return kept


@njit(cache=True)
def keep_once(ways):
    """Keep each of the sorted edges once; returns how many there are."""
    kept = min(1, len(ways))
    for i in range(1, len(ways)):
        if ways[i] != ways[kept - 1]:
            ways[kept] = ways[i]
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


@njit
def pieces_needed(lists, pairs, n):
    """How much of the array new pieces for these pairs will take."""
    needed = 0
    i = 0
    while i < n:
        end = run_end(pairs, i, n)
        needed += enlarged(lists, upper(pairs[i]), end - i)
        i = end
    return needed


@njit(cache=True)
def room_needed(out, into, ways, back):
    """The same for edges and for the way back."""
    n = len(ways)
    return pieces_needed(bare(out), bare(ways), n), pieces_needed(bare(into), bare(back), n)


@njit
def extend(lists, other, pairs, n, top):
    """Add pairs; `other` are the lists of the other direction, `top` is the array's end.

    Returns the new end, and how many of the nodes had no edge before.
    """
    woken = 0
    i = 0
    while i < n:
        x = upper(pairs[i])
        end = run_end(pairs, i, n)
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
            lists.data[j] = lower(pairs[i])
            j += 1
            i += 1
    return top, woken


@njit(cache=True)
def add_edges(out, into, ways, back, top, back_top):
    """Add edges to both lists; returns their new ends, and how many nodes had no edge before."""
    ahead, behind, n = bare(out), bare(into), len(ways)
    top, woken = extend(ahead, behind, bare(ways), n, top)
    back_top, more = extend(behind, ahead, bare(back), n, back_top)
    return top, back_top, woken + more


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


@njit
def withdraw(lists, other, pairs, n):
    """Take pairs away, all of which are there; returns how many nodes have no edge any more."""
    asleep = 0
    i = 0
    while i < n:
        x = upper(pairs[i])
        end = run_end(pairs, i, n)
        if end - i == 1:
            drop(lists, x, lower(pairs[i]))
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
def remove_edges(out, into, ways, back):
    """Take edges out of both lists; returns how many nodes have no edge any more."""
    ahead, behind, n = bare(out), bare(into), len(ways)
    asleep = withdraw(ahead, behind, bare(ways), n)
    return asleep + withdraw(behind, ahead, bare(back), n)


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
