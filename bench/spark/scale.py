"""Closures of several sizes on one core and on two, and predictions for clusters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.spark import apart
from bench.spark.closure import EACH
from bench.spark.figures import Row, Rows, Say
from bench.spark.model import Model, Point, line, point

PIVOT, SHUFFLE, FRAMES = "pivot", "shuffle", "frames"
# Nodes of a digraph, and copies of it. A closure with few edges does not exercise shuffle: up to
# 100,000 edges are sent to every part, and nothing else has to travel.
SIZES: dict[bool, dict[str, tuple[tuple[int, int], ...]]] = {
    False: {
        PIVOT: ((500, 1), (1000, 1), (2000, 1), (3000, 1), (4000, 1)),
        SHUFFLE: ((100, 110), (100, 220), (100, 440)),
        FRAMES: ((100, 1), (200, 1), (400, 1), (700, 1)),
    },
    True: {
        PIVOT: ((60, 1), (200, 1), (400, 1)),
        SHUFFLE: ((20, 600), (20, 1200)),
        FRAMES: ((30, 1), (50, 1)),
    },
}
CORES = (1, 2)
TIMES = 2
OPTIONS = {"spark.driver.memory": "4g"}
WORD = 8  # bytes of a column of a fact
NETWORK = 1.25e9  # bytes per second of an executor: ten gigabits


@dataclass(frozen=True)
class Cluster:
    facts: float
    executors: int
    cores: int = 8  # of each

    @property
    def all_cores(self) -> int:
        return self.executors * self.cores


CLUSTERS = (Cluster(1e9, 16), Cluster(1e11, 200))


def measured(quick: bool, say: Say) -> Rows:
    rows: Rows = []
    for cores in CORES:
        asked: list[dict[str, Any]] = [
            {"system": system, "nodes": nodes, "copies": copies, "summed": False}
            for system, some in SIZES[quick].items()
            for nodes, copies in some
            for _ in range(1 if quick else TIMES)
        ]
        found, _, wrong = apart.ask(f"local[{cores}]", OPTIONS, asked)
        if wrong:
            found.append(Row(f"{cores} cores", "closure", "all", status="failed", detail=wrong))
        for row in found:
            row.more["cores"] = float(cores)
            say(row)
        rows += found
    return rows


def points(rows: Sequence[Row]) -> list[Point]:
    return [point(row) for row in rows if row.done]


@dataclass(frozen=True)
class Prediction:
    """A closure of random digraphs of the same degree, on a cluster."""

    cluster: Cluster
    at: Point
    seconds: float | None  # by the model; None if the runs were too short to tell
    network: float  # additional seconds for shuffled and broadcast bytes
    broadcast: float  # bytes that every executor receives
    held: float  # bytes of facts per executor


def predictions(rows: Sequence[Row], model: Model) -> Iterator[Prediction]:
    """Jobs grow with the logarithm of the nodes, as the graph's diameter does, and shuffled bytes
    with the facts; both at the rates of the runs."""
    for cluster in CLUSTERS:
        for system in model.systems:
            some = [point(row) for row in rows if row.done and row.system == system]
            jobs = line([math.log10(nodes_of(at.facts)) for at in some], [at.jobs for at in some])
            nodes = nodes_of(cluster.facts)
            each = bytes_a_fact(some)
            if system == SHUFFLE:
                each *= share_sent(cluster.all_cores) / share_sent(CORES[-1])
            at = Point(
                system,
                cluster.facts,
                max(1.0, jobs[0] + jobs[1] * math.log10(nodes)),
                each * cluster.facts,
                cluster.all_cores,
            )
            sent = 2 * WORD * EACH * nodes if system == PIVOT else 0.0
            yield Prediction(
                cluster,
                at,
                model.seconds(at) if model.knows(system, at.shuffled) else None,
                sent / NETWORK + at.shuffled / (cluster.executors * NETWORK),
                sent,
                2 * WORD * cluster.facts / cluster.executors,
            )


def nodes_of(facts: float) -> float:
    """In a random digraph with ten edges a node, nearly all pairs are paths."""
    return math.sqrt(facts)


def share_sent(parts: int) -> float:
    """The fraction of derived facts whose home is another part."""
    return 1 - 1 / parts


def bytes_a_fact(some: Sequence[Point]) -> float:
    """The growth from the smallest run to the largest, on most cores: small runs hide what does not
    grow with the facts, and a single part sends nothing."""
    most = max(at.cores for at in some)
    runs = [at for at in some if at.cores == most]
    largest = max(runs, key=lambda at: at.facts)
    smallest = min(runs, key=lambda at: at.facts)
    if largest.facts == smallest.facts:
        return largest.shuffled / largest.facts
    grown = (largest.shuffled - smallest.shuffled) / (largest.facts - smallest.facts)
    return max(0.0, grown)
