"""Ten edges are deleted from a closure of a million facts and inserted again: in the driver, by
slices, and by the same algorithm on frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import data
from bench.spark.closure import DAG, RANDOM, graphs
from bench.spark.figures import Row, Rows, Say
from bench.spark.measure import keep, on_spark, patience, repeated
from bench.updates.changes import Change
from bench.workloads import text
from tidelog import Database
from tidelog.transaction.transaction import Transaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELETE, INSERT = "delete ten edges", "insert them again"
DRIVER, DRIVER_DRED, SLICES, FRAMES = "driver", "driver, dred", "pivot, slices", "frames, dred"
LOCAL = "one process"
EDGES = 10
SYSTEMS: dict[str, dict[str, Any]] = {
    LOCAL: {},
    DRIVER: {"strategy": "auto"},
    DRIVER_DRED: {"strategy": "auto", "algorithm": "dred"},
    SLICES: {"strategy": "pivot", "driver_facts": 0},
    FRAMES: {"strategy": "frames", "driver_facts": 0, "algorithm": "dred"},
}
LIMIT = {False: 240.0, True: 120.0}  # seconds of an update, and of materialising


def measured(spark: SparkSession, quick: bool, say: Say) -> Rows:
    rows: Rows = []
    for graph in graphs(quick):
        if graph.case in (DAG, RANDOM):
            for system in SYSTEMS:
                found = played(spark, graph.case, graph.edges, graph.small, system, LIMIT[quick])
                rows += found
                for row in found:
                    say(row)
    return rows


def picked(edges: data.Rows) -> Change:
    rng = np.random.default_rng(21)
    return Change(gone={"edge": edges[rng.choice(len(edges), EDGES, replace=False)]})


def played(
    spark: SparkSession,
    case: str,
    edges: data.Rows,
    small: data.Rows,
    system: str,
    limit: float,
) -> Rows:
    """There and back, several times; once on frames, where each takes very long."""
    rows = [Row(case, step, system, len(edges)) for step in (DELETE, INSERT)]
    warm = opened(spark, small, system)
    for change in (picked(small), picked(small).back()):
        made(warm, change)()
    try:
        with patience(spark, limit):
            database = opened(spark, edges, system)
    except Exception as error:  # the limit's, or Spark's
        for row in rows:
            row.status, row.detail = "failed", f"materialising: {type(error).__name__}"
        return rows
    change = picked(edges)
    for _ in range(1 if system == FRAMES else 4):
        for row, now in zip(rows, (change, change.back()), strict=True):
            tx = repeated(row, None if system == LOCAL else spark, made(database, now), 1, limit)
            if tx is None:
                return rows
            row.detail = tx.report.works[-1].place
            row.more["changed"] = float(sum(map(sum, tx.delta.counts.values())))
            if len(row.samples) == 1:
                keep(row, database, ["path"])
    return rows


def opened(spark: SparkSession, edges: data.Rows, system: str) -> Database:
    program, facts, options = text("closure_linear"), {"edge": edges}, SYSTEMS[system]
    if system == LOCAL:
        return Database(program, facts=facts)
    return on_spark(spark, program, facts, **options)


def made(database: Database, change: Change) -> Callable[[], Transaction]:
    def commit() -> Transaction:
        with database.transaction() as tx:
            change.make(tx)
        return tx

    return commit
