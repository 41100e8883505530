"""Updates half of which undo the one before: fully dynamic against sequential.

The updates of a burst are all there at once, or arrive at a steady rate, four times as fast as
`sequential` can process them. Because every update is undone, a burst that is there at once amounts
to nothing; the same deletions without the insertions that undo them show the gain where nothing
cancels.

Both policies have a database of their own and play the same bursts. A first burst, update by update
and then at once, is not measured: it makes plans, counts derivations, and lets `auto` learn. Every
burst ends with the facts that it began with, and the states of both must be equal.
"""

from __future__ import annotations

import queue
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench import data
from bench.data import Facts
from bench.flows.updates import Update, burst, chains, undone
from bench.updates.play import state
from bench.workloads import declared, recorded, text
from tidelog import Database

ALGORITHMS = ("auto", "dred", "bf", "counting")
POLICIES = ("sequential", "fully-dynamic")
AT_ONCE, STEADILY, STAYING = "at once", "steadily", "at once, nothing undone"  # how they arrive
FASTER = 4  # updates arrive this many times as fast as sequential processes them
SIZE = 5  # facts of an update
BURSTS = 3
BUDGET = 1.0  # seconds that a burst may take under `sequential`; a longer one is cut

STEPS = """
.decl edge(x: number, y: number)
.decl two(x: number, y: number)
.decl four(x: number, y: number)
.input edge
.output four
two(x, z) :- edge(x, y), edge(y, z).
four(x, z) :- two(x, y), two(y, z).
"""


@dataclass(frozen=True)
class Scene:
    name: str
    title: str
    program: str
    facts: Facts


@dataclass(frozen=True)
class Side:
    """One policy, over all bursts of a row."""

    seconds: float  # of a burst, until its last update is finished: the median
    latency: float  # of an update, from when it was due: the median
    together: int  # the most updates that settled together


@dataclass(frozen=True)
class Row:
    scene: str
    title: str
    facts: int
    algorithm: str
    arriving: str
    updates: int  # of a burst
    sides: dict[str, Side]
    equal: bool

    @property
    def name(self) -> str:
        return f"{self.scene}, {self.algorithm}, {self.arriving}"

    def factor(self) -> float:
        """How many times as long sequential takes."""
        return self.sides["sequential"].seconds / self.sides["fully-dynamic"].seconds


def scenes(quick: bool) -> dict[str, Callable[[], Scene]]:
    def closure(name: str, title: str, edges: Callable[[], data.Rows]) -> Scene:
        return Scene(name, f"closure, {title}", text("closure_linear"), {"edge": edges()})

    size = 10_000 if quick else 1_080_000
    nodes = 300 if quick else 2000
    places = 200 if quick else 1000
    departments = 1 if quick else 15

    def lubm() -> Scene:
        program = recorded("lubm")
        facts = data.lubm_relations(data.lubm_like(departments, seed=5))
        return Scene("lubm", "LUBM's 107 rules", program, declared(program, facts))

    return {
        "chains": partial(closure, "chains", "chains of 10 nodes", lambda: chains(size)),
        "sparse": partial(
            closure,
            "sparse",
            f"random digraph, {nodes:,} nodes and edges",
            lambda: data.random_digraph(nodes, 1 / nodes, seed=3),
        ),
        "dag": partial(
            closure,
            "dag",
            f"random DAG, {places:,} nodes, {3 * places:,} edges",
            lambda: data.random_dag(places, 3 * places, seed=3),
        ),
        "lubm": lubm,
        "steps": lambda: Scene(
            "steps",
            f"two and four steps in a random digraph, {5 * nodes:,} edges",
            STEPS,
            {"edge": data.random_digraph(nodes, 5 / nodes, seed=4)},
        ),
    }


def measured(quick: bool) -> Iterator[Row]:
    for make in scenes(quick).values():
        scene = make()
        for algorithm in ALGORITHMS:
            yield from rows(scene, algorithm, 10 if quick else 100, 1 if quick else BURSTS)


def rows(scene: Scene, algorithm: str, count: int, bursts: int) -> list[Row]:
    databases = {policy: Database(scene.program, facts=scene.facts) for policy in POLICIES}
    facts = sum(map(databases["sequential"].size, databases["sequential"].relations))
    first = burst(scene.facts, 10, SIZE, seed=0)
    for policy, database in databases.items():
        for update in first:
            at_once(database, policy, algorithm, [update])  # nothing cancels it
    warm = {p: at_once(databases[p], p, algorithm, first) for p in POLICIES}["sequential"]
    count = max(10, min(count, 2 * int(BUDGET / (warm.seconds / len(first)) / 2)))
    some = [burst(scene.facts, count, SIZE, seed) for seed in range(1, bursts + 1)]

    together = {
        policy: joined([at_once(database, policy, algorithm, each) for each in some])
        for policy, database in databases.items()
    }
    pace = together["sequential"].seconds / count / FASTER
    for policy, database in databases.items():
        steadily(database, policy, algorithm, first, pace)
    steady = {
        policy: joined([steadily(database, policy, algorithm, each, pace) for each in some])
        for policy, database in databases.items()
    }
    kept = [each[::2] for each in some]
    staying = {
        policy: joined([stayed(database, policy, algorithm, each) for each in kept])
        for policy, database in databases.items()
    }
    equal = state(databases["sequential"]) == state(databases["fully-dynamic"])
    assert equal, f"{scene.name}, {algorithm}: the states differ"
    shared = (scene.name, scene.title, facts, algorithm)
    return [
        Row(*shared, AT_ONCE, count, together, equal),
        Row(*shared, STEADILY, count, steady, equal),
        Row(*shared, STAYING, count // 2, staying, equal),
    ]


def joined(sides: list[Side]) -> Side:
    return Side(
        statistics.median(side.seconds for side in sides),
        statistics.median(side.latency for side in sides),
        max(side.together for side in sides),
    )


def at_once(database: Database, policy: str, algorithm: str, updates: list[Update]) -> Side:
    """Wall or CPU time, whichever is less: on a busy machine a process waits for its turn."""
    wall, cpu = time.perf_counter(), time.process_time()
    ends, most = [], 1
    for done in database.stream(updates, policy, algorithm=algorithm):
        ends.append(time.perf_counter() - wall)
        most = max(most, done.together)
    seconds = min(time.perf_counter() - wall, time.process_time() - cpu)
    return Side(seconds, float(np.median(ends)), most)


def stayed(database: Database, policy: str, algorithm: str, updates: list[Update]) -> Side:
    """All at once; undoing their effect afterwards is not measured."""
    side = at_once(database, policy, algorithm, updates)
    back = [change for update in updates for change in undone(update)]
    database.stream([back], policy, algorithm=algorithm).run()
    return side


def steadily(
    database: Database, policy: str, algorithm: str, updates: list[Update], pace: float
) -> Side:
    """An update every `pace` seconds, from a thread, whatever has become of earlier ones."""
    waiting: queue.Queue[Update | None] = queue.Queue()
    start = time.perf_counter() + 0.01

    def feed() -> None:
        for number, update in enumerate(updates):
            early = start + number * pace - time.perf_counter()
            if early > 0:  # each sleep releases the interpreter, for up to five milliseconds
                time.sleep(early)
            waiting.put(update)
        waiting.put(None)

    thread = threading.Thread(target=feed)
    thread.start()
    latencies, most, end = [], 1, start
    for done in database.stream(waiting, policy, algorithm=algorithm):
        end = time.perf_counter()
        latencies.append(end - (start + (done.number - 1) * pace))
        most = max(most, done.together)
    thread.join()
    return Side(end - start, float(np.median(latencies)), most)
