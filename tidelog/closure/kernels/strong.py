"""Strongly connected components, and whether one still holds together.

Tarjan's algorithm (1972) without recursion. It completes a component after all that it
reaches, so the order of completion is the order in which rows can be put together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.nodes import lower, upper

OVER = np.int32(2**31 - 1)  # the number of a node whose component is complete


@njit
def complete(out, root, only, start, s, done, found):
    """Components that `start` reaches, if not yet known; all of them within component `only`,
    unless that is -1.

    They go into s.order, one after the other; s.bounds has their ends. Returns how many nodes
    and components are complete.
    """
    if s.num[start] != 0:
        return done, found
    time = 1
    s.num[start] = time
    s.low[start] = time
    s.place[start] = 0
    s.frames[0] = start
    s.path[0] = start
    depth = 0
    length = 1
    while depth >= 0:
        x = np.int64(s.frames[depth])
        if s.place[x] < out.used[x]:
            y = np.int64(out.data[out.at[x] + s.place[x]])
            s.place[x] += 1
            if only >= 0 and root[y] != only:
                continue
            if s.num[y] == 0:
                time += 1
                s.num[y] = time
                s.low[y] = time
                s.place[y] = 0
                s.path[length] = y
                length += 1
                depth += 1
                s.frames[depth] = y
            elif s.num[y] < s.low[x]:
                s.low[x] = s.num[y]
        else:
            depth -= 1
            if depth >= 0 and s.low[x] < s.low[s.frames[depth]]:
                s.low[s.frames[depth]] = s.low[x]
            if s.low[x] == s.num[x]:
                while True:
                    length -= 1
                    y = np.int64(s.path[length])
                    s.num[y] = OVER
                    s.order[done] = y
                    done += 1
                    if y == x:
                        break
                found += 1
                s.bounds[found] = done
    return done, found


@njit(cache=True)
def condense(out, rows, nodes, scratch):
    """All components, in the order of completion; returns how many there are."""
    o, r, s = bare(out), bare(rows), bare(scratch)
    done, found = 0, 0
    s.bounds[0] = 0
    for x in range(nodes):
        done, found = complete(o, r.root, -1, x, s, done, found)
    for x in range(nodes):
        s.num[x] = 0
    return found


@njit
def condense_within(out, r, c, s):
    """The components that component c has fallen apart into; returns how many there are."""
    done, found = 0, 0
    s.bounds[0] = 0
    x = c
    while True:
        done, found = complete(out, r.root, c, x, s, done, found)
        x = np.int64(r.ring[x])
        if x == c:
            break
    for i in range(done):
        s.num[s.order[i]] = 0
    return found


@njit
def meet(out, into, root, u, v, s, budget):
    """Does u reach v within its component? By a search from both ends, so many steps at most.

    Returns the steps taken, negative if the answer is no, or not known.
    """
    c = root[u]
    s.frames[0], s.path[0] = u, v
    s.num[u], s.num[v] = 1, 2
    i, k, n, m = 0, 0, 1, 1
    steps, back_steps = 1, 1
    met = u == v
    while not met and i < n and k < m and steps + back_steps < budget:
        if steps <= back_steps:
            x = s.frames[i]
            i += 1
            steps += out.used[x]
            for j in range(out.at[x], out.at[x] + out.used[x]):
                y = out.data[j]
                if root[y] == c and s.num[y] != 1:
                    if s.num[y] == 2:
                        met = True
                        break
                    s.num[y] = 1
                    s.frames[n] = y
                    n += 1
        else:
            x = s.path[k]
            k += 1
            back_steps += into.used[x]
            for j in range(into.at[x], into.at[x] + into.used[x]):
                y = into.data[j]
                if root[y] == c and s.num[y] != 2:
                    if s.num[y] == 1:
                        met = True
                        break
                    s.num[y] = 2
                    s.path[m] = y
                    m += 1
    for j in range(n):
        s.num[s.frames[j]] = 0
    for j in range(m):
        s.num[s.path[j]] = 0
    return steps + back_steps if met else -(steps + back_steps)


@njit
def holds_together(out, into, r, s, pairs, edge, link, budget):
    """Is a component still one that lost the edges from `edge` on? Not known is no.

    It is if a path is left for each of the edges.
    """
    while edge > 0:
        u, v = upper(pairs[edge - 1]), lower(pairs[edge - 1])
        steps = meet(out, into, r.root, u, v, s, budget)
        if steps < 0:
            return False
        budget -= steps
        edge = link[edge - 1]
    return True


@njit(cache=True)
def most_words(out, scratch, found):
    """How many words the rows of all components have at most.

    A row has no more words than its successors' rows and its successors themselves, and no
    more than lie between the first and the last of them.
    """
    o, s = bare(out), bare(scratch)
    # By root, which is the first node of a component: the most, the first and the last word.
    root, most, least, last = s.place, s.frames, s.path, s.low
    total = np.int64(0)
    for i in range(found):
        c = np.int64(s.order[s.bounds[i]])
        count = np.int64(0)
        first, end = np.int64(2**31 - 1), np.int64(-1)
        for k in range(s.bounds[i], s.bounds[i + 1]):
            root[s.order[k]] = c
        for k in range(s.bounds[i], s.bounds[i + 1]):
            x = s.order[k]
            for j in range(o.at[x], o.at[x] + o.used[x]):
                y = o.data[j]
                d = root[y]
                count += 1
                first, end = min(first, y >> 6), max(end, y >> 6)
                if d != c:
                    count += most[d]
                    first, end = min(first, least[d]), max(end, last[d])
        most[c] = min(count, max(end - first + 1, 0))
        least[c], last[c] = first, end
        total += most[c]
    return total
