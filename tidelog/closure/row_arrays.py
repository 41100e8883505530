"""Bundles of arrays that kernels work on; `kernels/rows.py` says what rows mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.closure.growing_arrays import grown, new
from tidelog.closure.kernels import edge_deletion
from tidelog.closure.kernels import rows as at

Numbers = NDArray[np.int32]
NO_LOG: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class Rows(NamedTuple):
    """Components and their rows. By node: root, ring, logged; by root: what follows them."""

    root: Numbers
    ring: Numbers
    logged: Numbers
    members: Numbers
    at: NDArray[np.int64]
    length: Numbers
    bits: Numbers  # how many a row has
    places: Numbers
    words: NDArray[np.uint64]
    sum: NDArray[np.uint64]  # the accumulator: a row in the making
    seen: NDArray[np.uint64]
    log: NDArray[np.int64]
    info: NDArray[np.int64]

    @classmethod
    def none(cls) -> Rows:
        small, wide, word = new(0, np.int32), new(0, np.int64), new(0, np.uint64)
        info = new(at.INFO, np.int64)
        return cls(
            *(small, small, small, small, wide, small, small),
            *(small, word, word, word, NO_LOG, info),
        )

    def for_nodes(self, capacity: int) -> Rows:
        """With room for so many nodes."""
        words = -(-capacity // 1024) << at.GROUP
        sums, seen = new(words, np.uint64), new((words >> at.GROUP >> 6) + 1, np.uint64)
        larger = self._replace(
            **{name: grown(getattr(self, name), capacity) for name in self._fields[:7]},
            sum=sums,
            seen=seen,
        )
        self.info[at.WORDS], self.info[at.SEEN] = len(sums), len(seen)
        return larger

    def open_entries(self, first: int, end: int) -> None:
        """New nodes are components of their own, without rows."""
        self.root[first:end] = self.ring[first:end] = np.arange(first, end)
        self.members[first:end] = 1

    def for_words(self, capacity: int) -> Rows:
        """With room for rows of so many words in all."""
        places = grown(self.places, capacity, clear=False)
        words = grown(self.words, capacity, clear=False)
        self.info[at.CAPACITY] = capacity
        return self._replace(places=places, words=words)

    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)


class Scratch(NamedTuple):
    """What a search writes down, by node; `num` is always left cleared."""

    num: Numbers
    low: Numbers
    place: Numbers
    frames: Numbers
    path: Numbers
    order: Numbers
    bounds: Numbers

    @classmethod
    def around(cls, num: Numbers, nodes: int) -> Scratch:
        return cls(num, *(new(nodes + 1, np.int32, clear=False) for _ in range(6)))


class Queue(NamedTuple):
    """Components that wait for a new row, the edges that they lost, and nodes they do not reach.

    `waiting`, `lost` and `losing` are left cleared. The losses begin with their own number.
    """

    waiting: NDArray[np.uint8]
    lost: Numbers
    losing: NDArray[np.uint8]
    loss_at: Numbers
    losses: Numbers
    suspects: NDArray[np.int64]
    heap: NDArray[np.int64]
    link: Numbers

    @classmethod
    def for_nodes(cls, capacity: int) -> Queue:
        """The part that lasts."""
        none, wide = new(0, np.int32), new(0, np.int64)
        marks, losing = new(capacity, np.uint8), new(capacity, np.uint8)
        return cls(marks, new(capacity, np.int32), losing, none, none, wide, wide, none)

    def for_change(self, nodes: int, edges: int) -> Queue:
        losses = new(1024 + 4 * nodes, np.int32, clear=False)
        losses[0] = len(losses)
        return self._replace(
            loss_at=new(nodes, np.int32, clear=False),
            losses=losses,
            suspects=new(edge_deletion.FEW, np.int64),
            heap=new(nodes, np.int64, clear=False),
            link=new(edges, np.int32, clear=False),
        )

    def clear(self) -> None:
        for array in self[:3]:
            array.fill(0)

    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)
