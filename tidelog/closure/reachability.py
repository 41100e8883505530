"""The transitive closure of a set of edges, kept while edges come and go.

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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.closure.arrays import Pairs, as_pairs, grown, new
from tidelog.closure.graph import Graph, Ways, turned
from tidelog.closure.kernels import cutting, emission, joining, rows, strong
from tidelog.program.diagnostics import LimitError

BULK = 8  # from one new edge in so many on, all components are passed
EDGE = 10  # what an edge costs in such a pass, in words of rows
SPARE = 1 << 16  # words of rows, or nodes, that may lie idle


class Rows(NamedTuple):
    """Components and their rows. By node: root, ring, column, logged; by root: the others."""

    root: NDArray[np.int32]
    ring: NDArray[np.int32]
    members: NDArray[np.int32]
    at: NDArray[np.int64]
    length: NDArray[np.int32]
    count: NDArray[np.int32]  # of bits
    column: NDArray[np.int32]
    logged: NDArray[np.int32]
    named: NDArray[np.uint32]  # the ids of columns
    index: NDArray[np.int32]
    words: NDArray[np.uint64]
    sum: NDArray[np.uint64]  # a row in the making
    seen: NDArray[np.uint64]
    info: NDArray[np.int64]


_BY_NODE = ("root", "ring", "members", "at", "length", "count", "column", "logged", "named")


def _no_rows() -> Rows:
    kinds = {"at": np.int64, "named": np.uint32, "info": np.int64}
    words = ("words", "sum", "seen")
    return Rows(
        **{
            name: new(
                rows.INFO if name == "info" else 0,
                np.uint64 if name in words else kinds.get(name, np.int32),
            )
            for name in Rows._fields
        }
    )


class Reachability:
    """Pairs (x, y) such that a path of at least one edge leads from x to y.

    >>> closure = Reachability()
    >>> closure.insert([(1, 2), (2, 3)]).tolist()
    [[2, 3], [1, 3], [1, 2]]
    >>> closure.delete([(2, 3)]).tolist()
    [[2, 3], [1, 3]]

    `tick` is called now and then with the number of pairs so far. What it raises, like any
    other error, leaves the closure as it was.
    """

    def __init__(self, tick: Callable[[int], None] | None = None) -> None:
        self._graph = Graph()
        self._rows = _no_rows()
        self._nodes = 0  # that have an entry
        self._num: NDArray[np.int32] = new(0, np.int32)
        self._tick = tick

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return int(self._rows.info[rows.SIZE])

    def memory(self) -> int:
        """Bytes of all arrays."""
        return (
            self._graph.memory() + self._num.nbytes + sum(array.nbytes for array in self._rows)
        )

    def edges(self) -> Pairs:
        return self._graph.pairs()

    def pairs(self) -> Pairs:
        pairs: Pairs = new((self.size, 2), np.uint32, clear=False)
        names = new(self._graph.capacity, np.uint32, clear=False)
        emission.all_pairs(self._rows, self._graph.ids, self._nodes, names, pairs)
        return pairs

    def insert(self, edges: Any) -> Pairs:
        """Add edges; returns the pairs that became reachable."""
        ways = self._graph.absent(as_pairs(edges))
        self._fit()
        return self._changed(ways, self._graph.reserve(ways), self._join, gone=False)

    def delete(self, edges: Any) -> Pairs:
        """Take edges away; returns the pairs that stopped being reachable."""
        ways = self._graph.present(as_pairs(edges))
        return self._changed(ways, turned(ways), self._cut, gone=True)

    def _changed(
        self, ways: Ways, back: Ways, follow: Callable[[Ways, NDArray[Any]], None], gone: bool
    ) -> Pairs:
        if not len(ways):
            return new((0, 2), np.uint32)
        graph, info = self._graph, self._rows.info
        change, undo = (graph.remove, graph.add) if gone else (graph.add, graph.remove)
        log = new((self._nodes, 7), np.int64, clear=False)
        before = info.copy()
        change(ways, back)
        try:
            follow(ways, log)
            if self._tick is not None:
                self._tick(self.size)
            count = abs(self.size - int(before[rows.SIZE]))
            pairs: Pairs = new((count, 2), np.uint32, clear=False)
            names = new(graph.capacity, np.uint32, clear=False)
        except BaseException:
            rows.undo(self._rows, log)
            before[rows.COLUMNS] = info[rows.COLUMNS]
            info[:] = before
            undo(ways, back)
            raise
        emission.changed_pairs(self._rows, graph.ids, log, gone, names, pairs)
        rows.forget_log(self._rows, log)
        self._tidy()
        return pairs

    def _join(self, ways: Ways, log: NDArray[Any]) -> None:
        """Edges one by one if they are few; otherwise, or if that becomes dear, in one pass."""
        graph, info = self._graph, self._rows.info
        dear = len(ways) * BULK >= graph.edges
        budget = graph.edges * (EDGE + int(info[rows.LIVE]) // self._nodes)
        queue = new(self._nodes, np.int32, clear=False)
        info[rows.NEXT] = info[rows.WORK] = 0
        while not dear:
            said = joining.join(
                graph.into, self._rows, graph.ids, log, ways, self._num, queue, budget
            )
            if said == rows.DONE:
                return
            dear = said == rows.DEAR
            if said == rows.PAUSE:
                budget -= int(info[rows.WORK])
                info[rows.WORK] = 0
            self._resume(said)
        self._close(ways, log)

    def _close(self, ways: Ways, log: NDArray[Any]) -> None:
        graph, scratch = self._graph, self._scratch()
        fresh = new(self._nodes, np.uint8)
        joining.mark_tails(ways, fresh)
        found = strong.condense(
            graph.out, graph.into, self._rows.root, self._nodes, self._num, scratch
        )
        joining.name_columns(self._rows, graph.ids, scratch[strong.ORDER, : self._nodes])
        info = self._rows.info
        info[rows.NEXT] = info[rows.WORK] = 0
        while said := joining.close(graph.out, self._rows, log, scratch, found, fresh):
            self._resume(said)

    def _cut(self, ways: Ways, log: NDArray[Any]) -> None:
        graph, info = self._graph, self._rows.info
        heap = new(self._nodes, np.int64, clear=False)
        waiting, lost = new(self._nodes, np.uint8), new(self._nodes, np.int32)
        link = new(len(ways), np.int32, clear=False)
        scratch = self._scratch()
        degree = graph.edges // (self._nodes - graph.asleep + 1) + 1
        info[rows.HEAP] = info[rows.PIECE] = info[rows.PIECES] = info[rows.WORK] = 0
        cutting.begin_cut(self._rows, ways, heap, waiting, lost, link)
        while said := cutting.cut(
            *(graph.out, graph.into, self._rows, log, ways, heap, waiting, lost, link),
            *(self._num, scratch, degree),
        ):
            self._resume(said)

    def _resume(self, said: int) -> None:
        """Give a kernel that stopped what it needs."""
        r = self._rows
        if said == rows.ROOM:
            size = max(len(r.words) + len(r.words) // 2, int(r.info[rows.TOP] + r.info[rows.NEED]))
            self._rows = r._replace(index=grown(r.index, size), words=grown(r.words, size))
        if self._tick is not None:
            self._tick(self.size)

    def _scratch(self) -> NDArray[Any]:
        return new((6, self._nodes + 1), np.int32, clear=False)

    def _fit(self) -> None:
        """Entries for nodes that are new in the graph."""
        capacity = self._graph.capacity
        if capacity > len(self._num):
            columns = -(-capacity // 1024) * 1024
            arrays = {name: grown(getattr(self._rows, name), capacity) for name in _BY_NODE}
            sums = {"sum": new(columns // 64, np.uint64), "seen": new(columns // 65536 + 1, np.uint64)}
            self._num = new(capacity, np.int32)
            self._rows = self._rows._replace(**arrays, **sums)
        rows.open_entries(self._rows, self._nodes, self._graph.nodes)
        self._nodes = self._graph.nodes

    def _tidy(self) -> None:
        """Give back memory that lies idle, if there is enough memory to do it."""
        r, graph = self._rows, self._graph
        try:
            if graph.asleep > self._nodes // 2 + SPARE:
                self._renew()
                return
            graph.tidy()
            live = int(r.info[rows.LIVE])
            if r.info[rows.TOP] > 2 * live + SPARE:
                index = new(live + live // 4, np.int32)
                words = new(live + live // 4, np.uint64)
                rows.move_rows(r, self._nodes, index, words)
                self._rows = r._replace(index=index, words=words)
        except LimitError:
            pass

    def _renew(self) -> None:
        """Build everything anew from the edges: nodes without edges are forgotten."""
        fresh = Reachability()
        graph = fresh._graph
        ways = graph.absent(self.edges())
        fresh._fit()
        graph.add(ways, graph.reserve(ways))
        log = new((fresh._nodes, 7), np.int64, clear=False)
        fresh._close(ways, log)
        rows.forget_log(fresh._rows, log)
        vars(self).update({**vars(fresh), "_tick": self._tick})
