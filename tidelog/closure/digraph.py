"""A set of directed edges between ids: numbers for nodes, lists of neighbours both ways."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.closure.growing_arrays import Pairs, grown, new
from tidelog.closure.kernels import lists as kernels
from tidelog.closure.kernels import node_order, nodes, pair_queries
from tidelog.program.diagnostics import LimitError

Ways = NDArray[np.uint64]  # edges as packed pairs of node numbers, sorted, each once
HALF = np.uint64(32)
MOST_NODES = 1 << 30  # twice as many fit 32-bit numbers
STEP_DOWN = 1 << 16  # from here on memory matters more than time
FEW = 64  # nodes whose numbers are close together anyway
SLACK = 6  # times what is needed, before lists are moved together


class Lists(NamedTuple):
    """Neighbours of every node x: data[at[x] : at[x] + used[x]], with room for room[x]."""

    at: NDArray[np.int64]
    used: NDArray[np.int32]
    room: NDArray[np.int32]
    data: NDArray[np.int32]

    def resized(self, nodes: int) -> Lists:
        at, used, room = (grown(array, nodes) for array in (self.at, self.used, self.room))
        return Lists(at, used, room, self.data)

    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)


def _no_lists() -> Lists:
    return Lists(new(0, np.int64), new(0, np.int32), new(0, np.int32), new(0, np.int32))


class Digraph:
    """The edges. A node without edges keeps its number, and is counted in `asleep`."""

    def __init__(self) -> None:
        self.ids: NDArray[np.uint32] = new(0, np.uint32)
        self.table: NDArray[np.int32] = new(1, np.int32)
        self.out = _no_lists()
        self.into = _no_lists()
        self._tops = [0, 0]  # ends of the two arrays of lists
        self.nodes = 0
        self.asleep = 0
        self.edges = 0

    @property
    def capacity(self) -> int:
        return len(self.ids)

    def memory(self) -> int:
        return self.ids.nbytes + self.table.nbytes + self.out.nbytes() + self.into.nbytes()

    def absent(self, edges: Pairs, arranged: bool = False) -> Ways:
        """Those of the edges that are not there; their nodes get numbers.

        If they are to be arranged, new nodes that reach one another get numbers close together.
        """
        flat, ways = edges.ravel(), new(len(edges), np.uint64, clear=False)
        done, kept, first = 0, 0, self.nodes
        while done < len(ways):
            before = self.nodes
            done, kept, self.nodes = kernels.pack_absent(
                self.ids, self.table, self.out, self.into, flat, ways, before, done, kept
            )
            self.asleep += self.nodes - before
            if done < len(ways):
                self._grow()
        ways = _each_once(ways[:kept], self.nodes)
        if arranged and self.nodes - first > FEW:
            ways = self._arranged(ways, first)
        return ways

    def _arranged(self, ways: Ways, first: int) -> Ways:
        fresh = self.nodes - first
        scratch = new((4, fresh + 1), np.int32)
        node_order.arrange(ways, first, scratch)
        ids = new(fresh, np.uint32, clear=False)
        node_order.renumber(self.ids, self.table, ways, first, scratch, ids)
        return in_order(ways, self.nodes)

    def present(self, edges: Pairs) -> Ways:
        """Those of the edges that are there."""
        ways = new(len(edges), np.uint64, clear=False)
        kept = kernels.pack_present(self.ids, self.table, self.out, self.into, edges.ravel(), ways)
        return _each_once(ways[:kept], self.nodes)

    def numbers(self, pairs: Pairs) -> NDArray[np.int32]:
        """The numbers of all ids of the pairs, one after the other; -1 where there is none."""
        found = new(2 * len(pairs), np.int32, clear=False)
        pair_queries.number_known(self.ids, self.table, pairs.ravel(), found)
        return found

    def number(self, name: int) -> int:
        """The number of an id, or -1."""
        return int(nodes.number_of(self.ids, self.table, np.uint32(name)))

    def _grow(self) -> None:
        capacity = max(64, (4 if self.capacity < STEP_DOWN else 2) * self.capacity)
        if capacity > MOST_NODES:
            raise LimitError(f"a closure holds at most {MOST_NODES:,} nodes")
        ids, table = grown(self.ids, capacity), new(2 * capacity, np.int32)
        out, into = self.out.resized(capacity), self.into.resized(capacity)
        nodes.rehash(ids, self.nodes, table)
        self.ids, self.table, self.out, self.into = ids, table, out, into

    def reserve(self, ways: Ways) -> Ways:
        """Make room for edges that will be added; returns them turned round, sorted."""
        back = turned(ways, self.nodes)
        needed, back_needed = kernels.room_needed(self.out, self.into, ways, back)
        self.out = _with_room(self.out, self._tops[0], needed)
        self.into = _with_room(self.into, self._tops[1], back_needed)
        return back

    def add(self, ways: Ways, back: Ways) -> None:
        """Add edges that are absent; there is room. This cannot fail."""
        *self._tops, woken = kernels.add_edges(self.out, self.into, ways, back, *self._tops)
        self.asleep -= woken
        self.edges += len(ways)

    def remove(self, ways: Ways, back: Ways) -> None:
        """Remove edges that are present. This cannot fail, nor can adding them again."""
        self.asleep += kernels.remove_edges(self.out, self.into, ways, back)
        self.edges -= len(ways)

    def pairs(self) -> Pairs:
        edges: Pairs = new((self.edges, 2), np.uint32, clear=False)
        kernels.all_edges(self.out, self.ids, self.nodes, edges)
        return edges

    def tidy(self) -> None:
        """Free memory that lists no longer use."""
        if max(self._tops) > SLACK * self.edges + 4096:
            self.out, self._tops[0] = self._tightened(self.out)
            self.into, self._tops[1] = self._tightened(self.into)

    def _tightened(self, lists: Lists) -> tuple[Lists, int]:
        data = new(self.edges, np.int32, clear=False)
        top = kernels.tighten(lists, self.nodes, data)
        return lists._replace(data=data), top


def _with_room(lists: Lists, top: int, more: int) -> Lists:
    needed = top + more
    if needed <= len(lists.data):
        return lists
    size = needed if top == 0 else needed + needed // 2
    return lists._replace(data=grown(lists.data, size, clear=False))


def _each_once(ways: Ways, nodes: int) -> Ways:
    """The edges in order, each once."""
    if len(ways) < 2:
        return ways
    ways = in_order(ways, nodes)
    return ways[: kernels.keep_once(ways)]


def in_order(ways: Ways, nodes: int) -> Ways:
    """The pairs sorted; where they are few beside the nodes, in place."""
    if len(ways) < nodes:
        ways.sort()
        return ways
    return turned(_by_first(_round(ways), nodes), nodes)


def turned(ways: Ways, nodes: int) -> Ways:
    """The same pairs the other way round, sorted; they come by their first nodes at least."""
    back = _round(ways)
    if len(ways) < nodes:
        back.sort()
        return back
    return _by_first(back, nodes)


def _round(ways: Ways) -> Ways:
    return (ways << HALF) | (ways >> HALF)


def _by_first(ways: Ways, nodes: int) -> Ways:
    """The pairs by their first nodes, and otherwise in the order in which they come."""
    found = new(len(ways), np.uint64, clear=False)
    node_order.by_first(ways, new(nodes + 1, np.int64), found)
    return found
