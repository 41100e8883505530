"""Edges that come: rows grow and components merge."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.nodes import lower, upper
from tidelog.closure.kernels.rows import (
    DEAR,
    DONE,
    NEED,
    NEXT,
    PAUSE,
    ROOM,
    SLICE,
    TOP,
    WORK,
    gather,
    give_column,
    is_full,
    merge,
    put,
    put_row,
    reaches,
    set_row,
    write_row,
)
from tidelog.closure.kernels.strong import BOUNDS, ORDER


@njit(cache=True)
def name_columns(r, ids, order):
    """Columns for nodes that have none, in this order: those that reach one another together."""
    for i in range(len(order)):
        give_column(r, ids, order[i])


@njit(cache=True)
def mark_tails(ways, fresh):
    for i in range(len(ways)):
        fresh[upper(ways[i])] = 1


@njit
def is_stale(out, r, fresh, order, first, end):
    """Has a component that is complete a new edge, or a successor that has changed?"""
    for i in range(first, end):
        x = order[i]
        if fresh[x] != 0:
            return True
        for j in range(out.at[x], out.at[x] + out.used[x]):
            if fresh[out.data[j]] == 2:
                return True
    return False


@njit(cache=True)
def close(out, r, log, scratch, found, fresh):
    """Rows of all components, in the order of completion, from info[NEXT] on.

    `fresh` is 1 for a node with a new edge, and becomes 2 for one whose row has changed.
    """
    order, bounds = scratch[ORDER], scratch[BOUNDS]
    for i in range(r.info[NEXT], found):
        r.info[NEXT] = i
        if is_full(r):
            return ROOM
        if r.info[WORK] > SLICE:
            r.info[WORK] = 0
            return PAUSE
        first, end = np.int64(bounds[i]), np.int64(bounds[i + 1])
        c = np.int64(r.root[order[first]])
        changed = end - first > r.members[c]
        if changed:
            for k in range(first, end):
                d = r.root[order[k]]
                if r.members[d] > r.members[c]:
                    c = np.int64(d)
            for k in range(first, end):
                d = np.int64(r.root[order[k]])
                if d != c:
                    merge(r, log, c, d)
        elif not is_stale(out, r, fresh, order, first, end):
            continue
        gather(out, r, c)
        length, count = write_row(r)
        if count != r.count[c]:
            set_row(r, log, c, length, count)
            changed = True
        if changed:
            for k in range(first, end):
                fresh[order[k]] = 2
    r.info[NEXT] = found
    return DONE


@njit
def sources(into, r, u, column, num, queue):
    """Components that reach u and not yet the column, into the queue; returns how many.

    What reaches the column passes it on to all that reach it in turn: no need to look there.
    """
    c = r.root[u]
    queue[0] = c
    num[c] = 1
    n = 1
    k = 0
    work = np.int64(0)
    while k < n:
        c = queue[k]
        k += 1
        x = c
        while True:
            work += into.used[x]
            for j in range(into.at[x], into.at[x] + into.used[x]):
                d = r.root[into.data[j]]
                if num[d] == 0 and not reaches(r, d, column):
                    num[d] = 1
                    queue[n] = d
                    n += 1
            x = r.ring[x]
            if x == c:
                break
    for k in range(n):
        num[queue[k]] = 0
    r.info[WORK] += work
    return n


@njit
def join_edge(r, log, u, v, queue, n):
    """Components in the queue now reach v and all that it reaches.

    If v reaches u, those that v reaches are on a cycle with it, and their common row is
    what v reached before, with v.
    """
    d = np.int64(r.root[v])
    column = r.column[v]
    turns = u == v or reaches(r, d, r.column[u])
    common = d
    for k in range(n):
        c = np.int64(queue[k])
        if turns and (c == d or reaches(r, d, r.column[c])):
            if r.members[c] > r.members[common]:
                common = c
            continue
        put_row(r, c)
        put_row(r, d)
        put(r, column)
        length, count = write_row(r)
        set_row(r, log, c, length, count)
    if turns:
        put_row(r, d)
        put(r, column)
        length, count = write_row(r)
        for k in range(n):
            c = np.int64(queue[k])
            if c != common and c != d and reaches(r, d, r.column[c]):
                merge(r, log, common, c)
        if common != d:
            merge(r, log, common, d)
        set_row(r, log, common, length, count)


@njit(cache=True)
def join(into, r, ids, log, ways, num, queue, budget):
    """Edges one after the other, from info[NEXT] on, until the work exceeds the budget."""
    for i in range(r.info[NEXT], len(ways)):
        r.info[NEXT] = i
        u, v = upper(ways[i]), lower(ways[i])
        give_column(r, ids, v)
        give_column(r, ids, u)
        if reaches(r, np.int64(r.root[u]), r.column[v]):
            continue
        if r.info[WORK] > min(budget, SLICE):
            return DEAR if r.info[WORK] > budget else PAUSE
        n = sources(into, r, u, r.column[v], num, queue)
        most = np.int64(1)
        for k in range(n + 1):
            c = queue[k] if k < n else r.root[v]
            most += min(len(r.sum), np.int64(r.length[c]) + r.length[r.root[v]] + 1)
        if r.info[TOP] + most > len(r.words):
            r.info[NEED] = most
            return ROOM
        r.info[WORK] += most
        join_edge(r, log, u, v, queue, n)
    r.info[NEXT] = len(ways)
    return DONE
