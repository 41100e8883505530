"""Random histories of edges, and closures by the plainest means."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
Words = NDArray[np.uint64]  # sorted pairs, each in one word


def words(pairs: Iterable[Pair] | NDArray[np.uint32]) -> Words:
    """Pairs, which must be different, in a form that is easy to compare."""
    rows = np.array(pairs if isinstance(pairs, np.ndarray) else list(pairs), dtype=np.uint64)
    rows = rows.reshape(-1, 2)
    found: Words = np.sort((rows[:, 0] << np.uint64(32)) | rows[:, 1])
    assert (found[1:] != found[:-1]).all()
    return found


def reachable(edges: set[Pair]) -> Words:
    """All pairs that a path connects, by Warshall's algorithm."""
    ids = sorted({x for edge in edges for x in edge})
    place = {x: i for i, x in enumerate(ids)}
    is_path = np.zeros((len(ids), len(ids)), dtype=bool)
    for a, b in edges:
        is_path[place[a], place[b]] = True
    for through in range(len(ids)):
        is_path[is_path[:, through]] |= is_path[through]
    return words(np.array(ids, dtype=np.uint32)[np.argwhere(is_path)])


def connected(edges: set[Pair]) -> Words:
    return reachable(edges | {(b, a) for a, b in edges})


def history(seed: int, steps: int) -> Iterator[tuple[str, list[Pair]]]:
    """Changes to a graph whose size and shape the seed decides, some of them without effect."""
    rng = random.Random(seed)
    nodes = rng.choice((3, 6, 10, 20, 40, 150))
    base = rng.choice((0, 1, 2**32 - nodes))
    forward = rng.random() < 0.3
    growth = rng.choice((0.4, 0.5, 0.6))
    edges: set[Pair] = set()

    def edge() -> Pair:
        a, b = base + rng.randrange(nodes), base + rng.randrange(nodes)
        return (min(a, b), max(a, b)) if forward else (a, b)

    for _ in range(steps):
        count = rng.choice((0, 1, 1, 1, 2, 3, 10, 2 * nodes))
        if rng.random() < growth:
            come = [edge() for _ in range(count)]
            edges |= set(come)
            yield "insert", come
        else:
            go = [*rng.sample(sorted(edges), min(count, len(edges))), edge()]
            edges -= set(go)
            yield "delete", go
