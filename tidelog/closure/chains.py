"""What chains of facts connect, without enumerating the chains.

A rule `r(x, y) :- a(x, u), b(v, u), c(v, y).` feeds a symmetric-transitive r with a pair for each
chain x, u, v, y. To know the components of r, fewer pairs are enough, and these are found without
the join: take a graph of all values, level by level, whose edges are the facts that lie on a chain
from end to end. Chains that meet in a value can be crossed there, so all of their ends are in one
component of r; and a component of the graph is a component of r with what lies between.

All pairs are found by a search from each end, which meets a value once however many chains lead
to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.closure.growing_arrays import NO_PAIRS, Pairs, grown, new
from tidelog.closure.kernels import chains as kernels

SPREAD, SPARE = 16, 1 << 16  # so many nodes for each fact, and more: ids may be so far apart
MOST_NODES = 1 << 30  # twice as many fit 32-bit numbers
ROOM = 1 << 16  # ids of pairs that are listed
WORK = 1 << 24  # facts that are followed between two looks at limits


class Step(NamedTuple):
    """Facts of a chain, which are read from the second column to the first if it is turned."""

    pairs: Pairs
    turned: bool = False


class Level(NamedTuple):
    """Ids between two steps: the least, how many nodes stand for them, and the first of these."""

    low: int
    size: int
    first: int = 0


class Laid(NamedTuple):
    """A chain of facts, each step of which has some, with the levels before and after them."""

    steps: Sequence[Step]
    levels: Sequence[Level]

    @property
    def nodes(self) -> int:
        return max(level.first + level.size for level in self.levels)

    def each(self) -> Iterable[tuple[NDArray[np.uint32], int, Level, Level]]:
        """The ids of each step, whether they are turned, and its levels."""
        for step, (here, there) in zip(self.steps, pairwise(self.levels), strict=True):
            yield step.pairs.ravel(), int(step.turned), here, there


def spanning(chains: Sequence[Sequence[Step]]) -> Pairs | None:
    """Pairs that connect what the chains connect, each end with the first one of its component;
    None where ids are too far apart.

    >>> likes = np.array([(1, 7), (2, 7), (3, 8)], dtype=np.uint32)
    >>> spanning([[Step(likes), Step(likes, turned=True)]]).tolist()
    [[1, 1], [2, 1], [3, 3]]
    """
    laid = _laid(chains)
    if not laid:
        return None if laid is None else NO_PAIRS
    ends = laid[0].levels[0]
    parents: NDArray[np.int32] = new(max(chain.nodes for chain in laid), np.int32)
    for chain in laid:
        _unite(chain, parents)
        parents[ends.size :] = 0  # an end stands for each of the others
    pairs: Pairs = new((int(np.count_nonzero(parents[: ends.size])), 2), np.uint32, clear=False)
    kernels.list_stars(parents, ends.size, ends.low, pairs.ravel())
    return pairs


def joined(
    chains: Sequence[Sequence[Step]], look: Callable[[], None] = lambda: None
) -> Pairs | None:
    """All pairs that the chains connect, once for a chain; None where ids are too far apart.
    `look` is called now and then.

    >>> likes = np.array([(1, 7), (2, 7), (3, 8)], dtype=np.uint32)
    >>> joined([[Step(likes), Step(likes, turned=True)]]).tolist()
    [[1, 1], [1, 2], [2, 1], [2, 2], [3, 3]]
    """
    laid = _laid(chains)
    if laid is None:
        return None
    return np.concatenate([NO_PAIRS, *(_joined(chain, look) for chain in laid)])


def _laid(chains: Sequence[Sequence[Step]]) -> list[Laid] | None:
    """The chains that have facts in each step."""
    whole = [chain for chain in chains if all(len(step.pairs) for step in chain)]
    sides = [[_bounds(step) for step in chain] for chain in whole]
    if not whole:
        return []
    ends = _level([side for steps in sides for side in (steps[0][0], steps[-1][1])])
    laid: list[Laid] = []
    for chain, steps in zip(whole, sides, strict=True):
        first, inner = ends.size, list[Level]()
        for before, after in pairwise(steps):
            inner.append(_level([before[1], after[0]])._replace(first=first))
            first += inner[-1].size
        laid.append(Laid(chain, (ends, *inner, ends)))
    facts = sum(len(step.pairs) for chain in whole for step in chain)
    fits = max(chain.nodes for chain in laid) <= min(MOST_NODES, SPREAD * facts + SPARE)
    return laid if fits else None


def _bounds(step: Step) -> tuple[tuple[int, int], tuple[int, int]]:
    """The least and the largest id on either side."""
    low, high, back_low, back_high = kernels.bounds(step.pairs.ravel())
    here, there = (low, high), (back_low, back_high)
    return (there, here) if step.turned else (here, there)


def _level(sides: Sequence[tuple[int, int]]) -> Level:
    low = min(low for low, _ in sides)
    return Level(low, max(high for _, high in sides) - low + 1)


def _unite(chain: Laid, parents: NDArray[np.int32]) -> None:
    """Unite the nodes of facts that lie on a chain from end to end."""
    ahead, back = _marks(chain.levels), _leading(chain)
    steps = [*chain.each()]
    for i, (ids, turned, here, there) in enumerate(steps[:-1]):
        kernels.mark(ids, turned, ahead[i], here.low, ahead[i + 1], there.low)
    for i, (ids, turned, here, there) in enumerate(steps):
        nodes = parents, here.first, there.first
        kernels.unite(ids, turned, ahead[i], here.low, back[i + 1], there.low, *nodes)


def _marks(levels: Sequence[Level]) -> list[NDArray[np.uint8]]:
    """Marks for each level: any id may begin a chain or end it."""
    inner = [new(level.size, np.uint8) for level in levels[1:-1]]
    outer: NDArray[np.uint8] = new(levels[0].size, np.uint8)
    outer.fill(1)
    return [outer, *inner, outer]


def _leading(chain: Laid) -> list[NDArray[np.uint8]]:
    """Marks of the ids, level by level, that lead on to the end of the chain."""
    marks = _marks(chain.levels)
    for i, (ids, turned, here, there) in reversed([*enumerate(chain.each())][1:]):
        kernels.mark(ids, 1 - turned, marks[i + 1], there.low, marks[i], here.low)
    return marks


def _joined(chain: Laid, look: Callable[[], None]) -> Pairs:
    """All pairs of ends that the chain connects; dead ends are not followed."""
    bounds: NDArray[np.int64] = new(chain.nodes + 1, np.int64)
    leading = _leading(chain)[1:]
    steps = [*zip(chain.each(), leading, strict=True)]
    for (ids, turned, here, there), marks in steps:
        kernels.count(ids, turned, marks, there.low, here.low, here.first, bounds)
    np.cumsum(bounds, out=bounds)
    after = new(int(bounds[-1]), np.int32, clear=False)
    for (ids, turned, here, there), marks in steps:
        places = there.low, here.low, here.first, there.first
        kernels.arrange(ids, turned, marks, *places, bounds, after)
    ends = chain.levels[0]
    seen, queue = new(chain.nodes, np.int32), new(chain.nodes + 1, np.int32, clear=False)
    pairs: NDArray[np.uint32] = new(ROOM, np.uint32, clear=False)
    x = n = 0
    while x < ends.size:
        before = x
        x, n = kernels.join(
            *(bounds, after, len(chain.steps), ends.size, ends.low, seen, queue, pairs, x, n, WORK)
        )
        look()
        if x == before:
            pairs = grown(pairs, 4 * len(pairs), clear=False)
    return pairs[:n].reshape(-1, 2)
