"""Marking in the engine: streams with marks and without, counting rule instances.

As in the papers, the first update fills the dataset and is finished before any other is looked at;
after it the next updates are always available. Besides the papers' streams there are windows: each
update inserts some edges, and deletes those that the one before it inserted.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.flows.updates import Update, recorded
from bench.stepwise import streams
from bench.updates.figures import State
from bench.updates.play import state
from bench.workloads import recorded as recorded_text
from bench.workloads import text
from tidelog import Database, FactChange

ALGORITHMS = ("bf", "dred", "aged", "auto")
POLICIES = ("sequential", "marking")
WINDOWS = {"sparse": (300, 300), "dense": (300, 1500)}  # nodes and edges
UPDATES, SIZE = 40, 5  # of a window, and the edges of each
REPEATS = 3


@dataclass(frozen=True)
class Side:
    """With marks or without: averages over the streams of a row."""

    seconds: float
    counts: dict[str, float]  # instances, and what was marked


@dataclass(frozen=True)
class Row:
    program: str
    label: int  # facts of an update, or the number of a track
    algorithm: str
    streams: int
    sequential: Side
    marking: Side
    equal: bool  # the last states

    @property
    def name(self) -> str:
        return f"{self.program} {self.label}, {self.algorithm}"

    @property
    def ratio(self) -> float:
        """CPU time compared with `sequential`."""
        return self.marking.seconds / self.sequential.seconds

    def fewer(self) -> float:
        """Rule instances saved, in per cent."""
        plain, marked = (side.counts["instances"] for side in (self.sequential, self.marking))
        return 100 * (1 - marked / plain) if plain else 0.0


def tables(quick: bool) -> Iterator[tuple[str, int, list[list[Update]]]]:
    """The programs, with the streams of each row."""
    sizes = (10, 80) if quick else streams.SIZES
    seeds = streams.SEEDS[:1] if quick else streams.SEEDS
    for program in ("path", "sequence"):
        for size in sizes:
            yield program, size, [recorded(streams.recorded(size, seed)) for seed in seeds]
    for track in streams.TRACKS[2:] if quick else streams.TRACKS:
        yield "ways", track, [recorded(streams.track(track))]
    for name, (nodes, edges) in WINDOWS.items():
        yield name, SIZE, [window(nodes, edges, seed) for seed in seeds]


def window(nodes: int, edges: int, seed: int) -> list[Update]:
    """A random graph, and updates that each insert new edges and delete those of the one before."""
    pairs = [(x, y) for x in range(nodes) for y in range(nodes)]
    picked = random.Random(seed).sample(pairs, edges + SIZE * UPDATES)
    new = [picked[edges + SIZE * n : edges + SIZE * (n + 1)] for n in range(UPDATES)]
    found = [[FactChange("+", "edge", edge) for edge in picked[:edges]]]
    for before, now in zip([[], *new], new, strict=False):
        found.append([FactChange("-", "edge", edge) for edge in before])
        found[-1] += [FactChange("+", "edge", edge) for edge in now]
    return found


def program_of(name: str) -> str:
    return text("closure_linear") if name in WINDOWS else recorded_text(name)


def measured(quick: bool) -> Iterator[Row]:
    for program, label, some in tables(quick):
        for algorithm in ALGORITHMS:
            if not (program == "dense" and algorithm == "dred"):  # which takes seconds
                yield row(program, label, some, algorithm, 1 if quick else REPEATS)


@dataclass(frozen=True)
class Played:
    seconds: float
    counts: Counter[str]
    state: State


def row(
    program: str, label: int, some: Sequence[list[Update]], algorithm: str, repeats: int
) -> Row:
    sides: dict[str, list[Played]] = {policy: [] for policy in POLICIES}
    for stream in some:
        runs: dict[str, list[Played]] = {policy: [] for policy in POLICIES}
        once(program, stream, algorithm, "marking")  # plans and kernels are made
        for _ in range(repeats):
            for policy in POLICIES:
                runs[policy].append(once(program, stream, algorithm, policy))
        for policy in POLICIES:
            sides[policy].append(min(runs[policy], key=lambda run: run.seconds))
    each = zip(*sides.values(), strict=True)
    return Row(
        *(program, label, algorithm, len(some)),
        *(averaged(sides[policy]) for policy in POLICIES),
        equal=all(plain.state == marked.state for plain, marked in each),
    )


def averaged(runs: Sequence[Played]) -> Side:
    kinds = sorted({kind for run in runs for kind in run.counts})
    counts = {kind: statistics.fmean(run.counts[kind] for run in runs) for kind in kinds}
    return Side(statistics.fmean(run.seconds for run in runs), counts)


def once(program: str, updates: list[Update], algorithm: str, policy: str) -> Played:
    """Play a stream from an empty database; figures are those of all updates but the first."""
    database = Database(program_of(program), algorithm=algorithm)
    database.stream(updates[:1], policy).run()
    counts = Counter[str]()
    gc.collect()
    began = time.process_time()
    for done in database.stream(updates[1:], policy):
        counts.update(done.report.marks)
        counts["instances"] += done.report.instances
        counts["updates"] += bool(done.report.marks)
    return Played(time.process_time() - began, counts, state(database))
