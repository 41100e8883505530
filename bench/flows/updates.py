"""Updates for streams, as lists of fact changes; many of them undo another one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import cycle

import numpy as np

from bench.data import Facts, Rows
from bench.stepwise import marking
from bench.updates.changes import share
from tidelog import FactChange

Update = list[FactChange]
NODES = 10  # of a chain; its 9 edges make 45 paths
ALONE = 10**8  # nodes from here on are in no graph


def chains(facts: int) -> Rows:
    """Edges of as many chains as give about `facts` facts, paths included."""
    starts = NODES * np.arange(facts // 54, dtype=np.int64)
    sources = (starts[:, None] + np.arange(NODES - 1)).ravel()
    return np.column_stack([sources, sources + 1])


def undone(update: Update) -> Update:
    """The update that undoes this one.

    >>> undone([FactChange("-", "edge", (1, 2))])
    [FactChange(op='+', relation='edge', row=(1, 2))]
    """
    return [
        FactChange("-" if change.op == "+" else "+", change.relation, change.row)
        for change in reversed(update)
    ]


def deletion(facts: Mapping[str, Rows]) -> Update:
    return [
        FactChange("-", name, tuple(row)) for name, rows in facts.items() for row in rows.tolist()
    ]


def burst(among: Facts, count: int, size: int, seed: int) -> list[Update]:
    """Updates that delete `size` facts each, every one followed by an update that undoes it."""
    total = sum(map(len, among.values()))
    found: list[Update] = []
    for number in range(count // 2):
        gone = deletion(share(among, size / total, 1000 * seed + number).gone)
        found += [gone, undone(gone)]
    return found


def recorded(stream: tuple[marking.Update, ...]) -> list[Update]:
    """A stream of the stepwise algorithms, for the engine."""
    return [
        [FactChange("-", fact.relation, fact.values) for fact in update.deleted]
        + [FactChange("+", fact.relation, fact.values) for fact in update.inserted]
        for update in stream
    ]


def small(edges: Rows, count: int, seed: int) -> Iterator[Update]:
    """Changes of one edge each; every second one undoes an earlier one, nine updates before.

    Half of the others delete an existing edge, and half add an edge to a new node.
    """
    rng = random.Random(seed)
    picked = cycle(rng.sample(range(len(edges)), len(edges)))
    waiting: list[Update] = []
    for number in range(count):
        if (number % 2 and len(waiting) > 4) or count - number <= len(waiting):
            yield undone(waiting.pop(0))
            continue
        x, y = map(int, edges[next(picked)])
        new = FactChange("+", "edge", (y, ALONE + number))
        update = [FactChange("-", "edge", (x, y)) if rng.random() < 0.5 else new]
        waiting.append(update)
        yield update
