"""Ten thousand small updates through one stream: updates a second, latency, resident memory.

The source is an iterator that is always ahead, so updates wait for their turn. Latency counts from
when the source yielded an update; the source is read at most 16 updates ahead. Each policy has a
process of its own, in which memory is measured.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from bench.checksum import Checksum
from bench.flows.updates import Update, chains, small
from bench.measure import resident_bytes
from bench.updates.play import state
from bench.workloads import text
from tidelog import Database

POLICIES = ("sequential", "marking", "fully-dynamic")
FACTS = 100_000


@dataclass(frozen=True)
class Row:
    policy: str
    facts: int
    updates: int
    per_second: float
    latency: dict[str, float]  # seconds: p50, p95, p99, max
    work: dict[str, float]
    first_effect: dict[str, float]
    overlapped: int
    early: int  # resident bytes after a tenth of the updates
    late: int  # after all of them
    equal: bool  # the facts are the initial ones again

    def growth(self) -> int:
        return self.late - self.early


def measured(quick: bool) -> Iterator[Row]:
    for policy in POLICIES:
        # A fresh process each time, so that its resident memory is its own.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            size = (10_000, 500) if quick else (FACTS, 10_000)
            yield pool.submit(row, policy, *size).result()


def row(policy: str, facts: int, count: int) -> Row:
    edges = chains(facts)
    database = Database(text("closure_linear"), facts={"edge": edges})
    before, given = state(database), sum(map(database.size, database.relations))
    database.stream(list(small(edges, 40, seed=1)), policy).run()  # plans are made

    def updates() -> Iterator[Update]:
        yield from small(edges, count, seed=2)

    early = 0
    stream = database.stream(updates(), policy)
    for done in stream:
        if done.number == count // 10:
            early = resident()
    late = resident()
    metrics = stream.metrics.record()
    after: dict[str, Checksum] = state(database)
    return Row(
        *(policy, given, count, metrics["updates_per_second"]),
        latency=metrics["latency"],
        work=metrics["work"],
        first_effect=metrics["first_effect"],
        overlapped=metrics["overlapped"],
        early=early,
        late=late,
        equal=before == after,
    )


def resident() -> int:
    gc.collect()
    return resident_bytes(os.getpid())
