"""What chains of facts connect, without a look at every chain.

A rule `r(x, y) :- a(x, u), b(v, u), c(v, y).` feeds a symmetric-transitive r with a pair for each
chain x, u, v, y. To know the components of r, fewer pairs are enough, and these are found without
the join: take a graph of all values, level by level, whose edges are the facts that lie on a chain
from end to end. Chains that meet in a value can be crossed there, so all of their ends are in one
component of r; and a component of the graph is a component of r with what lies between.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.closure.arrays import NO_PAIRS, Pairs, new
from tidelog.closure.kernels import chains as kernels

SPREAD, SPARE = 16, 1 << 16  # so many places for each fact, and more: ids may be so far apart
MOST = 1 << 30


class Step(NamedTuple):
    """Facts of a chain, which are read from the second column to the first if it is turned."""

    pairs: Pairs
    turned: bool = False


class Level(NamedTuple):
    """Ids between two steps: the least, how many places they take, and where these begin."""

    low: int
    size: int
    first: int = 0


Chain = Sequence[Step]


def spanning(chains: Sequence[Chain]) -> Pairs | None:
    """Pairs that connect what the chains connect, each end with the first one of its component;
    None where ids are too far apart.

    >>> likes = np.array([(1, 7), (2, 7), (3, 8)], dtype=np.uint32)
    >>> spanning([[Step(likes), Step(likes, turned=True)]]).tolist()
    [[1, 1], [2, 1], [3, 3]]
    """
    whole = [chain for chain in chains if all(len(step.pairs) for step in chain)]
    if not whole:
        return NO_PAIRS
    sides = [[_bounds(step) for step in chain] for chain in whole]
    ends = _level([side for chain in sides for side in (chain[0][0], chain[-1][1])])
    levels, places = [], ends.size
    for steps in sides:
        inner = [_level([before[1], after[0]]) for before, after in pairwise(steps)]
        for i, level in enumerate(inner):
            inner[i] = level._replace(first=places)
            places += level.size
        levels.append([ends, *inner, ends])
    facts = sum(len(step.pairs) for chain in whole for step in chain)
    if places > min(MOST, SPREAD * facts + SPARE):
        return None
    parents: NDArray[np.int32] = new(places, np.int32)
    for chain, between in zip(whole, levels, strict=True):
        _unite(chain, between, parents)
    pairs: Pairs = new((int(np.count_nonzero(parents[: ends.size])), 2), np.uint32, clear=False)
    kernels.list_stars(parents, ends.size, ends.low, pairs.ravel())
    return pairs


def _bounds(step: Step) -> tuple[tuple[int, int], tuple[int, int]]:
    """The least and the largest id on either side."""
    low, high, back_low, back_high = kernels.bounds(step.pairs.ravel())
    sides = ((low, high), (back_low, back_high))
    return sides[::-1] if step.turned else sides


def _level(sides: Sequence[tuple[int, int]]) -> Level:
    low = min(low for low, _ in sides)
    return Level(low, max(high for _, high in sides) - low + 1)


def _unite(chain: Chain, levels: Sequence[Level], parents: NDArray[np.int32]) -> None:
    """Unite the nodes of facts that lie on a chain from end to end."""
    ahead, back = _marks(levels), _marks(levels)
    steps = [(step.pairs.ravel(), int(step.turned)) for step in chain]
    for i, (pairs, turned) in enumerate(steps[:-1]):
        here, there = levels[i], levels[i + 1]
        kernels.mark(pairs, turned, ahead[i], here.low, ahead[i + 1], there.low)
    for i, (pairs, turned) in reversed([*enumerate(steps)][1:]):
        here, there = levels[i + 1], levels[i]
        kernels.mark(pairs, 1 - turned, back[i + 1], here.low, back[i], there.low)
    for i, (pairs, turned) in enumerate(steps):
        here, there = levels[i], levels[i + 1]
        places = parents, here.first, there.first
        kernels.unite(pairs, turned, ahead[i], here.low, back[i + 1], there.low, *places)


def _marks(levels: Sequence[Level]) -> list[NDArray[np.uint8]]:
    """Marks for each level: any id may begin a chain or end it."""
    inner = [new(level.size, np.uint8) for level in levels[1:-1]]
    outer: NDArray[np.uint8] = new(levels[0].size, np.uint8)
    outer.fill(1)
    return [outer, *inner, outer]
