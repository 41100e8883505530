"""The transitive closure of a set of edges, maintained while edges are added and removed.

Nodes that reach one another form a component (strongly connected), and share one row of bits:
the nodes that they reach. A closure is then one pass over the components, successors first,
each row the union of its successors' rows. An edge that comes changes the rows of those that
reach its tail and did not reach its head; an edge that goes changes rows from its tail
backwards, until they come out the same. What changed is read off old and new rows.

Ibaraki and Katoh (On-line computation of transitive closures of graphs, 1983) insert edges
like this, source by source. Deletion departs from them: see `kernels/cutting.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidelog.closure.digraph import HALF, Digraph, Ways, turned
from tidelog.closure.growing_arrays import NO_PAIRS, Pairs, as_pairs, new
from tidelog.closure.kernels import (
    edge_deletion,
    edge_insertion,
    pair_emission,
    pair_queries,
    rows,
    strong,
)
from tidelog.closure.row_arrays import NO_LOG, Numbers, Queue, Rows, Scratch
from tidelog.program.diagnostics import LimitError

BULK = 8  # from one new edge in so many on, all components are passed
EDGE = 10  # what an edge costs in such a pass, in words of rows
TRIAL = 16  # the share of such a pass that edges may cost one by one, before it is made
WORD = 15  # bytes for a word of a row and its place, a quarter of it spare
SPARE = 1 << 16  # words of rows, or nodes, that may lie idle
SLICE = 50_000_000  # words and edges between two ticks


class Reachability:
    """Pairs (x, y) such that a path of at least one edge leads from x to y.

    >>> closure = Reachability()
    >>> closure.insert([(1, 2), (2, 3)]).tolist()
    [[2, 3], [1, 2], [1, 3]]
    >>> closure.delete([(2, 3)]).tolist()
    [[2, 3], [1, 3]]

    `tick` is called now and then with the number of pairs so far. What it raises, like any
    other error, leaves the closure as it was.
    """

    def __init__(self, tick: Callable[[int], None] | None = None) -> None:
        self._graph = Digraph()
        self._rows = Rows.none()
        self._queue = Queue.for_nodes(0)
        self._num: Numbers = new(0, np.int32)
        self._nodes = 0  # that have an entry
        self._tick = tick

    @property
    def size(self) -> int:
        """The number of pairs."""
        return int(self._rows.info[rows.SIZE])

    def memory(self) -> int:
        """Bytes of all arrays."""
        own = self._rows.nbytes() + self._queue.nbytes() + self._num.nbytes
        return self._graph.memory() + own

    @staticmethod
    def estimate(edges: ArrayLike) -> int:
        """Bytes that a closure of these edges will take, about, and hardly more."""
        closure = Reachability()
        closure._enter(as_pairs(edges))
        out, scratch = closure._graph.out, closure._scratch()
        found = strong.condense(out, closure._rows, closure._nodes, scratch)
        return closure.memory() + WORD * int(strong.most_words(out, scratch, found))

    def edges(self) -> Pairs:
        return self._graph.pairs()

    def pairs(self) -> Pairs:
        pairs: Pairs = new((self.size, 2), np.uint32, clear=False)
        names = new(self._nodes, np.uint32, clear=False)
        pair_emission.all_pairs(self._rows, self._graph.ids, self._nodes, names, pairs.ravel())
        return pairs

    def contains(self, pairs: ArrayLike) -> NDArray[np.bool_]:
        """Of each pair, whether it is there."""
        asked = as_pairs(pairs)
        found = new(len(asked), np.bool_)
        pair_queries.are_reached(self._rows, self._graph.numbers(asked), found)
        return found

    def affected(self, edges: ArrayLike) -> Pairs:
        """Pairs that some path through one of the edges connects, whether the edges are there or
        not; a superset of what deleting them takes away."""
        numbers = self._graph.numbers(as_pairs(edges))
        marks, listed = new(self._nodes, np.uint8), new(self._nodes, np.int32, clear=False)
        ask = (self._rows, self._graph.ids, self._nodes, numbers, marks, listed)
        pairs: Pairs = new((pair_queries.pairs_through(*ask, NO_PAIRS), 2), np.uint32, clear=False)
        pair_queries.pairs_through(*ask, pairs)
        return pairs

    def insert(self, edges: ArrayLike) -> Pairs:
        """Add edges; returns the pairs that became reachable."""
        ways = self._graph.absent(as_pairs(edges), arranged=True)
        if not len(ways):
            return NO_PAIRS
        self._fit()
        return self._change(ways, self._graph.reserve(ways), gone=False)

    def delete(self, edges: ArrayLike) -> Pairs:
        """Remove edges; returns the pairs that stopped being reachable."""
        ways = self._graph.present(as_pairs(edges))
        if not len(ways):
            return NO_PAIRS
        return self._change(ways, turned(ways, self._graph.nodes), gone=True)

    def _change(self, ways: Ways, back: Ways, gone: bool) -> Pairs:
        graph = self._graph
        do, undo = (graph.remove, graph.add) if gone else (graph.add, graph.remove)
        before = self._begin()
        do(ways, back)
        try:
            (self._cut if gone else self._join)(ways)
            if self._tick is not None:
                self._tick(self.size)
            count = abs(self.size - int(before[rows.SIZE]))
            pairs: Pairs = new((count, 2), np.uint32, clear=False)
            names = new(self._nodes, np.uint32, clear=False)
            flat = pairs.ravel()
            if pair_emission.changed_pairs(self._rows, graph.ids, gone, names, flat) != count:
                raise AssertionError("rows and the number of their bits differ")
        except BaseException:
            rows.undo(self._rows)
            self._queue.clear()
            self._num.fill(0)
            self._rows.info[rows.TOP :] = before[rows.TOP :]
            undo(ways, back)
            raise
        self._end()
        self._tidy()
        return pairs

    def _begin(self) -> NDArray[np.int64]:
        """Ready for a change; returns the figures that undoing it needs."""
        log = new(self._nodes * rows.LOG, np.int64, clear=False)
        self._rows = self._rows._replace(log=log)
        self._rows.info[rows.SLICE] = SLICE
        return self._rows.info.copy()

    def _end(self) -> None:
        rows.forget_log(self._rows)
        self._rows = self._rows._replace(log=NO_LOG)

    def _join(self, ways: Ways) -> None:
        """Edges one by one if they are few; in one pass if they are many or that gets expensive."""
        graph, info, scratch = self._graph, self._rows.info, self._scratch()
        budget = graph.edges * (EDGE + int(info[rows.LIVE]) // self._nodes) // TRIAL
        dear = len(ways) * BULK >= graph.edges
        info[rows.NEXT] = info[rows.WORK] = 0
        while not dear:
            said = edge_insertion.join(graph.into, self._rows, ways, scratch, budget)
            if said == rows.DONE:
                return
            if said == rows.PAUSE:
                budget -= int(info[rows.WORK])
                info[rows.WORK] = 0
            dear = said == rows.DEAR
            self._resume(said)
        self._close(ways, scratch)

    def _close(self, ways: Ways, scratch: Scratch) -> None:
        out, info = self._graph.out, self._rows.info
        marks = new(self._nodes, np.uint8)
        marks[ways >> HALF] = 1
        found = strong.condense(out, self._rows, self._nodes, scratch)
        info[rows.NEXT] = info[rows.WORK] = 0
        while said := edge_insertion.close(out, self._rows, scratch, found, marks):
            self._resume(said)

    def _cut(self, ways: Ways) -> None:
        graph, info, scratch = self._graph, self._rows.info, self._scratch()
        queue = self._queue.for_change(self._nodes, len(ways))
        degree = graph.edges // (self._nodes - graph.asleep + 1) + 1
        info[rows.WORK] = info[rows.HEAP] = info[rows.PIECE] = info[rows.PIECES] = 0
        info[rows.LOSSES] = 1
        edge_deletion.begin_cut(self._rows, ways, queue)
        while said := edge_deletion.cut(
            graph.out, graph.into, self._rows, ways, queue, scratch, degree
        ):
            self._resume(said)
        edge_deletion.forget_losses(self._rows, queue)

    def _resume(self, said: int) -> None:
        """Allocate what a kernel stopped for."""
        if said == rows.ROOM:
            info = self._rows.info
            capacity = int(info[rows.CAPACITY])
            larger = capacity + (capacity if capacity < SPARE else capacity // 2)
            needed = int(info[rows.TOP] + info[rows.NEED])
            self._rows = self._rows.for_words(max(larger, needed))
        if self._tick is not None:
            self._tick(self.size)

    def _scratch(self) -> Scratch:
        return Scratch.around(self._num, self._nodes)

    def _fit(self) -> None:
        """Entries for nodes that are new in the graph."""
        if self._nodes == self._graph.nodes:
            return
        capacity = self._graph.capacity
        if capacity > len(self._num):
            num, queue = new(capacity, np.int32), Queue.for_nodes(capacity)
            self._rows = self._rows.for_nodes(capacity)
            self._num, self._queue = num, queue
        self._rows.open_entries(self._nodes, self._graph.nodes)
        self._nodes = self._graph.nodes

    def _tidy(self) -> None:
        """Free idle memory, if there is enough memory to copy."""
        r, graph = self._rows, self._graph
        try:
            if graph.asleep > self._nodes // 2 + SPARE:
                self._renew()
                return
            graph.tidy()
            live = int(r.info[rows.LIVE])
            if r.info[rows.TOP] > 2 * live + SPARE:
                capacity = 2 * live + SPARE  # as many as there may be before the next time
                places = new(capacity, np.int32, clear=False)
                words = new(capacity, np.uint64, clear=False)
                rows.move_rows(r, self._nodes, places, words)
                r.info[rows.CAPACITY] = capacity
                self._rows = r._replace(places=places, words=words)
        except (LimitError, MemoryError):
            pass

    def _enter(self, edges: Pairs) -> Ways:
        """Add edges to the graph alone."""
        ways = self._graph.absent(edges, arranged=True)
        self._fit()
        self._graph.add(ways, self._graph.reserve(ways))
        return ways

    def _renew(self) -> None:
        """Rebuild everything from the edges, without the nodes that have none."""
        fresh = Reachability()
        ways = fresh._enter(self.edges())
        fresh._begin()
        fresh._close(ways, fresh._scratch())
        fresh._end()
        vars(self).update({**vars(fresh), "_tick": self._tick})
