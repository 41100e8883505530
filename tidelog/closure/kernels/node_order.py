"""Numbers for new nodes, so that those that one node reaches stand close together.

Rows are short then, and what is used together lies together in memory. The order is that in
which a search in depth leaves the nodes; it begins where no new edge leads to.
"""

from __future__ import annotations

from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.nodes import find, lower, pack, upper

# Rows of the scratch array.
START, STACK, PLACE, NUMBER = range(4)
FREE, LED_TO, ENTERED = 0, -1, -2  # in NUMBER, while a node has no number


@njit(cache=True)
def arrange(ways, first, scratch):
    """scratch[NUMBER] gets 1, 2, ... for the nodes from `first` on; it comes cleared."""
    start, stack, place, number = scratch[START], scratch[STACK], scratch[PLACE], scratch[NUMBER]
    n = len(start) - 1
    old = len(ways)  # edges of old nodes: they are sorted, and these come first
    for i in range(len(ways)):
        x, y = upper(ways[i]) - first, lower(ways[i]) - first
        if x >= 0:
            start[x + 1] += 1
            old -= 1
            if y >= 0:
                number[y] = LED_TO
    start[0] = old
    for x in range(n):
        place[x] = start[x]
        start[x + 1] += start[x]
    left = 0
    for wanted in (FREE, LED_TO):
        for root in range(n):
            if number[root] != wanted:
                continue
            number[root] = ENTERED
            stack[0] = root
            depth = 0
            while depth >= 0:
                x = stack[depth]
                if place[x] == start[x + 1]:
                    left += 1
                    number[x] = left
                    depth -= 1
                    continue
                y = lower(ways[place[x]]) - first
                place[x] += 1
                if y >= 0 and (number[y] == FREE or number[y] == LED_TO):
                    number[y] = ENTERED
                    depth += 1
                    stack[depth] = y


@njit(cache=True)
def renumber(ids, table, ways, first, scratch, names):
    """Give the nodes from `first` on their new numbers, in the edges too."""
    number, slots = scratch[NUMBER], scratch[STACK]
    known, slots_at = bare(ids), bare(table)
    n = len(names)
    for x in range(n):
        slots[x] = find(known, slots_at, len(table), ids[first + x])
        names[number[x] - 1] = ids[first + x]
    for x in range(n):
        table[slots[x]] = first + number[x]
        ids[first + x] = names[x]
    for i in range(len(ways)):
        x, y = upper(ways[i]), lower(ways[i])
        if x >= first:
            x = first + number[x - first] - 1
        if y >= first:
            y = first + number[y - first] - 1
        ways[i] = pack(x, y)


@njit(cache=True)
def by_first(ways, ends, found):
    """Counting sort: the pairs by their first nodes; `ends` has a place for each node and one
    more, and comes cleared."""
    pairs, end, ordered = bare(ways), bare(ends), bare(found)
    for i in range(len(ways)):
        end[upper(pairs[i]) + 1] += 1
    for x in range(1, len(ends)):
        end[x] += end[x - 1]
    for i in range(len(ways)):
        x = upper(pairs[i])
        ordered[end[x]] = pairs[i]
        end[x] += 1
