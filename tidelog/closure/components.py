"""The symmetric-transitive closure of a set of edges, maintained while edges are added and removed.

The closure is an equivalence, so its classes say everything: the connected components of the
graph, directions set aside. New edges unite classes (union-find). For an edge that goes
two searches run, one from each of its ends, in turn: if they meet, nothing has changed; if one
of them finds no more nodes, these are cut off. So an edge that is no bridge costs a short search
as a rule, and a bridge about the smaller part. The dynamic forests of Holm, de Lichtenberg and
Thorup (2001) bound the search, too; but here a class of n nodes stands for n*n facts, beside
which a search among its edges is nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidelog.closure.digraph import HALF, Digraph, Ways, turned
from tidelog.closure.growing_arrays import NO_PAIRS, Pairs, as_pairs, grown, new
from tidelog.closure.kernels import classes as kernels
from tidelog.closure.row_arrays import Numbers, Scratch
from tidelog.program.diagnostics import LimitError

SPARE = 1 << 16  # nodes that may lie idle


class Classes(NamedTuple):
    root: Numbers
    ring: Numbers
    members: Numbers  # by root


class Plan(NamedTuple):
    """Nodes of classes, the ends of their parts, and the ends of classes, counted in parts."""

    nodes: Numbers
    parts: NDArray[np.int64]
    lone: NDArray[np.uint8]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, nodes: int, parts: int, classes: int) -> Plan:
        return cls(
            new(nodes, np.int32, clear=False),
            new(parts + 1, np.int64),
            new(parts, np.uint8, clear=False),
            new(classes + 1, np.int64),
        )


class Components:
    """Pairs (x, y) such that x and y have edges and edges connect them, in any direction.

    >>> closure = Components()
    >>> closure.insert([(1, 2)]).tolist()
    [[1, 1], [1, 2], [2, 1], [2, 2]]
    >>> sorted(closure.insert([(2, 1), (2, 3)]).tolist())
    [[1, 3], [2, 3], [3, 1], [3, 2], [3, 3]]
    >>> closure.delete([(1, 2)]).tolist()
    []

    `tick` is called with the number of pairs that there will be, before they are listed. What
    it raises, like any other error, leaves the closure as it was.
    """

    def __init__(self, tick: Callable[[int], None] | None = None) -> None:
        self._graph = Digraph()
        self._classes = Classes(*(new(0, np.int32) for _ in range(3)))
        self._num: Numbers = new(0, np.int32)
        self._marks: Numbers = new(0, np.int32)
        self._nodes = 0  # that have an entry
        self._size = 0
        self._tick = tick

    @property
    def size(self) -> int:
        """The number of pairs."""
        return self._size

    def memory(self) -> int:
        """Bytes of all arrays."""
        own = (*self._classes, self._num, self._marks)
        return self._graph.memory() + sum(array.nbytes for array in own)

    def edges(self) -> Pairs:
        return self._graph.pairs()

    def pairs(self) -> Pairs:
        plan = Plan.of(self._nodes, self._nodes, self._nodes)
        found = kernels.plan_all(self._classes, self._nodes, plan)
        return self._listed(plan._replace(classes=plan.classes[: found + 1]), self._size)

    def contains(self, pairs: ArrayLike) -> NDArray[np.bool_]:
        """Of each pair, whether it is there."""
        roots = self._roots(as_pairs(pairs))
        return np.asarray((roots[0::2] == roots[1::2]) & (roots[0::2] >= 0))

    def around(self, edges: ArrayLike) -> Pairs:
        """All edges of the components that these edges are in; of those that are there.

        >>> closure = Components()
        >>> _ = closure.insert([(1, 2), (3, 2), (4, 5)])
        >>> closure.around([(2, 1), (1, 2)]).tolist()
        [[1, 2], [3, 2]]
        """
        ways = self._graph.present(as_pairs(edges))
        roots = np.unique(self._classes.root[ways >> HALF]).astype(np.int32)
        found: Pairs = new(
            (kernels.count_edges(self._classes, self._graph.out, roots), 2), np.uint32
        )
        kernels.list_edges(self._classes, self._graph.out, self._graph.ids, roots, found)
        return found

    def _roots(self, pairs: Pairs) -> NDArray[np.int32]:
        """The classes of all ids, one after the other; -1 where there is none."""
        numbers = self._graph.numbers(pairs)
        roots: NDArray[np.int32] = new(len(numbers), np.int32)
        roots.fill(-1)
        known = numbers >= 0
        roots[known] = self._classes.root[numbers[known]]
        return roots

    def insert(self, edges: ArrayLike) -> Pairs:
        """Add edges; returns the new pairs."""
        ways = self._graph.absent(as_pairs(edges))
        if not len(ways):
            return NO_PAIRS
        self._fit()
        back, keys = self._graph.reserve(ways), self._united(ways)
        if not len(keys):
            self._graph.add(ways, back)
            return NO_PAIRS
        plan, count = self._union(keys)
        inserted = self._counted(plan, count)
        self._graph.add(ways, back)
        kernels.make_union(self._classes, plan)
        self._size += count
        return inserted

    def _united(self, ways: Ways) -> Ways:
        """Classes that the edges bring together, by the sets that they form."""
        keys = new(2 * len(ways), np.uint64, clear=False)
        weights = new(self._nodes, np.int32, clear=False)
        keys = keys[: kernels.unite(self._classes, ways, self._marks, weights, keys)]
        keys.sort()
        return keys

    def _union(self, keys: Ways) -> tuple[Plan, int]:
        """The union of these classes, and how many pairs that adds."""
        nodes, parts, found, count = kernels.measure_union(self._classes, keys)
        plan = Plan.of(nodes, parts, found)
        kernels.plan_union(self._classes, keys, plan)
        return plan, count

    def delete(self, edges: ArrayLike) -> Pairs:
        """Remove edges; returns the pairs that are lost."""
        graph = self._graph
        ways = graph.present(as_pairs(edges))
        if not len(ways):
            return NO_PAIRS
        back, keys = turned(ways, graph.nodes), new(len(ways), np.uint64, clear=False)
        kernels.list_classes(self._classes, ways, keys)
        keys.sort()
        scratch = Scratch.around(self._num, self._nodes)
        found, nodes, asleep = kernels.cut(
            self._classes, graph.out, graph.into, ways, keys, scratch, self._marks
        )
        graph.edges -= len(ways)
        graph.asleep += asleep
        if not found:
            self._tidy()
            return NO_PAIRS
        try:
            plan, count = self._pieces(keys[:found], nodes)
            deleted = self._counted(plan, -count)
        except BaseException:
            graph.add(ways, back)
            self._marks.fill(0)
            raise
        kernels.make_parts(self._classes, plan, self._marks)
        self._size -= count
        self._tidy()
        return deleted

    def become(self, edges: ArrayLike) -> tuple[Pairs, Pairs]:
        """Replace the edges. Returns the pairs that the new edges add, and those that deleting the
        old ones then removes; a pair may be among both.

        >>> closure = Components()
        >>> closure.insert([(1, 2), (1, 3)]).shape
        (9, 2)
        >>> inserted, deleted = closure.become([(1, 2), (2, 3), (3, 3)])
        >>> len(inserted), len(deleted), closure.edges().tolist()
        (0, 0, [[1, 2], [2, 3], [3, 3]])
        """
        given, before = as_pairs(edges), self.edges()
        numbers = self._graph.numbers(before).astype(np.uint64)
        kept = np.isin(numbers[0::2] << HALF | numbers[1::2], self._graph.present(given))
        return self.insert(given), self.delete(before[~kept])

    def _pieces(self, changed: Ways, nodes: int) -> tuple[Plan, int]:
        """The parts of the classes that fell apart, and how many pairs that removes."""
        keys, ends = new(nodes, np.uint64, clear=False), new(len(changed), np.int64)
        kernels.list_pieces(self._classes, changed, self._marks, keys, ends)
        plan = Plan.of(nodes, nodes, len(changed))
        graph = self._graph
        return plan, int(kernels.plan_pieces(graph.out, graph.into, keys, ends, plan))

    def _counted(self, plan: Plan, change: int) -> Pairs:
        """The pairs of a change, if there may be so many."""
        if self._tick is not None:
            self._tick(self._size + change)
        return self._listed(plan, abs(change))

    def _listed(self, plan: Plan, count: int) -> Pairs:
        pairs: Pairs = new((count, 2), np.uint32, clear=False)
        names = new(len(plan.nodes), np.uint32, clear=False)
        if kernels.write_pairs(plan, self._graph.ids, names, pairs.ravel()) != count:
            raise AssertionError("classes and the number of their pairs differ")
        return pairs

    def _fit(self) -> None:
        """Entries for nodes that are new in the graph."""
        if self._nodes == self._graph.nodes:
            return
        capacity = self._graph.capacity
        if capacity > len(self._num):
            larger = Classes(*(grown(array, capacity) for array in self._classes))
            num, marks = new(capacity, np.int32), new(capacity, np.int32)
            self._classes, self._num, self._marks = larger, num, marks
        fresh = slice(self._nodes, self._graph.nodes)
        self._classes.root[fresh] = -1
        self._classes.ring[fresh] = np.arange(fresh.start, fresh.stop)
        self._nodes = fresh.stop

    def _tidy(self) -> None:
        """Free idle memory, if there is enough memory to copy."""
        try:
            self._graph.tidy()
            if self._graph.asleep > self._nodes // 2 + SPARE:
                self._renew()
        except (LimitError, MemoryError):
            pass

    def _renew(self) -> None:
        """Rebuild everything from the edges, without the nodes that have none."""
        fresh = Components()
        ways = fresh._graph.absent(self.edges())
        fresh._fit()
        plan, count = fresh._union(fresh._united(ways))
        fresh._graph.add(ways, fresh._graph.reserve(ways))
        kernels.make_union(fresh._classes, plan)
        vars(self).update({**vars(fresh), "_size": count, "_tick": self._tick})
