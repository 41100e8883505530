"""The streams of the paper's evaluation: recorded ones, and generated ones as it describes them.

The recorded ones come from a later state of the authors' material: 20 updates on about 108 nodes,
the same edges for path (the paper's trans) and sequence (seq). Table 1 has 50 updates on 20 nodes,
and Table 2 has 100 nodes; `generated` makes such streams. The ways are the paper's own.

The paper calls size "the number of both added and deleted facts". The authors' generator adds that
many and deletes up to as many, and its forward applications come out near the printed ones.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bench.data import STREAMS, Rows
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact, Rules
from bench.updates.changes import commits

SIZES = tuple(range(10, 90, 10))  # of facts each way if generated, both ways together if recorded
SEEDS = (0, 1, 2)
TRACKS = (0, 1, 2)
UPDATES = 50
FIRST = 100  # facts of the first update


@cache
def rules(name: str) -> Rules:
    return Rules.read((STREAMS / name / f"{name}.dl").read_text(encoding="utf-8"))


def recorded(size: int, seed: int) -> tuple[Update, ...]:
    """`size` facts, half of them added and half deleted."""
    name = f"scale-update-{seed}-100-{size // 2:02}-200.changes"
    return read(STREAMS / "path" / "scale-update" / name)


def track(number: int) -> tuple[Update, ...]:
    name = f"real-{number}-gps-track.changes"
    folder = STREAMS / "ways"
    return read(folder / name if (folder / name).exists() else folder / "real" / name)


def read(path: Path) -> tuple[Update, ...]:
    found = commits(path.read_text(encoding="utf-8").splitlines())
    return tuple(Update(_facts(change.gone), _facts(change.come)) for change in found)


def _facts(rows: Mapping[str, Rows]) -> tuple[Fact, ...]:
    return tuple(Fact(name, tuple(row)) for name, some in rows.items() for row in some.tolist())


def generated(size: int, nodes: int, seed: int) -> tuple[Update, ...]:
    """Random edges, as the authors' public generator (dred-mark-eval) draws them.

    An update adds `size` edges, drawn one by one among those that are not there (so a few are
    drawn twice), and deletes up to as many: it goes through all edges in an order that never
    changes and takes every second one, by chance, until it has enough. So the edges that stand
    early in that order are inserted and deleted, often from one update to the next.

    >>> [(len(u.deleted), len(u.inserted)) for u in generated(10, 20, 0)[:3]]
    [(0, 91), (10, 10), (10, 10)]
    """
    rng = random.Random(seed)
    order = [(x, y) for x in range(nodes) for y in range(nodes)]
    rng.shuffle(order)
    E: set[tuple[int, int]] = set()
    updates = []
    for number in range(UPDATES):
        inserted: dict[tuple[int, int], None] = {}
        for _ in range(size if number else FIRST):
            edge = rng.randrange(nodes), rng.randrange(nodes)
            while edge in E:
                edge = rng.randrange(nodes), rng.randrange(nodes)
            inserted[edge] = None
        deleted: list[tuple[int, int]] = []
        for edge in order if number else ():
            if edge in E and rng.random() < 0.5:
                deleted.append(edge)
            if len(deleted) == size:
                break
        E.difference_update(deleted)
        E.update(inserted)
        updates.append(Update(_edges(deleted), _edges(inserted)))
    return tuple(updates)


def _edges(some: list[tuple[int, int]] | dict[tuple[int, int], None]) -> tuple[Fact, ...]:
    return tuple(Fact("edge", edge) for edge in some)
