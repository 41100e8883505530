"""How long a small update waits for its first effect while a large one is in progress.

The large update deletes K edges of many chains. Once a stream has taken it, one-fact updates arrive
at random moments while it is in progress. The time counts from when such an update is due until its
explicit facts are in; updates that arrive after the large one is finished do not count.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bench.flows.updates import ALONE, Update, chains, deletion, undone
from bench.updates.play import state
from bench.workloads import text
from tidelog import Database, FactChange

POLICIES = ("sequential", "fully-dynamic")
SIZES = {False: (500, 1_000, 10_000, 50_000), True: (500, 1_000)}
FACTS = {False: 1_080_000, True: 100_000}
SAMPLES = {False: 60, True: 8}
MOST = 8  # small updates beside one large: a source is read only so far ahead
TRIES = 80
LOOK = 0.0001  # seconds
SHORT = 0.001  # seconds of a large update, at least: the thread may notice its beginning late


@dataclass(frozen=True)
class Row:
    size: int  # facts of the large update
    policy: str
    facts: int
    flight: float  # seconds from when it was taken until it was finished: the median
    taking: float  # seconds until it was taken: the median
    effects: list[float] = field(repr=False)  # seconds

    def percentile(self, percent: float) -> float:
        return float(np.percentile(self.effects, percent)) if self.effects else math.nan


def measured(quick: bool) -> Iterator[Row]:
    edges = chains(FACTS[quick])
    program = text("closure_linear")
    for policy in POLICIES:
        database = Database(program, facts={"edge": edges})
        before, facts = state(database), sum(map(database.size, database.relations))
        for size in SIZES[quick]:
            picked = np.random.default_rng(size).choice(len(edges), size, replace=False)
            large = deletion({"edge": edges[picked]})
            yield row(database, facts, policy, large, SAMPLES[quick])
        assert state(database) == before, f"{policy}: not all was undone"


def row(database: Database, facts: int, policy: str, large: Update, wanted: int) -> Row:
    rng = random.Random(len(large))
    effects: list[float] = []
    flights: list[float] = []
    takings: list[float] = []
    flown(database, policy, large, [])  # not counted: plans are made
    duration = max(SHORT, flown(database, policy, large, [])[0])
    for _ in range(TRIES):
        if len(effects) >= wanted:
            break
        count = min(MOST, wanted - len(effects))
        moments = sorted(rng.uniform(0, duration) for _ in range(count))
        flight, taking, found = flown(database, policy, large, moments)
        flights.append(flight)
        takings.append(taking)
        effects += found
    return Row(
        *(len(large), policy, facts),
        flight=float(np.median(flights)),
        taking=float(np.median(takings)),
        effects=effects,
    )


def flown(
    database: Database, policy: str, large: Update, moments: list[float]
) -> tuple[float, float, list[float]]:
    """One large update, and small ones at these moments after it was taken: how long it was in
    progress, how long taking it took, and the first effects of those that arrived meanwhile."""
    given, taken = 0.0, 0.0
    due: list[float] = []
    came: list[float] = []
    added = [
        [FactChange("+", "edge", (ALONE + 2 * n, ALONE + 2 * n + 1))] for n in range(len(moments))
    ]

    def updates() -> Iterator[Update]:
        """Runs in the thread of the stream's source."""
        nonlocal given, taken
        given = time.perf_counter()
        yield large
        # Without the lock, for which it would have to wait.
        while not stream._under_way and not stream.finished:
            time.sleep(LOOK)
        taken = time.perf_counter()
        for moment, update in zip(moments, added, strict=True):
            time.sleep(max(0.0, taken + moment - time.perf_counter()))
            due.append(taken + moment)
            came.append(time.perf_counter())
            yield update

    stream = database.stream(updates(), policy)
    ended, effects = 0.0, []
    for done in stream:
        if done.number == 1:
            ended = time.perf_counter()
        elif came[done.number - 2] < ended:
            # A source that could not run when an update was due reported its arrival late.
            late = came[done.number - 2] - due[done.number - 2]
            effects.append(done.first_effect + late)
    back = undone(large) + [change for update in added for change in undone(update)]
    database.stream([back], policy).run()
    return ended - taken, taken - given, effects
