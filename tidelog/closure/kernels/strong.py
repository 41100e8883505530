"""Strongly connected components, and whether one still holds together.

Tarjan's algorithm (1972) without recursion. It completes a component after all that it
reaches, so the order of completion is the order in which rows can be put together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.nodes import lower, upper

OVER = np.int32(2**31 - 1)  # the number of a node whose component is complete
# Rows of the scratch array.
LOW, PLACE, FRAMES, PATH, ORDER, BOUNDS = range(6)


@njit
def complete(out, root, only, start, num, scratch, done, found):
    """Components that `start` reaches, if not yet known; all of them within component `only`,
    unless that is -1.

    They go into scratch[ORDER], one after the other; scratch[BOUNDS] has their ends. Returns
    how many nodes and components are complete.
    """
    if num[start] != 0:
        return done, found
    low, place, frames = scratch[LOW], scratch[PLACE], scratch[FRAMES]
    path, order, bounds = scratch[PATH], scratch[ORDER], scratch[BOUNDS]
    time = 1
    num[start] = time
    low[start] = time
    place[start] = 0
    frames[0] = start
    path[0] = start
    depth = 0
    length = 1
    while depth >= 0:
        x = frames[depth]
        if place[x] < out.used[x]:
            y = out.data[out.at[x] + place[x]]
            place[x] += 1
            if only >= 0 and root[y] != only:
                continue
            if num[y] == 0:
                time += 1
                num[y] = time
                low[y] = time
                place[y] = 0
                path[length] = y
                length += 1
                depth += 1
                frames[depth] = y
            elif num[y] < low[x]:
                low[x] = num[y]
        else:
            depth -= 1
            if depth >= 0 and low[x] < low[frames[depth]]:
                low[frames[depth]] = low[x]
            if low[x] == num[x]:
                while True:
                    length -= 1
                    y = path[length]
                    num[y] = OVER
                    order[done] = y
                    done += 1
                    if y == x:
                        break
                found += 1
                bounds[found] = done
    return done, found


@njit(cache=True)
def condense(out, into, root, nodes, num, scratch):
    """All components, in the order of completion; returns how many there are.

    Nodes without predecessors first: then nodes that reach one another complete in a row.
    """
    done, found = 0, 0
    scratch[BOUNDS, 0] = 0
    for x in range(nodes):
        if into.used[x] == 0:
            done, found = complete(out, root, -1, x, num, scratch, done, found)
    for x in range(nodes):
        done, found = complete(out, root, -1, x, num, scratch, done, found)
    num[:nodes] = 0
    return found


@njit
def condense_within(out, r, c, num, scratch):
    """The components that component c has fallen apart into; returns how many there are."""
    done, found = 0, 0
    scratch[BOUNDS, 0] = 0
    x = c
    while True:
        done, found = complete(out, r.root, c, x, num, scratch, done, found)
        x = np.int64(r.ring[x])
        if x == c:
            break
    for i in range(done):
        num[scratch[ORDER, i]] = 0
    return found


@njit
def meet(out, into, root, u, v, num, scratch, budget):
    """Does u reach v within its component? By a search from both ends, so many steps at most.

    Returns the steps taken, negative if the answer is no, or not known.
    """
    c = root[u]
    ahead, behind = scratch[FRAMES], scratch[PATH]
    ahead[0], behind[0] = u, v
    num[u], num[v] = 1, 2
    i, k, n, m = 0, 0, 1, 1
    steps, back_steps = 1, 1
    met = u == v
    while not met and i < n and k < m and steps + back_steps < budget:
        if steps <= back_steps:
            x = ahead[i]
            i += 1
            steps += out.used[x]
            for j in range(out.at[x], out.at[x] + out.used[x]):
                y = out.data[j]
                if root[y] == c and num[y] != 1:
                    if num[y] == 2:
                        met = True
                        break
                    num[y] = 1
                    ahead[n] = y
                    n += 1
        else:
            x = behind[k]
            k += 1
            back_steps += into.used[x]
            for j in range(into.at[x], into.at[x] + into.used[x]):
                y = into.data[j]
                if root[y] == c and num[y] != 2:
                    if num[y] == 1:
                        met = True
                        break
                    num[y] = 2
                    behind[m] = y
                    m += 1
    for j in range(n):
        num[ahead[j]] = 0
    for j in range(m):
        num[behind[j]] = 0
    return steps + back_steps if met else -(steps + back_steps)


@njit
def holds_together(out, into, r, ways, edge, link, num, scratch, budget):
    """Is a component still one that lost the edges from `edge` on? Not known is no.

    It is if a path is left for each of the edges.
    """
    while edge > 0:
        u, v = upper(ways[edge - 1]), lower(ways[edge - 1])
        steps = meet(out, into, r.root, u, v, num, scratch, budget)
        if steps < 0:
            return False
        budget -= steps
        edge = link[edge - 1]
    return True
