"""Edges that come: rows grow and components merge."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.lists import find_pair
from tidelog.closure.kernels.nodes import lower, pack, upper
from tidelog.closure.kernels.rows import (
    CAPACITY,
    DEAR,
    DONE,
    NEED,
    NEXT,
    PAUSE,
    ROOM,
    SLICE,
    TOP,
    WORDS,
    WORK,
    gather,
    is_full,
    merge,
    put,
    put_row,
    reaches,
    set_row,
    write_row,
)


@njit
def is_stale(out, s, fresh, first, end):
    """Has a component a new edge, or a successor that has changed?"""
    for i in range(first, end):
        x = s.order[i]
        if fresh[x] != 0:
            return True
        for j in range(out.at[x], out.at[x] + out.used[x]):
            if fresh[out.data[j]] == 2:
                return True
    return False


@njit
def unite(r, s, first, end):
    """All of these nodes become one component; returns its root, that of the largest part."""
    c = np.int64(r.root[s.order[first]])
    for k in range(first, end):
        d = r.root[s.order[k]]
        if r.members[d] > r.members[c]:
            c = np.int64(d)
    for k in range(first, end):
        d = np.int64(r.root[s.order[k]])
        if d != c:
            merge(r, c, d)
    return c


@njit(cache=True)
def close(out, rows, scratch, found, marks):
    """Rows of all components, in the order of completion, from info[NEXT] on.

    A mark is 1 for a node with a new edge, and becomes 2 for one whose row has changed.
    """
    o, r, s, fresh = bare(out), bare(rows), bare(scratch), bare(marks)
    for i in range(r.info[NEXT], found):
        r.info[NEXT] = i
        if is_full(r):
            return ROOM
        if r.info[WORK] > r.info[SLICE]:
            r.info[WORK] = 0
            return PAUSE
        first, end = np.int64(s.bounds[i]), np.int64(s.bounds[i + 1])
        c = np.int64(r.root[s.order[first]])
        changed = end - first > r.members[c]
        if changed:
            c = unite(r, s, first, end)
        elif not is_stale(o, s, fresh, first, end):
            continue
        gather(o, r, c)
        length, count = write_row(r)
        if count != r.bits[c]:
            set_row(r, c, length, count)
            changed = True
        if changed:
            for k in range(first, end):
                fresh[s.order[k]] = 2
    r.info[NEXT] = found
    return DONE


@njit
def sources(into, r, s, pairs, i, n_pairs):
    """Components that reach the tail of edge i, but not its head, into s.frames.

    All that reaches a component which reaches the head does so itself: no need to look there.
    That is so for edges joined already; those that follow count as not there. Returns how many
    components there are.
    """
    u, v = upper(pairs[i]), lower(pairs[i])
    c = r.root[u]
    s.frames[0] = c
    s.num[c] = 1
    n = 1
    k = 0
    work = np.int64(0)
    while k < n:
        c = s.frames[k]
        k += 1
        x = c
        while True:
            work += into.used[x]
            for j in range(into.at[x], into.at[x] + into.used[x]):
                y = into.data[j]
                d = r.root[y]
                if s.num[d] != 0 or find_pair(pairs, i + 1, n_pairs, pack(y, x)):
                    continue
                if not reaches(r, d, v):
                    s.num[d] = 1
                    s.frames[n] = d
                    n += 1
            x = r.ring[x]
            if x == c:
                break
    for k in range(n):
        s.num[s.frames[k]] = 0
    r.info[WORK] += work
    return n


@njit
def most_room(r, v, s, n):
    """Words that the new rows of the components in s.frames take at most."""
    more = np.int64(r.length[r.root[v]]) + 1
    most = min(r.info[WORDS], more) + 1
    for k in range(n):
        most += min(r.info[WORDS], r.length[s.frames[k]] + more)
    return most


@njit
def join_edge(r, u, v, s, n):
    """The components in s.frames now reach v and all that it reaches.

    If v reaches u, those that v reaches are on a cycle with it, and their common row is
    what v reached before, with v.
    """
    d = np.int64(r.root[v])
    turns = u == v or reaches(r, d, u)
    common = d
    for k in range(n):
        c = np.int64(s.frames[k])
        if turns and (c == d or reaches(r, d, c)):
            if r.members[c] > r.members[common]:
                common = c
            continue
        put_row(r, c)
        put_row(r, d)
        put(r, v)
        length, count = write_row(r)
        set_row(r, c, length, count)
    if turns:
        put_row(r, d)
        put(r, v)
        length, count = write_row(r)
        for k in range(n):
            c = np.int64(s.frames[k])
            if c != common and c != d and reaches(r, d, c):
                merge(r, common, c)
        if common != d:
            merge(r, common, d)
        set_row(r, common, length, count)


@njit(cache=True)
def join(into, rows, ways, scratch, budget):
    """Edges one after the other, from info[NEXT] on, until the work exceeds the budget."""
    behind, r, s, pairs = bare(into), bare(rows), bare(scratch), bare(ways)
    for i in range(r.info[NEXT], len(ways)):
        r.info[NEXT] = i
        u, v = upper(ways[i]), lower(ways[i])
        if reaches(r, np.int64(r.root[u]), v):
            continue
        if r.info[WORK] > min(budget, r.info[SLICE]):
            return DEAR if r.info[WORK] > budget else PAUSE
        n = sources(behind, r, s, pairs, i, len(ways))
        r.info[NEED] = most_room(r, v, s, n)
        if r.info[TOP] + r.info[NEED] > r.info[CAPACITY]:
            return ROOM
        r.info[WORK] += r.info[NEED]
        join_edge(r, u, v, s, n)
    r.info[NEXT] = len(ways)
    return DONE
